// SPDX-License-Identifier: Apache-2.0
// `xsp run`: options in, executions, tables on stderr, the program's own exit status out. The running is in lab/launch/execute.c,
// the repetition in lab/experiment/program_experiment.c. Nothing is written to stdout.
#include "base/arena.h"
#include "base/file_place.h"
#include "experiment/experiment.h"
#include "launch/launch.h"
#include "programs/xsp/output.h"
#include "programs/xsp/publish_options.h"
#include "programs/xsp/span_stream.h"
#include "programs/xsp/verb.h"
#include "programs/xsp/verb_run/run_control.h"
#include "programs/xsp/verb_run/run_json.h"
#include "programs/xsp/verb_run/run_print.h"
#include "programs/xsp/verb_run/run_tracers.h"
#include "tracers/tracers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRONG_USE 125
#define CANNOT_EXECUTE 127
#define LEVELED_RUNS 5 // a trimmed mean leaves one out at either end, and four are the fewest whose spread is judged
#define LEVELED_WARMUPS 1

static const struct option_description options[] = {
    {"tracer", 't', "NAME,NAME,...", "auto", OPTION_REPEATABLE | OPTION_AT_START,
     "Tracers to put into the program, by name (xsp check lists them) or by path, with options as in "
     "PATH:OPTION=VALUE. auto: all that xsp has; which of them record anything depends on the program."},
    {"levels", 'l', "SET,SET,...", NULL, 0,
     "Level sets to record: levels A, M, L, Lib, K joined by '/', with K also +metrics after it: hardware metrics of "
     "kernels. One set: one execution with these levels. Several: as --leveled. Default: all levels in one execution."},
    {"leveled", 0, NULL, NULL, OPTION_AT_START | OPTION_BY_SPAN,
     "Run the program once per level set and repetition, interleaved, so that the figures of a level are free of what "
     "recording the levels below it costs. Without --levels a first execution finds out which levels this program has, "
     "and sets that add nothing are left out."},
    {"serialize", 0, NULL, NULL, OPTION_AT_START | OPTION_BY_SPAN,
     "As --leveled, and the deepest level set also with launches one after the other (@serial): layers then last as "
     "long as their kernels. A13 and L0 show it."},
    {"runs", 'r', "N", NULL, OPTION_AT_START | OPTION_BY_SPAN,
     "Counted executions per level set. Default: 1, with --leveled 5."},
    {"warmup", 'w', "N", NULL, OPTION_AT_START | OPTION_BY_SPAN,
     "Executions before them, kept in the file but in no statistic. Default: 0, with --leveled 1."},
    {"model-range", 0, "PATTERN", NULL, OPTION_AT_START,
     "Ranges of NVTX and ITT whose text matches are model level, one step each; * and ? match any text and character."},
    {"delay", 0, "SECONDS", "0", 0, "Record nothing until so long after the program's start."},
    {"duration", 0, "SECONDS", "0", 0, "Record for so long, then no more; the program runs on. 0: to its end."},
    {"capture-range", 0, "PATTERN", NULL, OPTION_AT_START,
     "Record only inside ranges of NVTX and ITT whose text matches; * and ? as in --model-range."},
    {"flight-recorder", 0, "SIZE", NULL, OPTION_BY_SPAN,
     "Keep only the last SIZE bytes of records of each thread, as in 64M; nothing is read until the program has "
     "ended."},
    {"memory-limit", 0, "SIZE", NULL, 0,
     "Memory for records that xsp has not read yet, of all threads together, as in 4G; what does not fit is dropped "
     "and counted. Default: a quarter of the free memory, at most 2G."},
    {"functions", 0, "FILE", NULL, OPTION_AT_START,
     "Functions of any library, by name, one a line, that become spans at library level."},
    {"sample-rate", 0, "HZ", NULL, OPTION_AT_START,
     "Samples of each thread a second of its time, at most 1000, by the tracer cpu: where time goes that is in no "
     "span. 0: "
     "none. Default: 99, of several level sets 0."},
    {"sample-mode", 0, "cpu|real", "real", OPTION_AT_START,
     "cpu: a thread's time on a CPU. real: also its waits of a millisecond and more, each with its kind."},
    OPTION_COUNTERS,
    OPTION_CALL_PATHS,
    {"cuda", 0, "KEY=VALUE,...", NULL, OPTION_AT_START, OPTION_CUDA_TEXT},
    {"aggregate", 0, NULL, NULL, 0,
     "Keep the calling context tree instead of spans: for each call path how often, how long, how many bytes. File and "
     "memory do not grow with the time that is recorded."},
    {"snapshot", 0, "SECONDS", "5", 0, "With --aggregate: how often the tree is written to the file."},
    {"resolve", 0, NULL, NULL, OPTION_AT_START | OPTION_BY_SPAN,
     "Where kernels launched in parallel have two possible parents: run once more, one launch after the other, and "
     "take the parents from there."},
    {"shapes", 0, NULL, NULL, OPTION_AT_START,
     "Shapes, types and values of the inputs of operators, of tracers that have them (PyTorch): for FLOPs from "
     "shapes."},
    {"pin-algorithms", 0, NULL, NULL, OPTION_AT_START,
     "Set the variables by which TensorFlow, MXNet and cuBLAS take the same algorithms in every process, so that level "
     "sets run the same kernels. Other frameworks have no such variable."},
    {"pid", 'p', "PID", NULL, 0,
     "Record a process that runs already, for --duration or until Ctrl-C; it goes on. It must be yours and have "
     "libxsp.so in it: linked, or by LD_PRELOAD. What it records is what its own spans say, from the next one on."},
    {"wait", 0, "program|all", "program", OPTION_AT_START,
     "program: be done when the program has ended. all: also wait for processes that it left running."},
    {"output", 'o', "FILE", NULL, 0,
     "The .xsp file to write; %h is the host, %p xsp's process number, %q{NAME} a variable of the environment, %% a "
     "percent sign. Default: the program's or script's name, in the current folder."},
    {"json", 0, "FILE", NULL, 0,
     "Write what the summary says to this file as JSON: the cause, the share of the program's time that is in "
     "observations, the lines with most time."},
    OPTION_FORCE,
    OPTIONS_PUBLISH("Send the spans too, to an xsp serve while the program runs, else when the file is complete,"),
    OPTION_REMOTE_CONTROL,
    {0},
};

static const struct verb_example examples[] = {
    {"xsp run -- python3 infer.py", "one execution with everything that its libraries announce"},
    {"xsp run --leveled -- ./program --its-option", "the same at several level sets: what each level costs"},
    {"mpirun xsp run -o out.%q{OMPI_COMM_WORLD_RANK}.xsp -- python3 train.py", "a file for each rank"},
    {"xsp run --pid 4711 --duration 10", "ten seconds of a service that has libxsp.so in it"},
    {0},
};

struct request {
  const struct invocation *invocation;
  struct arena arena;
  struct run_experiment_options experiment;
  struct publisher *publisher; // NULL: without --publish
  struct span_stream *stream;  // NULL: nothing is sent while the program runs
  struct control *control;     // NULL: without --remote-control
};

// ---- options --------------------------------------------------------------------------------------------------------------
// Metrics are tags of spans, and the tracer learns at the program's start that they are wanted.
static enum status check_metrics(const struct request *request, struct error *err)
{
  const struct run_experiment_options *experiment = &request->experiment;
  bool has_metrics = false;
  for (size_t i = 0; i < experiment->set_count; i++)
    has_metrics |= experiment->sets[i].metrics;
  const char *other = experiment->aggregate ? "--aggregate" : "--pid";
  return !has_metrics || !(experiment->aggregate || invocation_has(request->invocation, "pid"))
             ? STATUS_OK
             : error_set(err, STATUS_USE, "wrong use", other, "one of the two", "it does not go with hardware metrics");
}

static enum status fill_sets(struct request *request, struct error *err)
{
  struct run_experiment_options *experiment = &request->experiment;
  const char *given = invocation_value(request->invocation, "levels");
  experiment->serialize = invocation_has(request->invocation, "serialize");
  bool is_leveled = experiment->serialize || invocation_has(request->invocation, "leveled");
  experiment->sets_are_given = given != NULL;
  if (given == NULL) // leveled: the first execution finds out which sets have spans
    given = is_leveled ? "M,M/L,M/L/K" : "A/M/L/Lib/K";
  XSP_TRY(option_level_sets(given, experiment->sets, RUN_SETS_MAXIMUM, &experiment->set_count, err));
  if (experiment->serialize && experiment->sets_are_given)
    XSP_TRY(option_add_serial_set(experiment->sets, RUN_SETS_MAXIMUM, &experiment->set_count, err));
  bool has_metrics = false;
  for (const char *const *tracer = experiment->run.tracers; *tracer != NULL; tracer++)
    has_metrics |= launch_tracer_has_metrics(*tracer);
  experiment->run.cuda = invocation_value(request->invocation, "cuda");
  size_t before = experiment->set_count;
  XSP_TRY(option_metric_sets(experiment->run.cuda, has_metrics, experiment->sets, RUN_SETS_MAXIMUM,
                             &experiment->set_count, err));
  XSP_TRY(check_metrics(request, err));
  experiment->metrics = experiment->set_count > before;
  is_leveled = is_leveled || experiment->set_count > 1;
  experiment->runs = is_leveled ? LEVELED_RUNS : 1;
  experiment->warmups = is_leveled ? LEVELED_WARMUPS : 0;
  XSP_TRY(invocation_unsigned(request->invocation, "runs", 1, 1000000, &experiment->runs, err));
  return invocation_unsigned(request->invocation, "warmup", 0, 1000000, &experiment->warmups, err);
}

static enum status fill_ranges(struct request *request, struct error *err)
{
  const struct invocation *invocation = request->invocation;
  struct launch_options *run = &request->experiment.run;
  run->model_range = invocation_value(invocation, "model-range");
  run->capture_range = invocation_value(invocation, "capture-range");
  if ((run->model_range != NULL && run->model_range[0] == '\0') ||
      (run->capture_range != NULL && run->capture_range[0] == '\0'))
    return error_set(err, STATUS_USE, "wrong use", run->model_range != NULL ? "--model-range" : "--capture-range",
                     "a pattern such as 'step*'", "the pattern is empty");
  XSP_TRY(invocation_double(invocation, "delay", 0, 1e9, &run->delay_s, err));
  XSP_TRY(invocation_double(invocation, "duration", 0, 1e9, &run->duration_s, err));
  if (run->capture_range != NULL && (run->delay_s > 0 || run->duration_s > 0))
    return error_set(err, STATUS_USE, "wrong use", "--capture-range", "one of the two",
                     "a range and --delay or --duration both choose when to record");
  const char *whom = invocation_value(invocation, "wait");
  run->wait_all = strcmp(whom, "all") == 0;
  return STATUS_OK;
}

static enum status fill_functions(struct request *request, struct error *err)
{
  const char *path = invocation_value(request->invocation, "functions");
  if (path == NULL)
    return STATUS_OK;
  char real[PATH_MAX]; // the program, and what it starts, may be elsewhere
  if (realpath(path, real) == NULL || access(real, R_OK) != 0)
    return error_set_errno(err, STATUS_USE, "cannot read the list of functions", path, "another path");
  XSP_TRY(functions_file_check(path, err));
  request->experiment.run.functions = arena_copy(&request->arena, real, strlen(real));
  return STATUS_OK;
}

static enum status fill_output(struct request *request, struct error *err)
{
  struct run_experiment_options *experiment = &request->experiment;
  const char *pattern = invocation_value(request->invocation, "output");
  if (pattern != NULL)
    XSP_TRY(file_name_expand(pattern, &request->arena, &experiment->output_path, err));
  else
    experiment->output_path = file_name_default(experiment->run.command, &request->arena);
  experiment->force = invocation_has(request->invocation, "force");
  return file_place_check(experiment->output_path, experiment->force, err); // before the program runs, not after
}

// As typed, for a person: arguments joined by spaces.
static const char *command_line(struct request *request)
{
  struct buf text SCOPED(buf_done) = {0};
  buf_text(&text, "xsp run");
  for (size_t i = 0; i < request->invocation->option_count; i++) {
    const struct invocation_option *option = &request->invocation->options[i];
    buf_format(&text, option->value != NULL ? " --%s %s" : " --%s", option->description->name, option->value);
  }
  if (request->invocation->argument_count > 0)
    buf_text(&text, " --");
  for (size_t i = 0; i < request->invocation->argument_count; i++)
    buf_format(&text, " %s", request->invocation->arguments[i]);
  return arena_copy(&request->arena, text.data, text.length);
}

// A program to start, or one that runs; options that a start needs do not go with the second.
static enum status fill_program(struct request *request, struct error *err)
{
  const struct invocation *invocation = request->invocation;
  struct launch_options *run = &request->experiment.run;
  run->command = (char *const *)invocation->arguments; // NULL-terminated, argv's own strings
  if (!invocation_has(invocation, "pid"))
    return invocation->argument_count > 0 ? STATUS_OK
                                          : error_set(err, STATUS_USE, "wrong use", "run",
                                                      "xsp run -- COMMAND, or --pid PID", "its arguments are missing");
  unsigned process_id = 0;
  XSP_TRY(invocation_unsigned(invocation, "pid", 1, INT_MAX, &process_id, err));
  if (invocation->argument_count > 0)
    return error_set(err, STATUS_USE, "wrong use", "--pid", "one of the two", "a command and a process are given");
  const char *at_start = invocation_flagged(invocation, OPTION_AT_START);
  if (at_start != NULL)
    return error_set(err, STATUS_USE, "wrong use", "--pid", "without it, or xsp run -- COMMAND",
                     "--%s acts on a program's start", at_start);
  if (request->experiment.set_count > 1)
    return error_set(err, STATUS_USE, "wrong use", "--pid", "one level set", "a running program is not repeated");
  run->process_id = (pid_t)process_id;
  run->command = attach_command(run->process_id, &request->arena);
  return run->command != NULL
             ? STATUS_OK
             : error_set(err, STATUS_INPUT, "cannot attach to the process", invocation_value(invocation, "pid"),
                         "its number, as ps shows it", "there is no such process");
}

static enum status fill_aggregate(struct request *request, struct error *err)
{
  struct run_experiment_options *experiment = &request->experiment;
  experiment->aggregate = invocation_has(request->invocation, "aggregate");
  if (!experiment->aggregate)
    return STATUS_OK;
  const char *by_span = invocation_flagged(request->invocation, OPTION_BY_SPAN);
  if (by_span != NULL)
    return error_set(err, STATUS_USE, "wrong use", "--aggregate", "one of the two",
                     "--%s needs spans, which --aggregate does not keep", by_span);
  return invocation_double(request->invocation, "snapshot", 0.1, 1e6, &experiment->run.commit_s, err);
}

static enum status fill(struct request *request, struct error *err)
{
  struct run_experiment_options *experiment = &request->experiment;
  if (!invocation_has(request->invocation, "quiet")) {
    experiment->message = output_message;
    experiment->progress = isatty(STDERR_FILENO) == 1 ? output_progress : output_progress_line;
  }
  experiment->warning = output_message;
  experiment->run.pin_algorithms = invocation_has(request->invocation, "pin-algorithms");
  experiment->run.shapes = invocation_has(request->invocation, "shapes");
  experiment->resolve = invocation_has(request->invocation, "resolve");
  experiment->run.call_paths = invocation_value(request->invocation, "call-paths");
  XSP_TRY(fill_aggregate(request, err));
  XSP_TRY(fill_functions(request, err));
  XSP_TRY(run_tracers(request->invocation, &request->arena, experiment, err));
  XSP_TRY(fill_sets(request, err));
  XSP_TRY(run_sampling(request->invocation, experiment, err));
  XSP_TRY(fill_program(request, err));
  experiment->run.counters = invocation_value(request->invocation, "counters");
  XSP_TRY(launch_check_span_counters(experiment->run.counters, output_message, err));
  XSP_TRY(fill_ranges(request, err));
  XSP_TRY(invocation_bytes(request->invocation, "flight-recorder", 64 << 10, UINT64_C(2) << 30,
                           &experiment->run.flight_recorder_bytes, err));
  XSP_TRY(invocation_bytes(request->invocation, "memory-limit", 1 << 20, UINT64_C(1) << 40,
                           &experiment->run.memory_limit_bytes, err));
  experiment->command_line = command_line(request);
  struct chosen_tracers tracers; // a wrong name is wrong use, reported before a file is made
  struct launch_options everything = experiment->run;
  everything.levels = (struct level_set){.mask = XSP_LEVEL_MASK_ALL};
  XSP_TRY(launch_tracers_choose(&everything, &request->arena, &tracers, err));
  XSP_TRY(fill_output(request, err));
  XSP_TRY(run_json_check(request->invocation, err));
  XSP_TRY(publish_options(request->invocation, &request->publisher, err));
  experiment->run.hands_trace = request->publisher != NULL; // else the server never gets the program's span
  if (experiment->set_count * experiment->runs + experiment->warmups == 1 && !experiment->resolve &&
      !experiment->aggregate && experiment->run.flight_recorder_bytes == 0)
    XSP_TRY(span_stream_open(request->invocation, request->publisher, false, &request->stream, err));
  experiment->run.hand_on = request->stream == NULL ? NULL : span_stream_hand_on;
  experiment->run.hand_on_context = request->stream;
  return run_control(request->invocation, request->publisher, experiment, &request->arena, &request->control, err);
}

// ---- the end --------------------------------------------------------------------------------------------------------------
static int exit_status_of(enum status status)
{
  return status == STATUS_USE || status == STATUS_INPUT ? WRONG_USE : status_exit_code(status);
}

// xsp's own failure shows only where the program succeeded.
static int leave(enum status status, const struct run_experiment_result *result, const struct error *err)
{
  if (status != STATUS_OK && err->what[0] != '\0')
    output_error(err);
  if (result->first.cannot_exec)
    return CANNOT_EXECUTE;
  if (!result->first.was_started)
    return exit_status_of(status);
  int own = status == STATUS_OK ? result->exit_status : launch_exit_status(result->first.wait_status);
  return status != STATUS_OK && own == 0 ? status_exit_code(STATUS_SYSTEM) : own;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct request request = {.invocation = invocation};
  struct run_experiment_result result = {0};
  struct error own_err = {0};
  process_prepare();
  enum status status = fill(&request, &own_err);
  if (status == STATUS_OK)
    status = experiment_run(&request.experiment, &result, &own_err);
  publish_control_close(request.control);
  if (status == STATUS_OK && !invocation_has(invocation, "quiet"))
    status = run_print_summary(&request.experiment, &result, &own_err);
  if (status == STATUS_OK)
    status = run_json_write(invocation, &request.experiment, &result, &own_err);
  if (status == STATUS_OK)
    span_stream_after(request.stream, request.publisher, result.store);
  int exit_status = leave(status, &result, &own_err);
  span_stream_close(request.stream);
  publish_close(request.publisher);
  store_close(result.store);
  arena_done(&request.arena);
  if (result.was_interrupted && exit_status == 128 + SIGINT)
    output_leave_interrupted();
  exit(exit_status); // the program's status is none of ours
}

const struct verb verb_run = {
    .name = "run",
    .summary = "trace any program, unmodified",
    .synopsis = "[OPTION...] {-- COMMAND [ARGUMENT...] | --pid PID}",
    .description =
        "Starts the program with tracers inside, in it and in the processes that it starts, and writes an .xsp file: "
        "what its libraries announce (NVTX, ITT), run (PyTorch, JAX, TensorFlow, ONNX Runtime) and launch on devices "
        "(CUDA, OpenCL), and samples of its threads; docs/tracers.md lists all. The program keeps its terminal, input, "
        "output and signals; Ctrl-C ends it and keeps what was recorded. Tables come on stderr when it has ended, "
        "nothing is written to stdout.\n\n"
        "Exit status: the program's own, or 128 and the number of the signal that ended it; 127 where it cannot be "
        "started, 125 for wrong use of xsp run, 3 where the program ended with 0 and xsp failed.\n\n"
        "With --leveled the program runs several times: its first execution has your terminal, the others read the "
        "same input where it is a file or a pipe, and what they print is dropped.",
    .least_arguments = 0, // with --pid
    .most_arguments = SIZE_MAX,
    .options = options,
    .takes_command = true,
    .wrong_use_status = WRONG_USE,
    .examples = examples,
    .see_also = "profile, check, recover",
    .run = run,
};
