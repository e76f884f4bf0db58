// SPDX-License-Identifier: Apache-2.0
// Which tracers a program gets: by name, by path, or all that xsp has. At a level set a program gets only those that publish at
// it (tracer_table.c).
#include "base/nearest.h"
#include "launch/environment.h"
#include "launch/functions.h"
#include "launch/install.h"
#include "launch/tracer_table.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAXIMUM 64

static bool is_wanted(const struct launch_options *options, const char *name)
{
  const struct known_tracer *tracer = known_tracer(name);
  if (tracer == NULL || tracer->level_mask == 0) // another maker's tracer, or a list of functions: checked elsewhere
    return true;
  uint32_t mask = tracer->level_mask;
  if (tracer->is_annotations && options->model_range != NULL)
    mask |= XSP_LEVEL_MASK(XSP_LEVEL_MODEL);
  return (mask & options->levels.mask) != 0 || (tracer->is_annotations && options->capture_range != NULL);
}

// ---- the folder --------------------------------------------------------------------------------------------------------
struct names {
  const char *list[NAMES_MAXIMUM];
  size_t count;
};

static int by_name(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum status list_folder(const char *folder, struct arena *arena, struct names *ret_names, struct error *err)
{
  ret_names->count = 0;
  DIR *directory = opendir(folder);
  if (directory == NULL)
    return error_set_errno(err, STATUS_SYSTEM, "cannot list xsp's tracers", folder, "reinstall xsp");
  for (struct dirent *entry; (entry = readdir(directory)) != NULL && ret_names->count < NAMES_MAXIMUM;) {
    size_t length = strlen(entry->d_name);
    if (length <= 3 || strcmp(entry->d_name + length - 3, ".so") != 0)
      continue;
    const char *name = arena_copy(arena, entry->d_name, length - 3);
    if (!tracer_is_part(name) && strcmp(name, "functions") != 0)
      ret_names->list[ret_names->count++] = name;
  }
  closedir(directory);
  qsort(ret_names->list, ret_names->count, sizeof *ret_names->list, by_name);
  return STATUS_OK;
}

static bool has_name(const struct names *names, const char *name)
{
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->list[i], name) == 0)
      return true;
  return false;
}

static enum status no_such_tracer(const struct names *names, const char *name, struct error *err)
{
  struct nearest nearest;
  char advice[160];
  nearest_start(&nearest, name);
  for (size_t i = 0; i < names->count; i++)
    nearest_offer(&nearest, names->list[i]);
  if (nearest.best != NULL)
    snprintf(advice, sizeof advice, "-t %s; `xsp check` lists them", nearest.best);
  else
    snprintf(advice, sizeof advice, "`xsp check` lists them");
  return error_set(err, STATUS_USE, "no such tracer", name, advice, "xsp has none of this name");
}

// ---- choosing ----------------------------------------------------------------------------------------------------------
static enum status add(const struct launch_options *options, struct chosen_tracers *tracers,
                       struct chosen_tracer tracer, struct error *err)
{
  if (!is_wanted(options, tracer.name))
    return STATUS_OK;
  for (size_t i = 0; i < tracers->count; i++)
    if (strcmp(tracers->list[i].path, tracer.path) == 0) {
      if (tracer.options[0] != 0) // `auto`, and one of them with options
        tracers->list[i].options = tracer.options;
      return STATUS_OK;
    }
  if (strpbrk(tracer.path, ",: ") != NULL)
    return error_set(err, STATUS_USE, "cannot pass this path on", tracer.path, "a path without ',', ':' and spaces",
                     "lists of tracers are separated by them");
  if (tracers->count == TRACERS_MAXIMUM)
    return error_set(err, STATUS_USE, "too many tracers", tracer.name, NULL, "a process loads at most %d",
                     TRACERS_MAXIMUM);
  tracers->list[tracers->count++] = tracer;
  return STATUS_OK;
}

// `text` is NAME[:OPTIONS] or PATH[:OPTIONS].
static enum status add_text(const struct launch_options *options, const char *folder, const struct names *names,
                            const char *text, struct arena *arena, struct chosen_tracers *tracers, struct error *err)
{
  size_t length = strcspn(text, ":");
  char *file = arena_copy(arena, text, length);
  char *real = arena_alloc(arena, PATH_MAX);
  struct chosen_tracer tracer = {file, real, text + length};
  if (strcmp(file, "functions") == 0) // added at the end
    return options->functions != NULL ? STATUS_OK
                                      : error_set(err, STATUS_USE, "no functions to trace", "--tracer functions",
                                                  "--functions FILE", "a list names them");
  if (strchr(file, '/') == NULL) {
    if (!has_name(names, file))
      return no_such_tracer(names, file, err);
    file = arena_format(arena, "%s/%s.so", folder, file);
  } else {
    const char *base = strrchr(file, '/') + 1;
    size_t base_length = strlen(base);
    bool has_ending = base_length > 3 && strcmp(base + base_length - 3, ".so") == 0;
    tracer.name = arena_copy(arena, base, has_ending ? base_length - 3 : base_length);
  }
  if (realpath(file, real) == NULL)
    return error_set_errno(err, STATUS_USE, "no such tracer", file, "`xsp check`");
  return add(options, tracers, tracer, err);
}

static enum status add_all(const struct launch_options *options, const char *folder, const struct names *names,
                           struct arena *arena, struct chosen_tracers *tracers, struct error *err)
{
  for (size_t i = 0; i < names->count; i++) {
    const struct known_tracer *tracer = known_tracer(names->list[i]);
    if (tracer == NULL || !tracer->is_not_automatic)
      XSP_TRY(add_text(options, folder, names, names->list[i], arena, tracers, err));
  }
  return STATUS_OK;
}

// --functions brings its own tracer, unless the list's levels are off.
static enum status add_functions(const struct launch_options *options, const char *folder, struct arena *arena,
                                 struct chosen_tracers *tracers, struct error *err)
{
  if (options->functions == NULL || (functions_file_levels(options->functions) & options->levels.mask) == 0)
    return STATUS_OK;
  const char *file = arena_format(arena, "%s/functions.so", folder);
  char *real = arena_alloc(arena, PATH_MAX);
  if (realpath(file, real) == NULL)
    return error_set_errno(err, STATUS_SYSTEM, "cannot trace functions", file, "reinstall xsp");
  return add(options, tracers, (struct chosen_tracer){"functions", real, ""}, err);
}

enum status tracers_choose(const struct launch_options *options, struct arena *arena,
                           struct chosen_tracers *ret_tracers, struct error *err)
{
  char folder[PATH_MAX];
  struct names names;
  ret_tracers->count = 0;
  XSP_TRY(install_find("tracers", folder, sizeof folder, err));
  XSP_TRY(list_folder(folder, arena, &names, err));
  for (const char *const *text = options->tracers; *text != NULL; text++)
    if (strcmp(*text, "auto") == 0)
      XSP_TRY(add_all(options, folder, &names, arena, ret_tracers, err));
    else
      XSP_TRY(add_text(options, folder, &names, *text, arena, ret_tracers, err));
  return add_functions(options, folder, arena, ret_tracers, err);
}
