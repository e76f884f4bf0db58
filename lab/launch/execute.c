// SPDX-License-Identifier: Apache-2.0
// One execution: makes a session, starts the program in it, drains meanwhile, publishes the program's span at the end.
// Called by experiment/. Failures while the program runs never reach it: draining stops, and the error is returned
// after its end.
#include "launch/execution.h"

#include "base/clock.h"
#include "base/debug.h"
#include "base/map.h"
#include "base/proc.h"
#include "collect/collect.h"
#include "launch/attach.h"
#include "launch/draining.h"
#include "launch/environment.h"
#include "launch/file_name.h"
#include "launch/functions.h"
#include "launch/libraries.h"
#include "launch/process.h"
#include "launch/profiles.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define WAIT_ALL_LOOK_NS 50000000           // for processes whose end is not signalled
#define FLIGHT_RECORD_BYTES 32              // of a record in a ring
#define PATIENT_RECORDS (UINT32_C(1) << 19) // 16 MiB: where commits are apart, smaller rings grow
#define FORKED_MOST 1024                    // that are counted

extern char **environ;

struct capture {
  const struct launch_options *options;
  struct store *store;
  struct store_run *run;
  struct launch_result *result;
  struct collect_session *session;
  struct executable program;
  struct process process;
  struct attached attached;     // options->process_id: instead of a start
  struct collect_counts before; // of its session, where that was adopted
  struct draining draining;
  struct arena arena;
  struct error *err;
};

int launch_exit_status(int wait_status)
{
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void accompany(struct capture *capture)
{
  draining_set_program(&capture->draining, capture->process.process);
  bool has_thread = draining_start(&capture->draining); // else here, between waits
  struct libraries libraries = {0};
  while (!capture->process.has_ended) {
    int64_t look_ns = libraries_look(&libraries, capture->process.process);
    int64_t drain_ns = has_thread ? INT64_MAX : draining_look(&capture->draining);
    process_wait(&capture->process, look_ns < drain_ns ? look_ns : drain_ns);
  }
  capture->result->frameworks = libraries.found;
  draining_stop(&capture->draining);
}

// As accompany, a program that was not started here: to its end, to the end of --duration, or until xsp is interrupted.
static enum status accompany_attached(struct capture *capture)
{
  const struct launch_options *options = capture->options;
  struct process *process = &capture->process;
  enum status status = STATUS_OK;
  int64_t most_ns = options->duration_s > 0 ? (int64_t)((options->delay_s + options->duration_s) * 1e9) : INT64_MAX;
  draining_set_program(&capture->draining, process->process);
  bool has_thread = draining_start(&capture->draining), has_joined = false;
  do {
    attach_wait(&capture->attached, process, has_thread ? SECOND_NS / 10 : draining_look(&capture->draining));
    if (!has_joined)
      status = attach_check(&capture->attached, collect_directory(capture->session), &has_joined, capture->err);
  } while (status == STATUS_OK && !process->has_ended && !process->was_interrupted &&
           process->end_ns - process->start_ns < most_ns);
  draining_stop(&capture->draining);
  capture->result->goes_on = !process->has_ended;
  return status;
}

// Processor time of xsp so far: drains, and the looks between them. What is drained before the program begins and when it
// has ended takes nothing from it.
static uint64_t own_ns(void)
{
  return clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

// ---- processes -----------------------------------------------------------------------------------------------------------------
struct processes {
  unsigned joined, living; // living: although the program has ended
  bool has_program;        // the program itself joined
};

// Process images become processes: an exec makes another image of the same number.
static struct processes count_processes(const struct capture *capture)
{
  struct processes counts = {0, 0, false};
  struct collect_process process;
  struct map joined SCOPED(map_done) = {0}, living SCOPED(map_done) = {0};
  size_t cursor = 0;
  while (collect_process(capture->session, &cursor, &process)) {
    bool is_program = process.process_id == capture->process.process;
    counts.has_program |= is_program;
    (void)map_at(&joined, map_number((uint64_t)process.process_id), NULL);
    if (!is_program && !process.has_ended && proc_lives((pid_t)process.process_id, process.start_ns))
      (void)map_at(&living, map_number((uint64_t)process.process_id), NULL);
  }
  pid_t numbers[FORKED_MOST]; // forked ones join with their first span, which for these has not come yet
  size_t forked = collect_is_alone(capture->session)
                      ? 0
                      : proc_in(collect_directory(capture->session), PROC_GIVEN | PROC_MAPPED, numbers, FORKED_MOST);
  for (size_t i = 0; i < forked; i++) {
    if (numbers[i] == capture->process.process)
      continue;
    (void)map_at(&joined, map_number((uint64_t)numbers[i]), NULL);
    (void)map_at(&living, map_number((uint64_t)numbers[i]), NULL);
  }
  counts.joined = (unsigned)joined.count;
  counts.living = (unsigned)living.count;
  return counts;
}

// No subreaper: a daemon would see xsp where it waits to be adopted by process 1. Who has the session in its
// environment is waited for; a second look finds what was forked during the first.
static void wait_for_others(struct capture *capture)
{
  unsigned looks_left = capture->options->wait_all ? 2 : 0;
  const struct timespec pause_time = {0, WAIT_ALL_LOOK_NS};
  while (looks_left > 0 && !process_is_asked_to_end(&capture->process)) {
    (void)draining_look(&capture->draining);
    pid_t one;
    bool is_alone =
        proc_in(collect_directory(capture->session), PROC_GIVEN, &one, 1) == 0 && count_processes(capture).living == 0;
    looks_left = is_alone ? looks_left - 1 : 2;
    if (looks_left > 0)
      (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause_time, NULL);
  }
  draining_end(&capture->draining);
}

// ---- the end ---------------------------------------------------------------------------------------------------------------------
// A line, or several; what does not fit is cut.
__attribute__((format(printf, 2, 3))) static void add_message(struct launch_result *result, const char *format, ...)
{
  size_t used = strlen(result->messages), start = used + (used > 0);
  if (start >= sizeof result->messages)
    return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(result->messages + start, sizeof result->messages - start, format, arguments);
  va_end(arguments);
  size_t end = start + strlen(result->messages + start);
  while (end > start && result->messages[end - 1] == '\n')
    result->messages[--end] = '\0';
  if (used > 0 && end > start)
    result->messages[used] = '\n';
}

static void explain_counts(struct capture *capture, const struct collect_counts *counts)
{
  if (collect_overwrites(capture->session) && counts->overwritten > 0)
    add_message(capture->result, "xsp: %" PRIu64 " older records were overwritten, as a flight recorder does",
                counts->overwritten);
  if (counts->clock_step_ns != 0)
    add_message(capture->result,
                "xsp: the wall clock was set by %" PRId64 " ns meanwhile; times follow the clock as it was at first",
                counts->clock_step_ns);
}

static void explain_absence(struct capture *capture, bool has_program)
{
  if (has_program)
    return;
  if (capture->options->process_id != 0) {
    add_message(capture->result,
                "xsp: the process did not join the session: it began no span while xsp waited for one");
    return;
  }
  const char *why = executable_why(capture->program.kind);
  bool has_others = capture->result->processes > 0;
  if (why == NULL)
    why = has_others ? "it became another program before it could, or cleared its environment"
                     : "its loader did not bring libxsp.so in, or it saw no session folder";
  add_message(capture->result, "xsp: the program itself did not join the session: %s%s", why,
              has_others ? "; processes that it started did" : "");
}

static enum status add_program(struct capture *capture)
{
  char name[256];
  file_name_program(capture->options->command, name, sizeof name);
  const struct collect_outside_span span = {.process_id = capture->process.process,
                                            .start_ns = capture->process.start_ns,
                                            .end_ns = capture->process.end_ns,
                                            .level = XSP_LEVEL_APPLICATION,
                                            .name = name,
                                            .category = "program",
                                            .tracer = "xsp"};
  return collect_add_span(capture->session, capture->store, capture->run->run_id, &span, &capture->result->span_id,
                          capture->err);
}

static void fill_result(struct capture *capture)
{
  struct launch_result *result = capture->result;
  struct collect_counts counts;
  collect_counts(capture->session, &counts);
  counts.overwritten -= capture->before.overwritten;
  counts.dropped -= capture->before.dropped;
  counts.lost -= capture->before.lost;
  counts.misused -= capture->before.misused;
  result->spans = counts.spans;
  // A flight recorder is meant to overwrite.
  uint64_t overwritten = collect_overwrites(capture->session) ? 0 : counts.overwritten;
  result->dropped = counts.dropped + counts.lost + overwritten;
  result->open = counts.open;
  capture->run->dropped_count = (int64_t)result->dropped;
  capture->run->misused_count = (int64_t)counts.misused;
  struct processes processes = count_processes(capture);
  result->processes = processes.joined;
  result->left_running = processes.living;
  const char *messages = collect_messages(capture->session, &capture->arena);
  if (capture->options->functions != NULL)
    messages = functions_file_put_together(capture->options->functions, messages, &capture->arena);
  add_message(result, "%s", messages);
  explain_counts(capture, &counts);
  explain_absence(capture, processes.has_program);
}

// What frameworks recorded themselves. Folding takes spans one by one: whole profiles are none.
static enum status add_profiles(struct capture *capture)
{
  const char *why = NULL;
  if (capture->options->commit_s > 0 || capture->options->process_id != 0)
    return STATUS_OK;
  XSP_TRY(launch_profiles_add(collect_directory(capture->session), capture->store, capture->run, &capture->arena, &why,
                              capture->err));
  if (why != NULL)
    add_message(capture->result, "xsp: %s", why);
  return STATUS_OK;
}

static enum status finish(struct capture *capture)
{
  XSP_TRY(capture->draining.status);
  collect_set_levels(capture->session, 0); // for those that run on
  XSP_TRY(collect_drain_final(capture->session, capture->store, capture->run->run_id, capture->err));
  XSP_TRY(add_program(capture));
  XSP_TRY(add_profiles(capture)); // whose tracks are of the ranks that the processes have by then
  XSP_TRY(counters_finish(&capture->draining.counters, capture->err));
  XSP_TRY(draining_record_switches(&capture->draining, capture->result->span_id, capture->err));
  return collect_commit(capture->session, capture->store, capture->err);
}

// ---- the beginning ------------------------------------------------------------------------------------------------------------------
static enum status start_program(struct capture *capture, const struct chosen_tracers *tracers)
{
  const struct launch_options *options = capture->options;
  char **environment = NULL;
  char traceparent[XSP_TRACEPARENT_SIZE];
  collect_traceparent(capture->session, traceparent);
  executable_look(options->command[0], &capture->program);
  XSP_TRY(environment_make(options, tracers, &capture->program, collect_directory(capture->session),
                           options->hands_trace ? traceparent : NULL, environ, &capture->arena, &environment,
                           capture->err));
  XSP_TRY(draining_prepare(&capture->draining));
  DEBUG(launch, "start %s in %s, executable kind %d of %s", options->command[0], collect_directory(capture->session),
        (int)capture->program.kind, capture->program.path);
  return process_start(options->command, environment, &capture->process, &capture->result->cannot_exec, capture->err);
}

// The session of a process that was recorded before. What it counted until now is in that recording's file.
static enum status adopt(struct capture *capture)
{
  XSP_TRY(collect_adopt(capture->attached.session, &capture->session, capture->err));
  collect_counts(capture->session, &capture->before);
  if (collect_is_empty(capture->session))
    return STATUS_OK;
  char advice[128];
  snprintf(advice, sizeof advice, "xsp recover %.80s -o OUT.xsp, then again", collect_directory(capture->session));
  return error_set(capture->err, STATUS_INPUT, "cannot attach to the process", collect_directory(capture->session),
                   advice, "its session holds spans that were never read: the xsp that recorded it was killed");
}

static enum status start(struct capture *capture)
{
  const struct launch_options *options = capture->options;
  struct chosen_tracers tracers;
  const struct collect_options session = {
      .level_mask =
          options->process_id == 0 ? options->levels.mask : XSP_LEVEL_MASK_ALL, // a later --pid may want others
      .ring_records = (uint32_t)(options->flight_recorder_bytes / FLIGHT_RECORD_BYTES),
      .memory_limit = options->memory_limit_bytes,
      .flight_recorder = options->flight_recorder_bytes != 0,
      .patient_records = options->commit_s > 0 ? PATIENT_RECORDS : 0,
  };
  process_prepare(); // before the session's mappings are guarded by a handler
  if (options->process_id == 0)
    XSP_TRY(launch_tracers_choose(options, &capture->arena, &tracers, capture->err));
  else
    XSP_TRY(attach_open(options->process_id, &capture->attached, capture->err));
  if (capture->attached.session[0] == '\0')
    XSP_TRY(collect_create(&session, &capture->session, capture->err));
  else
    XSP_TRY(adopt(capture));
  if (options->capture_range != NULL)
    collect_set_levels(capture->session, 0);
  capture->draining = (struct draining){.options = options,
                                        .session = capture->session,
                                        .store = capture->store,
                                        .run_id = capture->run->run_id,
                                        .err = capture->err};
  if (options->process_id == 0)
    return start_program(capture, &tracers);
  collect_set_levels(capture->session, options->levels.mask);
  XSP_TRY(draining_prepare(&capture->draining));
  return attach_begin(&capture->attached, collect_directory(capture->session), &capture->process, capture->err);
}

enum status launch_execute(const struct launch_options *options, struct store *store, struct store_run *run,
                           struct launch_result *ret_result, struct error *err)
{
  struct capture capture = {.options = options,
                            .store = store,
                            .run = run,
                            .result = ret_result,
                            .err = err,
                            .attached = {.handle = -1, .lock = -1}};
  *ret_result = (struct launch_result){0};
  bool may_adopt = false; // by a later --pid
  enum status status = start(&capture);
  if (status == STATUS_OK) {
    uint64_t before_ns = own_ns();
    ret_result->was_started = true;
    if (options->process_id == 0)
      accompany(&capture);
    else
      status = accompany_attached(&capture);
    ret_result->own_ns = own_ns() - before_ns;
    wait_for_others(&capture);
    if (options->process_id == 0)
      process_done(&capture.process);
    ret_result->wait_status = capture.process.wait_status;
    // Ctrl-C is how the recording of a program that goes on is meant to end.
    ret_result->was_interrupted = capture.process.was_interrupted && options->process_id == 0;
    ret_result->start_ns = capture.process.start_ns;
    ret_result->end_ns = capture.process.end_ns;
    bool is_in = options->process_id != 0 && attach_withdraw(&capture.attached);
    may_adopt = is_in && ret_result->goes_on;
    if (status == STATUS_OK)
      status = finish(&capture);
    fill_result(&capture);
  }
  attach_close(&capture.attached);
  bool is_kept = ret_result->was_started && status != STATUS_OK; // the rings are all that is left of the execution
  if (is_kept && err != NULL)
    snprintf(err->advice, sizeof err->advice, "xsp recover %.150s -o another path", collect_directory(capture.session));
  may_adopt = may_adopt && status == STATUS_OK;
  bool was_refused = !ret_result->was_started && capture.attached.session[0] != '\0' && capture.session != NULL;
  if (may_adopt || (was_refused && collect_is_empty(capture.session)))
    collect_keep(capture.session);
  collect_close(capture.session, !is_kept && !may_adopt && !was_refused);
  draining_free(&capture.draining);
  arena_done(&capture.arena);
  return status;
}
