// SPDX-License-Identifier: Apache-2.0
// One variant at one level set while it is measured: a runner process and the capture session it publishes into.
#ifndef XSP_EXPERIMENT_LANE_H
#define XSP_EXPERIMENT_LANE_H

#include "collect/collect.h"
#include "launch/launch.h"

struct lane {
  struct runner runner;
  struct collect_session *session;
  struct collect_counts counted; // totals already assigned to runs
  struct counters counters;      // of the run that is measured
  double handed_on_s;            // progress_now_s of the last time that lane_hand_on did; 0: none yet
};

// Who gets spans while a lane is measured, if `hand_on` is not NULL. It returns whether more waits, which it gets at the next call.
struct lane_watcher {
  bool (*hand_on)(void *context, struct store *store, int64_t run_id);
  void *context;
};

// Starts the runner and waits until its model is open. `tracers`: XSP_TRACERS or NULL.
enum status lane_start(struct lane *lane, const struct runner_options *options, struct level_set levels,
                       const char *tracers, struct error *err) MUST_CHECK;
// The run that is measured from here to lane_end: counters are read between its inferences.
enum status lane_begin(struct lane *lane, struct store *store, const struct store_run *run,
                       struct error *err) MUST_CHECK;
enum status lane_end(struct lane *lane, struct error *err) MUST_CHECK;
// One inference, drained into `run`.
enum status lane_observe(struct lane *lane, struct store *store, struct store_run *run, enum runner_inference kind,
                         struct error *err) MUST_CHECK;
enum status lane_drain(struct lane *lane, struct store *store, struct store_run *run, struct error *err) MUST_CHECK;
// Twice a second, commits and hands on what was drained. Before an inference: so one always follows, whose spans come with what is
// known at the end. Calls hand_on once: what it says still waits comes with the next call.
enum status lane_hand_on(struct lane *lane, struct store *store, const struct store_run *run,
                         const struct lane_watcher *watcher, struct error *err) MUST_CHECK;
// A framework that holds its layers back until the end of a profile publishes them now, into `run`.
enum status lane_flush(struct lane *lane, struct store *store, struct store_run *run, struct error *err) MUST_CHECK;
// What is left in the session when its runner is closed.
enum status lane_drain_final(struct lane *lane, struct store *store, struct store_run *run,
                             struct error *err) MUST_CHECK;
// The same after the runner was closed, committed; messages of its tracers become a note of `noted_run_id`.
enum status lane_finish(struct lane *lane, struct store *store, struct store_run *run, int64_t noted_run_id,
                        struct error *err) MUST_CHECK;
void lane_close(struct lane *lane); // safe on {0}

#endif
