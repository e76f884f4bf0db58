// SPDX-License-Identifier: Apache-2.0
// One execution: makes a session, starts the program in it, drains meanwhile, publishes the program's span at the end.
// Called by experiment/. Failures while the program runs never reach it: draining stops, and the error is returned
// after its end.
#include "launch/execution.h"

#include "base/clock.h"
#include "base/debug.h"
#include "base/map.h"
#include "collect/collect.h"
#include "launch/environment.h"
#include "launch/file_name.h"
#include "launch/functions.h"
#include "launch/proc.h"
#include "launch/process.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
// Between two looks at the rings. The longest is what a ring takes of some 3 million records a second
// that begin without a warning; while they come, the look is where a ring is expected to be a third full.
#define LOOK_LEAST_NS 500000
#define LOOK_MOST_NS 20000000
#define DRAIN_AT 0.25             // of the fullest ring; below it a drain would cost more than it frees
#define HURRY_AT 0.1              // from here on draining must not wait for its turn
#define DRAIN_EVERY_NS SECOND_NS  // and at least so often, where anything waits
#define WAIT_ALL_LOOK_NS 50000000 // for processes whose end is not signalled
#define RING_RECORDS_PLENTY (UINT32_C(1) << 17)
#define PLENTY_BYTES (UINT64_C(1) << 30) // of shared memory
#define FLIGHT_RECORD_BYTES 32           // of a record in a ring

extern char **environ;

struct capture {
  const struct launch_options *options;
  struct store *store;
  struct store_run *run;
  struct launch_result *result;
  struct collect_session *session;
  struct executable program;
  struct process process;
  struct arena arena;
  int64_t started_ns, drained_ns, looked_ns; // monotonic
  double fullness;                           // at the last look
  uint32_t level_mask_in_force;
  int given_policy; // of the scheduler
  bool is_gentle;
  enum status status; // of draining; sticky
  struct error *err;
};

static int64_t now_ns(void)
{
  return (int64_t)clock_now_ns(CLOCK_MONOTONIC);
}

int launch_exit_status(int wait_status)
{
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

// ---- levels over time -----------------------------------------------------------------------------------------------------
static int64_t to_ns(double seconds)
{
  return seconds < 1e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 2;
}

// What is on so long after the start. Inside a capture range it is the tracers of annotations that switch.
static uint32_t wanted_levels(const struct capture *capture, int64_t since_start_ns, int64_t *ret_next_ns)
{
  const struct launch_options *options = capture->options;
  int64_t delay_ns = to_ns(options->delay_s), end_ns = INT64_MAX;
  if (options->duration_s > 0)
    end_ns = delay_ns + to_ns(options->duration_s);
  *ret_next_ns = since_start_ns < delay_ns ? delay_ns : since_start_ns < end_ns ? end_ns : INT64_MAX;
  return since_start_ns >= delay_ns && since_start_ns < end_ns ? options->levels.mask : 0;
}

// Returns how long until they change again.
static int64_t switch_levels(struct capture *capture)
{
  int64_t since_start_ns = now_ns() - capture->started_ns, next_ns = INT64_MAX;
  if (capture->options->capture_range != NULL)
    return INT64_MAX;
  uint32_t wanted = wanted_levels(capture, since_start_ns, &next_ns);
  if (wanted != capture->level_mask_in_force)
    collect_set_levels(capture->session, wanted);
  capture->level_mask_in_force = wanted;
  return next_ns == INT64_MAX ? INT64_MAX : next_ns - since_start_ns;
}

// ---- draining while the program runs --------------------------------------------------------------------------------------------
static void drain(struct capture *capture)
{
  if (capture->status == STATUS_OK)
    capture->status = collect_drain(capture->session, capture->store, capture->run->run_id, capture->err);
  if (capture->status == STATUS_OK)
    capture->status = collect_commit(capture->session, capture->store, capture->err);
  capture->drained_ns = now_ns();
}

// A gentle xsp takes its turn among the program's threads instead of cutting in when it wakes. Not SCHED_IDLE: nobody
// without rights comes back from it, and on a busy machine rings would fill meanwhile.
static void set_gentle(struct capture *capture, bool is_gentle)
{
  const struct sched_param parameter = {0};
  if (capture->is_gentle == is_gentle || capture->given_policy != SCHED_OTHER) // another one was chosen by the user
    return;
  capture->is_gentle = is_gentle;
  (void)sched_setscheduler(0, is_gentle ? SCHED_BATCH : SCHED_OTHER, &parameter);
}

// Looks, drains where it is worth it, returns when to look again.
static int64_t look(struct capture *capture)
{
  if (capture->options->flight_recorder_bytes != 0 || capture->status != STATUS_OK)
    return LOOK_MOST_NS;
  double before = capture->fullness, fullness = collect_fullness(capture->session);
  int64_t now = now_ns(), since_ns = now - capture->looked_ns;
  double per_ns = since_ns > 0 && fullness > before ? (fullness - before) / (double)since_ns : 0;
  capture->looked_ns = now;
  capture->fullness = fullness;
  set_gentle(capture, fullness < HURRY_AT);
  if (fullness >= DRAIN_AT || (fullness > 0 && now - capture->drained_ns >= DRAIN_EVERY_NS)) {
    drain(capture);
    fullness = capture->fullness = collect_fullness(capture->session);
    capture->looked_ns = now_ns();
  }
  double next_ns = per_ns > 0 ? (DRAIN_AT * 1.3 - fullness) / per_ns : (double)LOOK_MOST_NS;
  return next_ns < LOOK_LEAST_NS ? LOOK_LEAST_NS : next_ns > LOOK_MOST_NS ? LOOK_MOST_NS : (int64_t)next_ns;
}

static void accompany(struct capture *capture)
{
  set_gentle(capture, true);
  while (!capture->process.has_ended) {
    int64_t change_ns = switch_levels(capture), look_ns = look(capture);
    process_wait(&capture->process, change_ns < look_ns ? change_ns : look_ns);
  }
  set_gentle(capture, false);
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
  struct map joined = {0}, living = {0};
  size_t cursor = 0;
  while (collect_process(capture->session, &cursor, &process)) {
    bool is_program = process.process_id == capture->process.process;
    counts.has_program |= is_program;
    (void)map_at(&joined, map_number((uint64_t)process.process_id), NULL);
    if (!is_program && !process.has_ended && proc_lives((pid_t)process.process_id, process.start_ns))
      (void)map_at(&living, map_number((uint64_t)process.process_id), NULL);
  }
  counts.joined = (unsigned)joined.count;
  counts.living = (unsigned)living.count;
  map_done(&joined);
  map_done(&living);
  return counts;
}

// No subreaper: a daemon would see xsp where it waits to be adopted by process 1. Who has the session in its
// environment is waited for; a second look finds what was forked during the first.
static void wait_for_others(struct capture *capture)
{
  unsigned looks_left = capture->options->wait_all ? 2 : 0;
  const struct timespec pause_time = {0, WAIT_ALL_LOOK_NS};
  set_gentle(capture, true);
  while (looks_left > 0 && !process_is_asked_to_end(&capture->process)) {
    (void)look(capture);
    (void)switch_levels(capture);
    bool is_alone = count_processes(capture).living == 0 && !proc_any_in(collect_directory(capture->session));
    looks_left = is_alone ? looks_left - 1 : 2;
    if (looks_left > 0)
      (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause_time, NULL);
  }
  set_gentle(capture, false);
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
  if (capture->options->flight_recorder_bytes != 0 && counts->overwritten > 0)
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
  result->spans = counts.spans;
  // A flight recorder is meant to overwrite.
  uint64_t overwritten = capture->options->flight_recorder_bytes != 0 ? 0 : counts.overwritten;
  result->dropped = counts.dropped + counts.lost + overwritten;
  result->open = counts.open;
  capture->run->dropped_count = (int64_t)result->dropped;
  capture->run->misused_count = (int64_t)counts.misused;
  struct processes processes = count_processes(capture);
  result->processes = processes.joined;
  result->left_running = processes.living;
  const char *messages = collect_messages(capture->session, &capture->arena);
  if (capture->options->functions != NULL)
    messages = functions_put_together(capture->options->functions, messages, &capture->arena);
  add_message(result, "%s", messages);
  explain_counts(capture, &counts);
  explain_absence(capture, processes.has_program);
}

static enum status finish(struct capture *capture)
{
  XSP_TRY(capture->status);
  collect_set_levels(capture->session, 0); // for those that run on
  XSP_TRY(collect_drain_final(capture->session, capture->store, capture->run->run_id, capture->err));
  XSP_TRY(add_program(capture));
  return collect_commit(capture->session, capture->store, capture->err);
}

// ---- the beginning ------------------------------------------------------------------------------------------------------------------
// Rings are storage from their thread's first span on: twice the default where there is plenty, against drops while other
// programs keep the processors from us. 0: the default.
static uint32_t ring_records(const struct launch_options *options)
{
  struct statvfs room;
  if (options->flight_recorder_bytes != 0)
    return (uint32_t)(options->flight_recorder_bytes / FLIGHT_RECORD_BYTES);
  bool has_plenty = statvfs("/dev/shm", &room) == 0 && (uint64_t)room.f_bavail * room.f_frsize >= PLENTY_BYTES;
  return has_plenty ? RING_RECORDS_PLENTY : 0;
}

static enum status start(struct capture *capture)
{
  const struct launch_options *options = capture->options;
  struct chosen_tracers tracers;
  char **environment = NULL;
  const struct collect_options session = {
      .level_mask = options->levels.mask,
      .ring_records = ring_records(options),
      .flight_recorder = options->flight_recorder_bytes != 0,
  };
  capture->given_policy = sched_getscheduler(0);
  process_prepare(); // before the session's mappings are guarded by a handler
  XSP_TRY(tracers_choose(options, &capture->arena, &tracers, capture->err));
  XSP_TRY(collect_create(&session, &capture->session, capture->err));
  executable_look(options->command[0], &capture->program);
  XSP_TRY(environment_make(options, &tracers, &capture->program, collect_directory(capture->session), environ,
                           &capture->arena, &environment, capture->err));
  capture->level_mask_in_force = options->levels.mask;
  if (options->capture_range != NULL)
    collect_set_levels(capture->session, 0);
  capture->started_ns = now_ns();
  (void)switch_levels(capture);
  drain(capture); // nothing yet, but the session now records its file, for `xsp recover`
  XSP_TRY(capture->status);
  capture->looked_ns = capture->started_ns = now_ns();
  DEBUG(launch, "start %s in %s, executable kind %d of %s", options->command[0], collect_directory(capture->session),
        (int)capture->program.kind, capture->program.path);
  return process_start(options->command, environment, &capture->process, &capture->result->cannot_exec, capture->err);
}

enum status launch_execute(const struct launch_options *options, struct store *store, struct store_run *run,
                           struct launch_result *ret_result, struct error *err)
{
  struct capture capture = {.options = options, .store = store, .run = run, .result = ret_result, .err = err};
  *ret_result = (struct launch_result){0};
  enum status status = start(&capture);
  if (status == STATUS_OK) {
    uint64_t before_ns = own_ns();
    ret_result->was_started = true;
    accompany(&capture);
    ret_result->own_ns = own_ns() - before_ns;
    wait_for_others(&capture);
    process_done(&capture.process);
    ret_result->wait_status = capture.process.wait_status;
    ret_result->was_interrupted = capture.process.was_interrupted;
    ret_result->start_ns = capture.process.start_ns;
    ret_result->end_ns = capture.process.end_ns;
    status = finish(&capture);
    fill_result(&capture);
  }
  bool is_kept = ret_result->was_started && status != STATUS_OK; // the rings are all that is left of the execution
  if (is_kept && err != NULL)
    snprintf(err->advice, sizeof err->advice, "xsp recover %.150s -o another path", collect_directory(capture.session));
  collect_close(capture.session, !is_kept);
  arena_done(&capture.arena);
  return status;
}
