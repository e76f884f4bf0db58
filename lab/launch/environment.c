// SPDX-License-Identifier: Apache-2.0
// Makes the environment of a traced program, before each execution. docs/internals/launch.md has all variables. Called
// by execute.c. xsp's own variables that have no value are removed, so that an outer xsp run has no effect.
#include "launch/environment.h"

#include "base/debug.h"
#include "format/span_counters.h"
#include "launch/install.h"
#include "launch/tracer_table.h"
#include "launch/variables.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAXIMUM 64 // more than all variables

struct request { // what values are made of
  const struct launch_options *options;
  const struct chosen_tracers *tracers;
  const struct executable *program;
  const char *session_directory, *traceparent;
  struct arena *arena;
  struct error *err;
  enum status status; // sticky
};

static const struct chosen_tracer *find_tracer(const struct request *request, const char *name)
{
  for (size_t i = 0; i < request->tracers->count; i++)
    if (strcmp(request->tracers->list[i].name, name) == 0)
      return &request->tracers->list[i];
  return NULL;
}

// ---- values: NULL where the variable is not wanted ----------------------------------------------------------------------

// A part of xsp by its real path, fit for the loader's lists.
static const char *own_library(struct request *request, const char *part, bool is_needed)
{
  char path[PATH_MAX], real[PATH_MAX];
  struct error missing = {0};
  enum status status = install_find(part, path, sizeof path, &missing);
  if (status == STATUS_OK && realpath(path, real) == NULL)
    status = error_set_errno(&missing, STATUS_SYSTEM, "a part of xsp cannot be read", path, "reinstall xsp");
  if (status == STATUS_OK && strpbrk(real, ": ") != NULL)
    status = error_set(&missing, STATUS_USE, "cannot pass this path on", real, "xsp in a folder without ':' and spaces",
                       "the loader separates its lists by them");
  else if (status != STATUS_OK && !is_needed)
    return NULL;
  if (status != STATUS_OK) {
    if (request->status == STATUS_OK && request->err != NULL)
      *request->err = missing;
    request->status = request->status == STATUS_OK ? status : request->status;
    return NULL;
  }
  return arena_copy(request->arena, real, strlen(real));
}

static bool takes_libraries(const struct request *request)
{
  return request->program->kind != EXECUTABLE_OTHER_MACHINE && request->program->kind != EXECUTABLE_OTHER_LIBC;
}

// A process that never uses such a door need not load the tracer.
static bool has_own_door(const struct chosen_tracer *chosen)
{
  const struct known_tracer *tracer = launch_known_tracer(chosen->name);
  return tracer != NULL && tracer->door != DOOR_START;
}

static const char *tracer_list(struct request *request)
{
  const char *list = NULL;
  for (size_t i = 0; i < request->tracers->count; i++) {
    const struct chosen_tracer *tracer = &request->tracers->list[i];
    list = arena_format(request->arena, "%s%s%s%s%s", list != NULL ? list : "", list != NULL ? "," : "",
                        has_own_door(tracer) ? "@" : "", tracer->path, tracer->options);
  }
  return list;
}

static const char *preload(struct request *request)
{
  if (!takes_libraries(request))
    return NULL;
  const char *list = own_library(request, "libxsp.so", true), *tracers = "";
  bool has_framework = false;
  for (const struct known_tracer *tracer = launch_known_tracers; tracer->name != NULL; tracer++) {
    const struct chosen_tracer *chosen = find_tracer(request, tracer->name);
    has_framework |= tracer->door == DOOR_FRAMEWORK && chosen != NULL;
    if (tracer->door == DOOR_PRELOAD && chosen != NULL)
      tracers = arena_format(request->arena, "%s:%s", tracers, chosen->path);
  }
  const char *frameworks = has_framework ? own_library(request, "tracers/frameworks.so", false) : NULL;
  if (list == NULL)
    return NULL;
  return arena_format(request->arena, "%s%s%s%s", list, frameworks != NULL ? ":" : "",
                      frameworks != NULL ? frameworks : "", tracers);
}

static const char *tracer_value(struct request *request, const struct known_tracer *tracer,
                                const struct tracer_variable *variable)
{
  const struct chosen_tracer *chosen = find_tracer(request, tracer->name);
  if (chosen == NULL || (variable->level_mask != 0 && (variable->level_mask & request->options->levels.mask) == 0))
    return NULL;
  switch (variable->value) {
  case VALUE_TRACER:
    return chosen->path;
  case VALUE_PART:
    return takes_libraries(request) ? own_library(request, variable->text, true) : NULL;
  case VALUE_FUNCTIONS:
    return request->options->functions;
  case VALUE_RATE:
    return arena_format(request->arena, "%u", request->options->sample_rate);
  case VALUE_MODE:
    return request->options->sample_mode;
  case VALUE_TEXT:
    break;
  }
  return variable->text;
}

// ---- applying it ------------------------------------------------------------------------------------------------------------
static bool is_named(const char *entry, const char *name)
{
  size_t length = strlen(name);
  return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static const char *find_before(char *const *before, const char *name)
{
  for (; *before != NULL; before++)
    if (is_named(*before, name))
      return *before + strlen(name) + 1;
  return NULL;
}

// `a` is a list's beginning already: an xsp run inside an xsp run adds nothing twice.
static bool begins_list(const char *list, const char *a)
{
  size_t length = strlen(a);
  return strncmp(list, a, length) == 0 && (list[length] == 0 || list[length] == ':' || list[length] == ' ');
}

struct entry {
  const char *name;
  char *text; // "NAME=value"; NULL: as before, or nothing where `is_removed`
  bool is_removed;
};

static void make_entry(struct request *request, const char *name, enum variable_how how, const char *value,
                       char *const *before, struct entry *ret_entry)
{
  const char *old = find_before(before, name);
  *ret_entry = (struct entry){.name = name, .is_removed = value == NULL && how == OWN};
  if (value == NULL || (how == IF_ABSENT && old != NULL))
    return;
  if ((how == PREPEND || how == PREPEND_ENDED) && old != NULL && old[0] != 0)
    value = begins_list(old, value) ? old : arena_format(request->arena, "%s:%s", value, old);
  if (how == PREPEND_ENDED && value[strlen(value) - 1] != ':')
    value = arena_format(request->arena, "%s:", value);
  ret_entry->text = arena_format(request->arena, "%s=%s", name, value);
  DEBUG(launch, "environment %s", ret_entry->text);
}

static size_t make_entries(struct request *request, char *const *before, struct entry *entries)
{
  const struct launch_options *options = request->options;
  const struct { // of every program; those of tracers are in tracer_table.c
    const char *name;
    enum variable_how how;
    const char *value;
  } variables[] = {
      {"XSP_SESSION", OWN, request->session_directory},
      {"XSP_SESSION_JOIN", OWN, "1"},
      {"XSP_TRACERS", OWN, tracer_list(request)},
      {"TRACEPARENT", SET, request->traceparent},
      {"LD_PRELOAD", PREPEND, preload(request)},
      {"XSP_MODEL_RANGE", OWN, options->model_range},
      {"XSP_CAPTURE_RANGE", OWN, options->capture_range},
      {"XSP_CALL_PATHS", OWN, options->call_paths},
      {"XSP_SHAPES", OWN, options->shapes ? "1" : NULL},
      {"XSP_CUDA", OWN, options->cuda},
      {SPAN_COUNTERS_VARIABLE, OWN, options->counters},
      {METRICS_VARIABLE, OWN, options->levels.metrics ? arena_format(request->arena, "%u", options->repetition) : NULL},
  };
  size_t count = 0;
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    make_entry(request, variables[i].name, variables[i].how, variables[i].value, before, &entries[count++]);
  for (const struct fixed_variable *variable = launch_serial_variables; variable->name != NULL; variable++)
    make_entry(request, variable->name, variable == launch_serial_variables ? OWN : SET,
               options->levels.serial ? variable->value : NULL, before, &entries[count++]);
  for (const struct fixed_variable *variable = launch_pin_variables; variable->name != NULL; variable++)
    make_entry(request, variable->name, SET, options->pin_algorithms ? variable->value : NULL, before,
               &entries[count++]);
  for (const struct known_tracer *tracer = launch_known_tracers; tracer->name != NULL; tracer++)
    for (const struct tracer_variable *variable = tracer->variables; variable->name != NULL; variable++)
      make_entry(request, variable->name, variable->how, tracer_value(request, tracer, variable), before,
                 &entries[count++]);
  return count;
}

enum status environment_make(const struct launch_options *options, const struct chosen_tracers *tracers,
                             const struct executable *program, const char *session_directory, const char *traceparent,
                             char *const *before, struct arena *arena, char ***ret_environment, struct error *err)
{
  static char *const nothing[] = {NULL};
  struct request request = {.options = options,
                            .tracers = tracers,
                            .program = program,
                            .session_directory = session_directory,
                            .traceparent = traceparent,
                            .arena = arena,
                            .err = err};
  struct entry entries[ENTRIES_MAXIMUM];
  before = before != NULL ? before : nothing;
  size_t entry_count = make_entries(&request, before, entries);
  XSP_TRY(request.status);
  size_t count = 0;
  while (before[count] != NULL)
    count++;
  char **environment = arena_alloc_array(arena, count + entry_count + 1, sizeof *environment);
  size_t written = 0;
  for (size_t i = 0; i < count; i++) { // in the old order, a changed one in its old place
    size_t at = 0;
    while (at < entry_count && !is_named(before[i], entries[at].name))
      at++;
    if (at == entry_count || (entries[at].text == NULL && !entries[at].is_removed)) {
      environment[written++] = before[i];
    } else if (entries[at].text != NULL) {
      environment[written++] = entries[at].text;
      entries[at].text = NULL;
      entries[at].is_removed = true; // a second one of the same name would contradict
    }
  }
  for (size_t i = 0; i < entry_count; i++)
    if (entries[i].text != NULL)
      environment[written++] = entries[i].text;
  *ret_environment = environment;
  return STATUS_OK;
}
