// SPDX-License-Identifier: Apache-2.0
// The environment of a traced program: one table, the one of docs/internals/launch.md. Called by execution.c before each
// execution. A variable of xsp's own that is not wanted is taken away, so that an outer xsp run does not reach in.
#include "launch/environment.h"

#include "launch/install.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request { // what values are made of
  const struct launch_options *options;
  const struct chosen_tracers *tracers;
  const struct executable *program;
  const char *session_directory;
  struct arena *arena;
  struct error *err;
  enum status status; // sticky
};

static enum status fail_memory(struct error *err)
{
  return error_set(err, STATUS_MEMORY, "cannot make the program's environment", NULL, NULL, "out of memory");
}

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

static const char *session(struct request *request, const char *text)
{
  return request->session_directory;
}

// Tracers that a door of their vendor's brings in: a process that never opens it need not load them.
static bool has_own_door(const struct chosen_tracer *tracer)
{
  static const char *const names[] = {"nvtx", "itt", "opencl", "onnxruntime", "mxnet", "tensorflow"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(tracer->name, names[i]) == 0)
      return true;
  return false;
}

static const char *tracer_list(struct request *request, const char *text)
{
  const char *list = NULL;
  for (size_t i = 0; i < request->tracers->count; i++) {
    const struct chosen_tracer *tracer = &request->tracers->list[i];
    list = arena_format(request->arena, "%s%s%s%s%s", list != NULL ? list : "", list != NULL ? "," : "",
                        has_own_door(tracer) ? "@" : "", tracer->path, tracer->options);
  }
  return list;
}

static const char *preload(struct request *request, const char *text)
{
  if (!takes_libraries(request))
    return NULL;
  const char *library = own_library(request, "libxsp.so", true);
  bool has_framework = find_tracer(request, "onnxruntime") != NULL || find_tracer(request, "mxnet") != NULL ||
                       find_tracer(request, "tensorflow") != NULL;
  const char *frameworks = has_framework ? own_library(request, "tracers/frameworks.so", false) : NULL;
  return frameworks == NULL || library == NULL ? library : arena_format(request->arena, "%s:%s", library, frameworks);
}

static const char *audit(struct request *request, const char *text)
{
  if (request->options->functions == NULL || !takes_libraries(request))
    return NULL;
  return own_library(request, "tracers/functions_audit.so", true);
}

static const char *functions(struct request *request, const char *text)
{
  return request->options->functions;
}

static const char *model_range(struct request *request, const char *text)
{
  return request->options->model_range;
}

static const char *capture_range(struct request *request, const char *text)
{
  return request->options->capture_range;
}

// The file of the tracer that `text` names.
static const char *tracer_path(struct request *request, const char *text)
{
  const struct chosen_tracer *tracer = find_tracer(request, text);
  return tracer != NULL ? tracer->path : NULL;
}

static const char *always(struct request *request, const char *text)
{
  return text;
}

static const char *if_serialized(struct request *request, const char *text)
{
  return request->options->serialized ? text : NULL;
}

// ---- the table ------------------------------------------------------------------------------------------------------------
enum how { OWN, SET, PREPEND, IF_ABSENT }; // OWN: also taken away where there is no value; PREPEND: with ':'
static const struct variable {
  const char *name;
  enum how how;
  const char *tracer;  // only where this tracer is given; NULL: always
  uint32_t level_mask; // only where one of these levels is on; 0: always
  const char *(*value)(struct request *request, const char *text);
  const char *text;
} variables[] = {
    {"XSP_SESSION", OWN, NULL, 0, session, NULL},
    {"XSP_TRACERS", OWN, NULL, 0, tracer_list, NULL},
    {"LD_PRELOAD", PREPEND, NULL, 0, preload, NULL},
    {"XSP_MODEL_RANGE", OWN, NULL, 0, model_range, NULL},
    {"XSP_CAPTURE_RANGE", OWN, NULL, 0, capture_range, NULL},
    {"XSP_SERIALIZE", OWN, NULL, 0, if_serialized, "1"},
    {"NVTX_INJECTION64_PATH", SET, "nvtx", 0, tracer_path, "nvtx"},
    {"INTEL_LIBITTNOTIFY64", SET, "itt", 0, tracer_path, "itt"},
    {"OPENCL_LAYERS", PREPEND, "opencl", 0, tracer_path, "opencl"},
    {"LD_AUDIT", PREPEND, "functions", 0, audit, NULL},
    {"XSP_FUNCTIONS", OWN, "functions", 0, functions, NULL},
    // 0: no limit. With one, OpenCV leaves layers out, and says so on the program's stderr when it ends.
    {"OPENCV_TRACE_DEPTH_OPENCV", IF_ABSENT, "itt", XSP_LEVEL_MASK(XSP_LEVEL_LAYER), always, "0"},
    {"OPENCV_TRACE_MAX_CHILDREN_OPENCV", IF_ABSENT, "itt", XSP_LEVEL_MASK(XSP_LEVEL_LAYER), always, "0"},
    {"OPENCV_TRACE_MAX_CHILDREN", IF_ABSENT, "itt", XSP_LEVEL_MASK(XSP_LEVEL_LAYER), always, "0"},
    {"CUDA_LAUNCH_BLOCKING", SET, NULL, 0, if_serialized, "1"},
    {"OMP_NUM_THREADS", SET, NULL, 0, if_serialized, "1"},
};

static const char *wanted_value(struct request *request, const struct variable *variable)
{
  if (variable->tracer != NULL && find_tracer(request, variable->tracer) == NULL)
    return NULL;
  if (variable->level_mask != 0 && (variable->level_mask & request->options->levels.mask) == 0)
    return NULL;
  return variable->value(request, variable->text);
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

// What the program shall find under this name; NULL: as before, or nothing where `*ret_removed`.
static char *new_entry(struct request *request, const struct variable *variable, char *const *before, bool *ret_removed)
{
  const char *value = wanted_value(request, variable), *old = find_before(before, variable->name);
  *ret_removed = value == NULL && variable->how == OWN;
  if (value == NULL || (variable->how == IF_ABSENT && old != NULL))
    return NULL;
  if (variable->how == PREPEND && old != NULL && old[0] != 0)
    value = begins_list(old, value) ? old : arena_format(request->arena, "%s:%s", value, old);
  char *entry = value != NULL ? arena_format(request->arena, "%s=%s", variable->name, value) : NULL;
  if (entry == NULL && request->status == STATUS_OK)
    request->status = fail_memory(request->err);
  return entry;
}

enum status environment_make(const struct launch_options *options, const struct chosen_tracers *tracers,
                             const struct executable *program, const char *session_directory, char *const *before,
                             struct arena *arena, char ***ret_environment, struct error *err)
{
  static char *const nothing[] = {NULL};
  struct request request = {.options = options,
                            .tracers = tracers,
                            .program = program,
                            .session_directory = session_directory,
                            .arena = arena,
                            .err = err};
  enum { VARIABLES = sizeof variables / sizeof *variables };
  char *entries[VARIABLES];
  bool is_removed[VARIABLES];
  before = before != NULL ? before : nothing;
  for (size_t i = 0; i < VARIABLES; i++)
    entries[i] = new_entry(&request, &variables[i], before, &is_removed[i]);
  XSP_TRY(request.status);
  size_t count = 0;
  while (before[count] != NULL)
    count++;
  char **environment = arena_alloc_array(arena, count + VARIABLES + 1, sizeof *environment);
  if (environment == NULL)
    return fail_memory(err);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) { // in the old order, a changed one in its old place
    size_t at = 0;
    while (at < VARIABLES && !is_named(before[i], variables[at].name))
      at++;
    if (at == VARIABLES || (entries[at] == NULL && !is_removed[at])) {
      environment[kept++] = before[i];
    } else if (entries[at] != NULL) {
      environment[kept++] = entries[at];
      entries[at] = NULL;
      is_removed[at] = true; // a second of the same name would say otherwise
    }
  }
  for (size_t i = 0; i < VARIABLES; i++)
    if (entries[i] != NULL)
      environment[kept++] = entries[i];
  *ret_environment = environment;
  return STATUS_OK;
}
