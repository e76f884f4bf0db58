// SPDX-License-Identifier: Apache-2.0
// Starts, asks and drains one runner. Called by model_experiment.c and cold.c. Lost records are counted for the run
// that was just drained.
#include "experiment/lane.h"

#include "experiment/progress.h"

#define HAND_ON_EVERY_S 0.5

enum status lane_start(struct lane *lane, const struct runner_options *options, struct level_set levels,
                       const char *tracers, struct error *err)
{
  if (lane->session == NULL) {
    // The runner's own stages (load, inputs) are spans at any level set; all others follow the set's levels.
    struct collect_options session = {.level_mask = levels.mask | XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION),
                                      .is_bounded = options->isolation != NULL};
    XSP_TRY(collect_create(&session, &lane->session, err));
  }
  XSP_TRY(runner_start(&lane->runner, options, levels, collect_directory(lane->session), tracers, err));
  return runner_wait_ready(&lane->runner, err);
}

// What the session lost since the last look belongs to the run that was just drained.
static void count_losses(struct lane *lane, struct store_run *run)
{
  struct collect_counts now;
  collect_counts(lane->session, &now);
  uint64_t lost = (now.dropped + now.lost + now.overwritten) -
                  (lane->counted.dropped + lane->counted.lost + lane->counted.overwritten);
  run->dropped_count += (int64_t)lost;
  run->misused_count += (int64_t)(now.misused - lane->counted.misused);
  lane->counted = now;
}

enum status lane_drain(struct lane *lane, struct store *store, struct store_run *run, struct error *err)
{
  XSP_TRY(collect_drain(lane->session, store, run->run_id, err));
  count_losses(lane, run);
  return STATUS_OK;
}

// Other lanes may have run since: their time is between two readings, and outside of this run's observations.
static enum status look_at_counters(struct lane *lane, struct error *err)
{
  int64_t wait_ns;
  return lane->counters.store == NULL ? STATUS_OK : counters_look(&lane->counters, &wait_ns, err);
}

enum status lane_begin(struct lane *lane, struct store *store, const struct store_run *run, struct error *err)
{
  counters_free(&lane->counters);
  lane->counters = (struct counters){.store = store, .run_id = run->run_id, .program = lane->runner.child.process};
  return look_at_counters(lane, err);
}

enum status lane_end(struct lane *lane, struct error *err)
{
  XSP_TRY(counters_finish(&lane->counters, err));
  counters_free(&lane->counters);
  lane->counters = (struct counters){0};
  return STATUS_OK;
}

enum status lane_observe(struct lane *lane, struct store *store, struct store_run *run, enum runner_inference kind,
                         struct error *err)
{
  XSP_TRY(look_at_counters(lane, err));
  XSP_TRY(runner_predict(&lane->runner, run->batch_size, kind, err));
  XSP_TRY(look_at_counters(lane, err));
  return lane_drain(lane, store, run, err);
}

enum status lane_hand_on(struct lane *lane, struct store *store, const struct store_run *run,
                         const struct lane_watcher *watcher, struct error *err)
{
  if (watcher->hand_on == NULL || progress_now_s() - lane->handed_on_s < HAND_ON_EVERY_S)
    return STATUS_OK;
  XSP_TRY(collect_commit(lane->session, store, err));
  watcher->hand_on(watcher->context, store, run->run_id);
  lane->handed_on_s = progress_now_s();
  return STATUS_OK;
}

enum status lane_flush(struct lane *lane, struct store *store, struct store_run *run, struct error *err)
{
  XSP_TRY(runner_flush(&lane->runner, err));
  return lane_drain(lane, store, run, err);
}

enum status lane_drain_final(struct lane *lane, struct store *store, struct store_run *run, struct error *err)
{
  XSP_TRY(collect_drain_final(lane->session, store, run->run_id, err));
  count_losses(lane, run);
  return STATUS_OK;
}

enum status lane_finish(struct lane *lane, struct store *store, struct store_run *run, int64_t noted_run_id,
                        struct error *err)
{
  runner_close(&lane->runner);
  XSP_TRY(lane_drain_final(lane, store, run, err));
  struct arena arena = {0};
  const char *messages = collect_messages(lane->session, &arena);
  enum status status = STATUS_OK;
  if (messages != NULL && messages[0] != 0)
    status = store_add_note(store, noted_run_id, "tracers", messages, err);
  arena_done(&arena);
  XSP_TRY(status);
  return collect_commit(lane->session, store, err);
}

void lane_close(struct lane *lane)
{
  counters_free(&lane->counters);
  runner_close(&lane->runner);
  collect_close(lane->session, true);
  *lane = (struct lane){0};
}
