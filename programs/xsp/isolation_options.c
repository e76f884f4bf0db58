// SPDX-License-Identifier: Apache-2.0
// Reads the options of --isolate, finds the container, and lists the host's files that a model's process needs in one.
#include "programs/xsp/isolation_options.h"

#include "base/slice.h"
#include "programs/xsp/output.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PATHS_MOST 1024

struct paths {
  const char *list[PATHS_MOST + 1];
  size_t count;
  struct arena *arena;
};

static bool covers(const char *folder, const char *path)
{
  size_t length = strlen(folder);
  return strncmp(folder, path, length) == 0 && (path[length] == '/' || path[length] == 0);
}

// A file or folder that is there, at its absolute place; once.
static enum status add_path(struct paths *paths, const char *path, struct error *err)
{
  char folder[PATH_MAX];
  if (path[0] != '/')
    path = arena_format(paths->arena, "%s/%s", getcwd(folder, sizeof folder) != NULL ? folder : "", path);
  if (access(path, F_OK) != 0 || strcmp(path, "/") == 0)
    return STATUS_OK;
  for (size_t i = 0; i < paths->count; i++)
    if (covers(paths->list[i], path))
      return STATUS_OK;
  if (paths->count == PATHS_MOST)
    return error_set(err, STATUS_INPUT, "cannot show the container all inputs", path, "pictures in fewer folders",
                     "they are in more than %d folders", PATHS_MOST);
  paths->list[paths->count++] = path;
  return STATUS_OK;
}

// The file's folder: what belongs to it is next to it. Also where it is in truth, if it is a link.
static enum status add_folder(struct paths *paths, const char *file, struct error *err)
{
  if (file == NULL)
    return STATUS_OK;
  const char *real = realpath(file, arena_alloc(paths->arena, PATH_MAX));
  const char *const both[] = {file, real != NULL ? real : file};
  for (size_t i = 0; i < 2; i++) {
    const char *slash = strrchr(both[i], '/');
    XSP_TRY(add_path(paths, slash == NULL ? "." : arena_copy(paths->arena, both[i], (size_t)(slash - both[i])), err));
  }
  return STATUS_OK;
}

static enum status find_paths(const struct evaluation_model *model, const struct data_set *set, struct paths *paths,
                              struct error *err)
{
  const struct runner_options *runner = &model->profile.runner;
  const char *library = model->profile.variants[0].library;
  char own[PATH_MAX];
  XSP_TRY(install_find("libxsp.so.0", own, sizeof own, err));
  XSP_TRY(add_path(paths, arena_copy(paths->arena, own, strlen(own)), err));
  XSP_TRY(add_folder(paths, runner->program, err));
  XSP_TRY(add_path(paths, runner->tracer_directory, err));
  XSP_TRY(add_folder(paths, runner->model_path, err));
  XSP_TRY(add_folder(paths, runner->weights_path, err));
  if (library != NULL)
    XSP_TRY(add_path(paths, library, err));
  for (const char *const *input = runner->inputs; input != NULL && *input != NULL; input++) {
    const char *equals = strchr(*input, '=');
    XSP_TRY(add_folder(paths, equals != NULL ? equals + 1 : NULL, err));
  }
  for (size_t i = 0; i < set->count; i++) {
    XSP_TRY(add_folder(paths, set->items[i].path, err));
    XSP_TRY(add_folder(paths, data_label_path(set, &set->items[i], paths->arena), err)); // pictures of masks
  }
  return STATUS_OK;
}

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
    struct paths *paths = arena_alloc(arena, sizeof *paths);
    *isolation = common;
    paths->arena = arena;
    XSP_TRY(find_container(invocation, manifests[i], arena, isolation, err));
    if (isolation->root != NULL)
      XSP_TRY(find_paths(&models[i], set, paths, err));
    isolation->paths = paths->list;
    models[i].profile.runner.isolation = isolation;
  }
  return STATUS_OK;
}
