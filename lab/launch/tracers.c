// SPDX-License-Identifier: Apache-2.0
// Which tracers a program gets: by name, by path, or all that xsp has. At a level set a program gets only those that publish at
// it (tracer_table.c).
#include "base/nearest.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "launch/environment.h"
#include "launch/functions.h"
#include "launch/install.h"
#include "launch/tracer_table.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_wanted(const struct launch_options *options, const char *name)
{
  const struct known_tracer *tracer = launch_known_tracer(name);
  if (strcmp(name, "cpu") == 0 && options->sample_rate == 0)
    return false;
  if (tracer == NULL || tracer->level_mask == 0) // another maker's tracer, or a list of functions: checked elsewhere
    return true;
  uint32_t mask = tracer->level_mask;
  if (tracer->is_annotations && options->model_range != NULL)
    mask |= XSP_LEVEL_MASK(XSP_LEVEL_MODEL);
  return (mask & options->levels.mask) != 0 || (tracer->serializes && options->levels.serial) ||
         (tracer->is_annotations && options->capture_range != NULL);
}

// ---- the folder --------------------------------------------------------------------------------------------------------
struct choice {
  const struct launch_options *options;
  struct chosen_tracers *chosen; // filled
  struct arena *arena;
  char folder[PATH_MAX];      // of xsp's tracers
  VECTOR(const char *) names; // of the tracers in it, sorted
};

static enum status list_folder(struct choice *choice, struct error *err)
{
  XSP_TRY(install_find("tracers", choice->folder, sizeof choice->folder, err));
  DIR *directory SCOPED(scoped_closedir) = opendir(choice->folder);
  if (directory == NULL)
    return error_set_errno(err, STATUS_SYSTEM, "cannot list xsp's tracers", choice->folder, "reinstall xsp");
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    char *name = entry->d_name, *dot = strrchr(name, '.');
    if (dot == NULL || dot == name || strcmp(dot, ".so") != 0)
      continue;
    *dot = 0;
    if (!launch_tracer_is_part(name) && strcmp(name, "functions") != 0)
      *vector_add(&choice->names) = arena_copy(choice->arena, name, strlen(name));
  }
  vector_sort(&choice->names, sorted_compare_text);
  return STATUS_OK;
}

static enum status no_such_tracer(const struct choice *choice, const char *name, struct error *err)
{
  struct nearest nearest;
  char advice[160];
  nearest_start(&nearest, name);
  for (size_t i = 0; i < choice->names.count; i++)
    nearest_offer(&nearest, choice->names.items[i]);
  nearest_advice(&nearest, "-t ", "`xsp check`, which lists them", advice, sizeof advice);
  return error_set(err, STATUS_USE, "no such tracer", name, advice, "xsp has none of this name");
}

// ---- choosing ----------------------------------------------------------------------------------------------------------
static enum status add(struct choice *choice, const char *name, const char *file, const char *options,
                       struct error *err)
{
  struct chosen_tracers *chosen = choice->chosen;
  char *path = arena_alloc(choice->arena, PATH_MAX);
  if (realpath(file, path) == NULL)
    return error_set_errno(err, STATUS_USE, "no such tracer", file, "`xsp check`");
  if (!is_wanted(choice->options, name))
    return STATUS_OK;
  for (size_t i = 0; i < chosen->count; i++)
    if (strcmp(chosen->list[i].path, path) == 0) {
      if (options[0] != 0) // `auto`, and one of them with options
        chosen->list[i].options = options;
      return STATUS_OK;
    }
  if (strpbrk(path, ",: ") != NULL)
    return error_set(err, STATUS_USE, "cannot pass this path on", path, "a path without ',', ':' and spaces",
                     "lists of tracers are separated by them");
  if (chosen->count == TRACERS_MAXIMUM)
    return error_set(err, STATUS_USE, "too many tracers", name, NULL, "a process loads at most %d", TRACERS_MAXIMUM);
  chosen->list[chosen->count++] = (struct chosen_tracer){name, path, options};
  return STATUS_OK;
}

// `text` is NAME[:OPTIONS] or PATH[:OPTIONS].
static enum status add_text(struct choice *choice, const char *text, struct error *err)
{
  size_t length = strcspn(text, ":");
  const char *name = arena_copy(choice->arena, text, length), *options = text + length;
  if (strcmp(name, "functions") == 0) // added at the end
    return choice->options->functions != NULL
               ? STATUS_OK
               : error_set(err, STATUS_USE, "no functions to trace", "--tracer functions", "--functions FILE",
                           "a list names them");
  if (strchr(name, '/') != NULL) {
    struct stat facts;
    if (stat(name, &facts) == 0 && !S_ISREG(facts.st_mode)) // the program's dlopen would wait for a FIFO's writer
      return error_set(err, STATUS_INPUT, "not a tracer", name, "the path of a shared object",
                       "it is not a regular file");
    const char *base = basename(name);
    size_t base_length = strlen(base);
    bool has_ending = base_length > 3 && strcmp(base + base_length - 3, ".so") == 0;
    return add(choice, arena_copy(choice->arena, base, has_ending ? base_length - 3 : base_length), name, options, err);
  }
  if (choice->names.count == 0 ||
      bsearch(&name, choice->names.items, choice->names.count, sizeof name, sorted_compare_text) == NULL)
    return no_such_tracer(choice, name, err);
  return add(choice, name, arena_format(choice->arena, "%s/%s.so", choice->folder, name), options, err);
}

static enum status add_all(struct choice *choice, struct error *err)
{
  for (size_t i = 0; i < choice->names.count; i++) {
    const struct known_tracer *tracer = launch_known_tracer(choice->names.items[i]);
    if (tracer == NULL || !tracer->is_not_automatic)
      XSP_TRY(add_text(choice, choice->names.items[i], err));
  }
  return STATUS_OK;
}

// --functions brings its own tracer, unless the list's levels are off.
static enum status add_functions(struct choice *choice, struct error *err)
{
  const struct launch_options *options = choice->options;
  char file[PATH_MAX];
  if (options->functions == NULL || (functions_file_levels(options->functions) & options->levels.mask) == 0)
    return STATUS_OK;
  XSP_TRY(install_find("tracers/functions.so", file, sizeof file, err));
  return add(choice, "functions", file, "", err);
}

enum status launch_tracers_choose(const struct launch_options *options, struct arena *arena,
                                  struct chosen_tracers *ret_tracers, struct error *err)
{
  struct choice choice = {.options = options, .chosen = ret_tracers, .arena = arena};
  ret_tracers->count = 0;
  enum status status = list_folder(&choice, err);
  for (const char *const *text = options->tracers; *text != NULL && status == STATUS_OK; text++)
    status = strcmp(*text, "auto") == 0 ? add_all(&choice, err) : add_text(&choice, *text, err);
  if (status == STATUS_OK)
    status = add_functions(&choice, err);
  vector_done(&choice.names);
  return status;
}
