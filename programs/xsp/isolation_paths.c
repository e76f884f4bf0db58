// SPDX-License-Identifier: Apache-2.0
// Lists the host's files that a model's process sees; see isolation_paths.h. In a container all that it needs are listed, on the host
// those in hidden folders.
#include "programs/xsp/isolation_paths.h"

#include "base/path_text.h"
#include "base/python.h"
#include "base/slice.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATHS_MOST 1024
#define PYTHON_WAIT_MS 10000
#define PYTHON_OUTPUT_BYTES 65536

struct paths {
  const char *list[PATHS_MOST + 1];
  size_t count;
  const char **hidden;
  bool is_container;
  char here[PATH_MAX];      // current folder
  char recent[2][PATH_MAX]; // folders that are seen: as named, without links
  struct arena *arena;
};

static bool has_dots(const char *path)
{
  return text_ends_with(path, "/..") || strstr(path, "/../") != NULL;
}

static bool is_hidden_folder(const struct paths *paths, const char *path)
{
  for (const char *const *hidden = paths->hidden; *hidden != NULL; hidden++)
    if (strcmp(*hidden, path) == 0)
      return true;
  return strcmp(path, "/") == 0;
}

// By the innermost folder around it that is hidden or shown.
static bool is_seen(const struct paths *paths, const char *path)
{
  size_t innermost = 0;
  bool is_shown = !paths->is_container;
  for (const char *const *hidden = paths->hidden; *hidden != NULL; hidden++)
    if (path_is_below(path, *hidden) && strlen(*hidden) > innermost) {
      innermost = strlen(*hidden);
      is_shown = false;
    }
  for (size_t i = 0; i < paths->count; i++)
    if (path_is_below(path, paths->list[i]) && strlen(paths->list[i]) > innermost) {
      innermost = strlen(paths->list[i]);
      is_shown = true;
    }
  return is_shown;
}

// An absolute path, without links or as its user names it. A hidden folder stays hidden, by whatever name.
static enum status add(struct paths *paths, const char *path, struct error *err)
{
  char real[PATH_MAX];
  if (has_dots(path) || is_seen(paths, path) || realpath(path, real) == NULL || is_hidden_folder(paths, real))
    return STATUS_OK;
  if (paths->count == PATHS_MOST)
    return error_set(err, STATUS_INPUT, "cannot show the isolated process all inputs", path,
                     "pictures in fewer folders, and not directly in /tmp or a home", "they are in more than %d places",
                     PATHS_MOST);
  paths->list[paths->count++] = arena_copy(paths->arena, path, strlen(path));
  return STATUS_OK;
}

// At its place, and where it is in truth if there is a link in its path. NULL: none.
static enum status add_path(struct paths *paths, const char *path, struct error *err)
{
  char absolute[PATH_MAX], real[PATH_MAX];
  if (path == NULL || path[0] == 0 || realpath(path, real) == NULL)
    return STATUS_OK;
  bool is_whole = snprintf(absolute, sizeof absolute, "%s%s%s", path[0] == '/' ? "" : paths->here,
                           path[0] == '/' ? "" : "/", path) < (int)sizeof absolute;
  XSP_TRY(is_whole ? add(paths, absolute, err) : STATUS_OK);
  return add(paths, real, err);
}

// The folder of a file, which has what belongs to the file. Where the folder is hidden, the file alone.
static enum status add_folder(struct paths *paths, const char *file, struct error *err)
{
  char folder[PATH_MAX], real[PATH_MAX], target[PATH_MAX];
  if (file == NULL || strlen(file) >= sizeof folder)
    return STATUS_OK;
  for (int i = 0; i < 2; i++) {
    const char *path = i == 0 ? file : realpath(file, real);
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (path == NULL)
      break;
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path) + (slash == path),
             slash == NULL ? "." : path);
    if (strcmp(folder, paths->recent[i]) == 0) // thousands of pictures are in one folder
      continue;
    XSP_TRY(add_path(paths, folder, err));
    XSP_TRY(add_path(paths, path, err)); // seen by now, unless the folder is hidden
    bool is_hidden = realpath(folder, target) == NULL || is_hidden_folder(paths, target);
    snprintf(paths->recent[i], PATH_MAX, "%s", is_hidden ? "" : folder);
  }
  return STATUS_OK;
}

static enum status add_list(struct paths *paths, const char *list, char between, struct error *err)
{
  struct slice rest = slice_of(list != NULL ? list : ""), path;
  while (slice_cut(&rest, between, &path))
    if (path.length > 0 && path.data[0] == '/')
      XSP_TRY(add_path(paths, arena_copy(paths->arena, path.data, path.length), err));
  return STATUS_OK;
}

// The interpreter with its modules, wherever its user has them.
static enum status add_python(struct paths *paths, struct error *err)
{
  static const char code[] = "import os, sys\n"
                             "own = [os.path.dirname(os.path.realpath(sys.executable)), sys.base_prefix, sys.prefix]\n"
                             "print(*own, *sys.path, sep='\\n')";
  char program[PATH_MAX];
  char *text = arena_alloc(paths->arena, PYTHON_OUTPUT_BYTES);
  python_program(program, sizeof program);
  if (!python_ask(program, code, PYTHON_WAIT_MS, text, PYTHON_OUTPUT_BYTES))
    return STATUS_OK; // its user has none
  return add_list(paths, text, '\n', err);
}

// Frameworks and programs of the host, which a container has itself.
static enum status add_software(struct paths *paths, struct error *err)
{
  static const char prefix[] = "XSP_LIBRARY_";
  XSP_TRY(add_path(paths, getenv("VIRTUAL_ENV"), err));
  XSP_TRY(add_python(paths, err));
  XSP_TRY(add_list(paths, getenv("LD_LIBRARY_PATH"), ':', err));
  XSP_TRY(add_list(paths, getenv("PATH"), ':', err));
  for (char **variable = environ; *variable != NULL; variable++)
    if (text_begins_with(*variable, prefix) && strchr(*variable, '=') != NULL)
      XSP_TRY(add_folder(paths, strchr(*variable, '=') + 1, err));
  return STATUS_OK;
}

static enum status add_inputs(struct paths *paths, const struct evaluation_model *model, const struct data_set *set,
                              struct error *err)
{
  const struct runner_options *runner = &model->profile.runner;
  XSP_TRY(add_folder(paths, runner->model_path, err));
  XSP_TRY(add_folder(paths, runner->weights_path, err));
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

static enum status add_own(struct paths *paths, const struct runner_options *runner, struct error *err)
{
  char own[PATH_MAX];
  XSP_TRY(install_find("libxsp.so.0", own, sizeof own, err));
  XSP_TRY(add_path(paths, arena_copy(paths->arena, own, strlen(own)), err));
  XSP_TRY(add_folder(paths, runner->program, err));
  return add_path(paths, runner->tracer_directory, err);
}

// Those of --tracer, wherever they are: FILE:OPTION=VALUE,FILE.
static enum status add_tracers(struct paths *paths, const char *tracers, struct error *err)
{
  struct slice rest = slice_of(tracers != NULL ? tracers : ""), tracer;
  while (slice_cut(&rest, ',', &tracer)) {
    const char *end = memchr(tracer.data, ':', tracer.length);
    size_t length = end != NULL ? (size_t)(end - tracer.data) : tracer.length;
    XSP_TRY(add_path(paths, arena_copy(paths->arena, tracer.data, length), err));
  }
  return STATUS_OK;
}

// A container has no folder of the host, but those that are in a shown one.
static void forget_unseen(struct paths *paths)
{
  size_t count = 0;
  const char **hidden = paths->hidden;
  for (size_t i = 0; hidden[i] != NULL; i++)
    for (size_t j = 0; j < paths->count; j++)
      if (path_is_below(hidden[i], paths->list[j])) {
        hidden[count++] = hidden[i];
        break;
      }
  hidden[count] = NULL;
}

enum status isolation_paths(const struct evaluation_model *model, const struct data_set *set, struct arena *arena,
                            struct isolation *isolation, struct error *err)
{
  struct paths *paths = arena_alloc(arena, sizeof *paths);
  const char *library = model->profile.variants[0].library;
  paths->arena = arena;
  if (getcwd(paths->here, sizeof paths->here) == NULL)
    paths->here[0] = 0;
  paths->hidden = isolation_hidden_folders(arena);
  paths->is_container = isolation->root != NULL;
  XSP_TRY(add_own(paths, &model->profile.runner, err));
  XSP_TRY(add_tracers(paths, model->profile.tracers, err));
  XSP_TRY(paths->is_container ? add_path(paths, library, err) : add_folder(paths, library, err));
  if (!paths->is_container)
    XSP_TRY(add_software(paths, err));
  XSP_TRY(add_inputs(paths, model, set, err));
  isolation->paths = paths->list;
  if (paths->is_container)
    forget_unseen(paths);
  isolation->hidden = paths->hidden;
  return STATUS_OK;
}
