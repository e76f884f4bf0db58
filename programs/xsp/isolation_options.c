// SPDX-License-Identifier: Apache-2.0
// Reads the options of --isolate and finds the container.
#include "programs/xsp/isolation_options.h"

#include "programs/xsp/isolation_paths.h"
#include "programs/xsp/output.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

// `device` as --device; NULL: the CPU.
static bool is_gpu(const char *device)
{
  static const char *const names[] = {"gpu", "cuda", "rocm", "tensorrt"};
  for (size_t i = 0; device != NULL && i < sizeof names / sizeof names[0]; i++)
    if (strncasecmp(device, names[i], strlen(names[i])) == 0)
      return true;
  return false;
}

// NULL: the host's files are used, as XSP_IMAGES is not set, or the manifest names no image for this machine. An image for another device
// only is an error.
static enum status named_container(const struct manifest *manifest, const char *device, struct arena *arena,
                                   const char **ret_folder, struct error *err)
{
  struct utsname machine;
  const char *kind = is_gpu(device) ? "gpu" : "cpu", *images = getenv("XSP_IMAGES");
  *ret_folder = NULL;
  if (images == NULL || images[0] == 0 || uname(&machine) != 0)
    return STATUS_OK;
  const char *image = manifest_image(manifest, machine.machine, kind);
  const char *other = manifest_image(manifest, machine.machine, is_gpu(device) ? "cpu" : "gpu");
  if (image == NULL && other != NULL)
    return error_set(err, STATUS_INPUT, "cannot find the model's container", other,
                     "--container FOLDER, another --device, or the same without XSP_IMAGES for the host's files",
                     "it is for another device: the manifest has no image for %s and this machine", kind);
  return image == NULL ? STATUS_OK : isolation_named_container(image, arena, ret_folder, err);
}

static enum status find_container(const struct invocation *invocation, const struct manifest *manifest,
                                  const char *device, struct arena *arena, struct isolation *isolation,
                                  struct error *err)
{
  const char *folder = invocation_value(invocation, "container");
  if (folder == NULL)
    XSP_TRY(named_container(manifest, device, arena, &folder, err));
  return folder == NULL ? STATUS_OK : isolation_open_container(folder, output_message, arena, isolation, err);
}

static enum status read_limits(const struct invocation *invocation, struct isolation *isolation, struct error *err)
{
  if (invocation_has(invocation, "cpus"))
    XSP_TRY(invocation_double(invocation, "cpus", 0.01, 4096, &isolation->cpus, err));
  if (invocation_has(invocation, "memory"))
    XSP_TRY(invocation_int64(invocation, "memory", 1 << 20, INT64_MAX, &isolation->memory_bytes, err));
  if (invocation_has(invocation, "time-limit"))
    XSP_TRY(invocation_unsigned(invocation, "time-limit", 1, 31536000, &isolation->time_limit_s, err));
  return STATUS_OK;
}

static bool is_isolated(const struct invocation *invocation)
{
  static const char *const names[] = {"isolate", "container", "cpus", "memory", "time-limit"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (invocation_has(invocation, names[i]))
      return true;
  return false;
}

enum status isolation_options(const struct invocation *invocation, const struct manifest *const *manifests,
                              const struct data_set *set, struct evaluation_model *models, size_t count,
                              struct arena *arena, struct error *err)
{
  if (!is_isolated(invocation))
    return STATUS_OK;
  struct isolation common = {0};
  XSP_TRY(read_limits(invocation, &common, err));
  XSP_TRY(isolation_find_runtime(arena, &common.runtime, err));
  for (size_t i = 0; i < count; i++) {
    struct isolation *isolation = arena_alloc(arena, sizeof *isolation);
    *isolation = common;
    XSP_TRY(find_container(invocation, manifests[i], models[i].profile.runner.device, arena, isolation, err));
    XSP_TRY(isolation_paths(&models[i], set, arena, isolation, err));
    models[i].profile.runner.isolation = isolation;
  }
  return STATUS_OK;
}
