// SPDX-License-Identifier: Apache-2.0
// Reads the options of --isolate and finds the container.
#include "programs/xsp/isolation_options.h"

#include "programs/xsp/isolation_paths.h"
#include "programs/xsp/output.h"

#include <sys/utsname.h>

static enum status find_container(const struct invocation *invocation, const struct manifest *manifest,
                                  struct arena *arena, struct isolation *isolation, struct error *err)
{
  struct utsname machine;
  const char *folder = invocation_value(invocation, "container");
  const char *image = uname(&machine) == 0 ? manifest_image(manifest, machine.machine, "cpu") : NULL;
  if (folder == NULL && image != NULL)
    XSP_TRY(isolation_named_container(image, arena, &folder, err));
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
    XSP_TRY(find_container(invocation, manifests[i], arena, isolation, err));
    XSP_TRY(isolation_paths(&models[i], set, arena, isolation, err));
    models[i].profile.runner.isolation = isolation;
  }
  return STATUS_OK;
}
