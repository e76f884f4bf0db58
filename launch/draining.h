// SPDX-License-Identifier: Apache-2.0
// Drains a capture session while the program runs, in a thread of its own, which sleeps until there is much to collect.
#ifndef XSP_LAUNCH_DRAINING_H
#define XSP_LAUNCH_DRAINING_H

#include "collect/collect.h"
#include "launch/execution.h"

#include <pthread.h>

struct draining { // begin with the first five set, the rest zero
  const struct launch_options *options;
  struct collect_session *session;
  struct store *store;
  int64_t run_id;
  struct error *err;
  enum status status; // sticky: after a failure nothing is drained any more. Not read while the thread runs
  int64_t started_ns, drained_ns, committed_ns; // monotonic
  uint32_t level_mask_in_force;
  int given_policy; // of the scheduler
  bool is_gentle;
  bool has_thread;
  bool is_over; // atomic
  pthread_t thread;
};

// Before the program starts: its start is now. The session notes the file's name, for `xsp recover`.
enum status draining_prepare(struct draining *draining) MUST_CHECK;
// Session and store are the thread's from here to the stop. False: no thread, and errno. All signals must be blocked that
// somebody waits for.
bool draining_start(struct draining *draining);
void draining_stop(struct draining *draining);
// What the thread does each time, for a caller without it: switches levels, drains where it is worth it. Returns after how
// long to look again, in ns.
int64_t draining_look(struct draining *draining);
void draining_end(struct draining *draining); // after the last look
#endif
