// SPDX-License-Identifier: Apache-2.0
// Drains a capture session while the program runs, in a thread of its own, which sleeps until there is much to collect.
#ifndef XSP_LAUNCH_DRAINING_H
#define XSP_LAUNCH_DRAINING_H

#include "base/vector.h"
#include "collect/collect.h"
#include "launch/counters.h"
#include "launch/execution.h"

#include <pthread.h>

struct draining_switch { // levels that changed while the program ran
  int64_t time_ns;       // Unix epoch
  uint32_t level_mask;
};

struct draining { // begin with the first five set, the rest zero
  const struct launch_options *options;
  struct collect_session *session;
  struct store *store;
  int64_t run_id;
  struct error *err;
  enum status status; // sticky: after a failure nothing is drained any more. Not read while the thread runs
  int64_t started_ns, drained_ns, committed_ns; // monotonic
  uint32_t level_mask_in_force;
  uint32_t wanted_mask; // of options->wanted_mask, last
  VECTOR(struct draining_switch) switches;
  struct counters counters;
  int given_policy; // of the scheduler
  bool is_gentle;
  bool has_thread;
  bool is_over; // atomic
  pthread_t thread;
};

// Before the program starts: its start is now. The session notes the file's name, for `xsp recover`.
enum status draining_prepare(struct draining *draining) MUST_CHECK;
// Once the program is there, whose counters are read. Before the start.
void draining_set_program(struct draining *draining, pid_t program);
// Session and store are the thread's from here to the stop. False: no thread, and errno. All signals must be blocked that
// somebody waits for.
bool draining_start(struct draining *draining);
void draining_stop(struct draining *draining);
// What the thread does each time, for a caller without it: switches levels, drains where it is worth it. Returns after how
// long to look again, in ns.
int64_t draining_look(struct draining *draining);
void draining_end(struct draining *draining); // after the last look
// Of all the time: as messages of the span `span_id`.
enum status draining_record_switches(const struct draining *draining, int64_t span_id, struct error *err) MUST_CHECK;
void draining_free(struct draining *draining);
#endif
