// SPDX-License-Identifier: Apache-2.0
// Draining while the program runs: when, by whom, at which priority. Called by execute.c.
#include "launch/draining.h"

#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)
#define LOOK_NS (SECOND_NS / 10)          // between two looks, where nobody wakes us
#define DRAIN_RECORDS 8192u               // below it a drain would cost more than it frees,
#define DRAIN_NS SECOND_NS                // except so long after the last one
#define DRAIN_LIVE_NS (SECOND_NS / 4)     // the same where somebody looks on
#define APART_NS (SECOND_NS / 1000)       // between two drains
#define HURRY_RECORDS (UINT64_C(1) << 20) // 32 MiB: from here on draining must not wait for its turn

static int64_t now_ns(void)
{
  return (int64_t)clock_now_ns(CLOCK_MONOTONIC);
}

// ---- levels over time -----------------------------------------------------------------------------------------------------
static int64_t to_ns(double seconds)
{
  return seconds < 1e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 2;
}

// What is on so long after the start. Inside a capture range it is the tracers of annotations that switch.
static uint32_t wanted_levels(const struct draining *draining, int64_t since_start_ns, int64_t *ret_next_ns)
{
  const struct launch_options *options = draining->options;
  int64_t delay_ns = to_ns(options->delay_s), end_ns = INT64_MAX;
  if (options->duration_s > 0)
    end_ns = delay_ns + to_ns(options->duration_s);
  *ret_next_ns = since_start_ns < delay_ns ? delay_ns : since_start_ns < end_ns ? end_ns : INT64_MAX;
  bool is_time = since_start_ns >= delay_ns && since_start_ns < end_ns;
  return is_time ? options->levels.mask & draining->wanted_mask : 0;
}

// What ends is off before the time that is noted, what begins is on after it: spans of a level lie in the times in which it was
// on, however long another program takes the CPU in between. One may begin while it is switched.
static void switch_to(struct draining *draining, uint32_t wanted)
{
  const uint32_t before = draining->level_mask_in_force, kept = before & wanted;
  if (kept != before)
    collect_set_levels(draining->session, kept);
  *vector_add(&draining->switches) = (struct draining_switch){(int64_t)clock_now_ns(CLOCK_REALTIME), wanted};
  if (wanted != kept)
    collect_set_levels(draining->session, wanted);
  draining->level_mask_in_force = wanted;
}

// Returns how long until they change again.
static int64_t switch_levels(struct draining *draining)
{
  int64_t since_start_ns = now_ns() - draining->started_ns, next_ns = INT64_MAX;
  if (draining->options->capture_range != NULL)
    return INT64_MAX;
  uint32_t wanted = wanted_levels(draining, since_start_ns, &next_ns);
  if (wanted != draining->level_mask_in_force)
    switch_to(draining, wanted);
  return next_ns == INT64_MAX ? INT64_MAX : next_ns - since_start_ns;
}

enum status draining_record_switches(const struct draining *draining, int64_t span_id, struct error *err)
{
  for (size_t i = 0; i < draining->switches.count; i++) {
    const struct draining_switch *one = &draining->switches.items[i];
    char set[LEVEL_SET_TEXT_SIZE], message[LEVEL_SET_TEXT_SIZE + 16];
    level_mask_format(one->level_mask, set);
    int length = snprintf(message, sizeof message, "levels on: %s", set);
    XSP_TRY(store_add_log(draining->store, draining->run_id, span_id, one->time_ns, message, (size_t)length, err));
  }
  return STATUS_OK;
}

void draining_free(struct draining *draining)
{
  vector_done(&draining->switches);
  counters_free(&draining->counters);
}

// ---- draining --------------------------------------------------------------------------------------------------------------
static void drain(struct draining *draining)
{
  if (draining->status == STATUS_OK)
    draining->status = collect_drain(draining->session, draining->store, draining->run_id, draining->err);
  draining->drained_ns = now_ns();
  if (draining->status != STATUS_OK ||
      draining->drained_ns - draining->committed_ns < to_ns(draining->options->commit_s))
    return;
  draining->status = collect_commit(draining->session, draining->store, draining->err);
  draining->committed_ns = draining->drained_ns;
}

// A gentle xsp takes its turn among the program's threads instead of cutting in when it wakes. Not SCHED_IDLE: nobody
// without rights comes back from it, and on a busy machine rings would fill meanwhile.
static void set_gentle(struct draining *draining, bool is_gentle)
{
  const struct sched_param parameter = {0};
  if (draining->is_gentle == is_gentle || draining->given_policy != SCHED_OTHER) // another one was chosen by the user
    return;
  draining->is_gentle = is_gentle;
  (void)sched_setscheduler(0, is_gentle ? SCHED_BATCH : SCHED_OTHER, &parameter); // of this thread
}

// A piece at a time, between drains: rings come first.
static bool hand_on(const struct draining *draining)
{
  const struct launch_options *options = draining->options;
  return options->hand_on != NULL && options->hand_on(options->hand_on_context, draining->store, draining->run_id);
}

void draining_set_program(struct draining *draining, pid_t program)
{
  draining->counters = (struct counters){.store = draining->store, .run_id = draining->run_id, .program = program};
}

// Returns after how long to look again, at most `next_ns`.
static int64_t read_counters(struct draining *draining, int64_t next_ns)
{
  int64_t counters_ns = next_ns;
  if (draining->status == STATUS_OK)
    draining->status = counters_look(&draining->counters, &counters_ns, draining->err);
  return counters_ns < next_ns ? counters_ns : next_ns;
}

int64_t draining_look(struct draining *draining)
{
  const struct launch_options *options = draining->options;
  if (options->wanted_mask != NULL)
    draining->wanted_mask = options->wanted_mask(options->wanted_context);
  int64_t next_ns = switch_levels(draining);
  next_ns = read_counters(draining, next_ns < LOOK_NS ? next_ns : LOOK_NS);
  if (collect_overwrites(draining->session) || draining->status != STATUS_OK)
    return next_ns;
  bool is_half_full;
  uint64_t waiting = collect_waiting(draining->session, &is_half_full);
  set_gentle(draining, waiting < HURRY_RECORDS);
  int64_t since_ns = now_ns() - draining->drained_ns;
  int64_t most_ns = options->hand_on != NULL ? DRAIN_LIVE_NS : DRAIN_NS;
  if (waiting < DRAIN_RECORDS && !is_half_full && (waiting == 0 || since_ns < most_ns))
    return hand_on(draining) ? APART_NS : next_ns;
  if (since_ns < APART_NS) { // rings that may not grow wake us often
    const struct timespec rest = {0, APART_NS - since_ns};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
  }
  drain(draining);
  bool is_more = draining->status == STATUS_OK && hand_on(draining);
  return is_more || collect_waiting(draining->session, &is_half_full) >= DRAIN_RECORDS ? APART_NS : next_ns;
}

static void *drain_until_over(void *context)
{
  struct draining *draining = context;
  while (!__atomic_load_n(&draining->is_over, __ATOMIC_ACQUIRE)) {
    collect_sleep(draining->session, draining_look(draining));
  }
  draining_end(draining);
  return NULL;
}

enum status draining_prepare(struct draining *draining)
{
  draining->given_policy = sched_getscheduler(0);
  draining->level_mask_in_force = draining->options->levels.mask;
  draining->wanted_mask = draining->options->wanted_mask != NULL ? draining->options->first_mask : XSP_LEVEL_MASK_ALL;
  draining->started_ns = now_ns();
  (void)switch_levels(draining);
  drain(draining); // nothing yet
  draining->started_ns = now_ns();
  return draining->status;
}

bool draining_start(struct draining *draining)
{
  int error = pthread_create(&draining->thread, NULL, drain_until_over, draining);
  draining->has_thread = error == 0;
  errno = error;
  return draining->has_thread;
}

void draining_stop(struct draining *draining)
{
  if (!draining->has_thread)
    return;
  __atomic_store_n(&draining->is_over, true, __ATOMIC_RELEASE);
  collect_wake(draining->session);
  (void)pthread_join(draining->thread, NULL);
  draining->has_thread = false;
}

void draining_end(struct draining *draining)
{
  set_gentle(draining, false);
}
