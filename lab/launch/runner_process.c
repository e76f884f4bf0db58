// SPDX-License-Identifier: Apache-2.0
// Starts a runner: its folder, arguments and environment (trace/format/protocol.h lists them). runner.c talks with it afterwards.
#include "base/debug.h"
#include "base/vector.h"
#include "format/span_counters.h"
#include "launch/runner.h"
#include "launch/tracer_table.h"
#include "launch/variables.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct arguments {
  VECTOR(const char *) list;      // ends with NULL
  VECTOR(const char *) variables; // changes of the environment; the same
  struct arena arena;
};

static void put(struct arguments *arguments, const char *text)
{
  *vector_add(&arguments->list) = arena_copy(&arguments->arena, text, strlen(text));
  DEBUG(launch, "runner argument %zu: %s", arguments->list.count - 1, text);
}

static void put_option(struct arguments *arguments, const char *name, const char *value) // NULL: not given
{
  if (value == NULL)
    return;
  put(arguments, name);
  put(arguments, value);
}

static void put_list(struct arguments *arguments, const char *name, const char *const *values) // NULL: none
{
  while (values != NULL && *values != NULL)
    put_option(arguments, name, *values++);
}

static void put_arguments(struct arguments *arguments, const struct runner_options *options,
                          const struct runner *runner, int control_fd)
{
  struct arena *arena = &arguments->arena;
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(runner->levels, levels);
  put(arguments, options->program);
  put_option(arguments, "--control-fd",
             arena_format(arena, "%d", runner->end != NULL ? ISOLATION_CONTROL_FD : control_fd));
  put_option(arguments, "--model", options->model_path);
  put_option(arguments, "--weights", options->weights_path);
  put_option(arguments, "--predictor", options->predictor);
  put_option(arguments, "--levels", levels);
  put_option(arguments, "--tracer-directory", options->tracer_directory);
  put_option(arguments, "--work-directory", runner->work_directory);
  put_option(arguments, "--seed", arena_format(arena, "%" PRIu64, options->seed));
  put_option(arguments, "--library", options->library);
  put_option(arguments, "--device", options->device);
  put_option(arguments, "--threads", options->threads != 0 ? arena_format(arena, "%u", options->threads) : NULL);
  put_option(arguments, "--affinity", options->affinity);
  put_option(arguments, "--preprocess", options->preprocess);
  put_option(arguments, "--postprocess", options->postprocess);
  put_list(arguments, "--input", options->inputs);
  put_list(arguments, "--dim", options->dims);
  put_list(arguments, "--expect", options->expectations);
  if (options->profile_file)
    put(arguments, "--profile-file");
  if (options->unfused)
    put(arguments, "--unfused");
  if (options->pin_algorithms)
    put(arguments, "--pin-algorithms");
  if (options->layer_outputs)
    put(arguments, "--layer-outputs");
  put_option(arguments, "--values-fd",
             arena_format(arena, "%d", runner->end != NULL ? ISOLATION_VALUES_FD : runner->values));
  (void)vector_add(&arguments->list);
}

static void set_variable(struct arguments *arguments, const char *name,
                         const char *value) // NULL: removes that of an outer xsp run
{
  *vector_add(&arguments->variables) = value != NULL ? arena_format(&arguments->arena, "%s=%s", name, value) : name;
}

static void set_all(struct arguments *arguments, const struct fixed_variable *variable)
{
  for (; variable->name != NULL; variable++)
    set_variable(arguments, variable->name, variable->value);
}

// Libraries that announce their calls load the tracer for it themselves.
static void put_annotations(struct arguments *arguments, const struct runner_options *options, struct level_set levels)
{
  const struct known_tracer *tracer = launch_known_tracers;
  for (; tracer->name != NULL && levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY); tracer++) {
    const struct tracer_variable *variable = tracer->variables;
    for (; tracer->is_annotations && variable->name != NULL; variable++)
      if (variable->how == SET && variable->value == VALUE_TRACER)
        set_variable(arguments, variable->name,
                     arena_format(&arguments->arena, "%s/%s.so", options->tracer_directory, tracer->name));
  }
}

static void put_variables(struct arguments *arguments, const struct runner_options *options, struct level_set levels,
                          const char *session_directory, const char *tracers)
{
  if (levels.serial)
    set_all(arguments, launch_serial_variables);
  else
    set_variable(arguments, launch_serial_variables[0].name, NULL);
  if (options->pin_algorithms)
    set_all(arguments, launch_pin_variables);
  set_variable(arguments, "XSP_SESSION", session_directory);
  set_variable(arguments, "XSP_SESSION_JOIN", "1");
  set_variable(arguments, "XSP_TRACERS", tracers);
  set_variable(arguments, "XSP_CALL_PATHS", options->call_paths);
  set_variable(arguments, SPAN_COUNTERS_VARIABLE, options->counters);
  put_annotations(arguments, options, levels);
  set_variable(arguments, "XSP_CUDA", options->cuda);
  set_variable(arguments, METRICS_VARIABLE, levels.metrics ? "0" : NULL);
  (void)vector_add(&arguments->variables);
}

struct kept { // what a keeper gets
  const struct isolation *isolation;
  struct isolation_process process;
};

static void keep(const void *context)
{
  const struct kept *kept = context;
  isolation_keep(kept->isolation, &kept->process);
}

// In a process group of its own: Ctrl-C reaches xsp, which ends the runners in order. A framework that prints must not write into our data.
static int start_process(struct runner *runner, const struct arguments *arguments, int control, const char *session)
{
  const struct kept kept = {.isolation = runner->isolation,
                            .process = {.arguments = arguments->list.items,
                                        .work_folder = runner->work_directory,
                                        .session_folder = session[0] != 0 ? session : NULL,
                                        .control = control,
                                        .values = runner->values,
                                        .owner = getpid(),
                                        .end = runner->end}};
  const struct child_command command = {.arguments = arguments->list.items,
                                        .variables = arguments->variables.items,
                                        .function = runner->end != NULL ? keep : NULL,
                                        .context = &kept,
                                        .input = CHILD_NULL,
                                        .output = runner->output,
                                        .errors = runner->output,
                                        .kept = {control, runner->values},
                                        .death_signal = runner->end != NULL ? SIGTERM : 0,
                                        .has_group = true};
  return child_start(&command, &runner->child);
}

static enum status make_work_directory(struct runner *runner, struct error *err)
{
  const char *base = getenv("TMPDIR");
  if (base == NULL || base[0] == 0)
    base = "/tmp";
  snprintf(runner->work_directory, sizeof runner->work_directory, "%s/xsp-work-XXXXXX", base);
  if (mkdtemp(runner->work_directory) == NULL) {
    enum status status = error_set_errno(err, STATUS_SYSTEM, "cannot make a work folder", runner->work_directory,
                                         "set TMPDIR to a writable folder");
    runner->work_directory[0] = 0;
    return status;
  }
  runner->work_lock = open(runner->work_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  (void)flock(runner->work_lock,
              LOCK_EX); // for `xsp recover`, which lists those that are left and holds their locks for an instant
  return STATUS_OK;
}

enum status runner_start(struct runner *runner, const struct runner_options *options, struct level_set levels,
                         const char *session_directory, const char *tracers, struct error *err)
{
  *runner = (struct runner){.levels = levels,
                            .control = -1,
                            .output = -1,
                            .values = -1,
                            .work_lock = -1,
                            .timeout_s = options->timeout_s,
                            .model_path = options->model_path};
  runner->interrupted = options->interrupted;
  runner->isolation = options->isolation;
  if (runner->isolation != NULL)
    runner->end = isolation_end_create();
  XSP_TRY(make_work_directory(runner, err));
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot make a socket pair", NULL, NULL);
  runner->control = pair[0];
  runner->output = memfd_create("xsp-runner-output", MFD_CLOEXEC);
  runner->values = memfd_create("xsp-runner-values", MFD_CLOEXEC);
  struct arguments arguments = {0};
  put_arguments(&arguments, options, runner, pair[1]);
  put_variables(&arguments, options, levels, session_directory, tracers);
  int failure = start_process(runner, &arguments, pair[1], session_directory);
  enum status status = STATUS_OK;
  if (failure != 0) {
    errno = failure;
    status = error_set_errno(err, STATUS_SYSTEM, "cannot start the runner", options->program, NULL);
  }
  close(pair[1]);
  vector_done(&arguments.list);
  vector_done(&arguments.variables);
  arena_done(&arguments.arena);
  return status;
}
