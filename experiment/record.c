// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of an experiment's file. Called by model_experiment.c and program_experiment.c.
#include "experiment/record.h"

#include "base/clock.h"
#include "base/vector.h"

#include <string.h>

#define SYSTEM_VALUES_MAXIMUM 40

enum status record_experiment(struct store *store, struct store_experiment *row, const struct store_system_value *more,
                              size_t more_count, struct error *err)
{
  struct arena arena = {0};
  struct store_system_value values[SYSTEM_VALUES_MAXIMUM];
  size_t count = system_describe(&arena, values, SYSTEM_VALUES_MAXIMUM - more_count);
  for (size_t i = 0; i < more_count; i++)
    values[count++] = more[i];
  enum status status = store_add_system(store, values, count, &row->system_id, err);
  row->created_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
  row->xsp_version = XSP_VERSION;
  if (status == STATUS_OK)
    status = store_add_experiment(store, row, err);
  arena_done(&arena);
  return status;
}

// ---- the noise verdict -----------------------------------------------------------------------------------------------
static bool are_comparable(const struct store_run *a, const struct store_run *b)
{
  return a->experiment_id == b->experiment_id && a->batch_size == b->batch_size &&
         level_set_equal(a->levels, b->levels);
}

// The latencies of all runs that are comparable with the first one; those of a program are one observation each.
static enum status judge_group(struct store *store, const struct store_run *runs, size_t count, struct noise *noise,
                               bool *is_known, struct error *err)
{
  VECTOR(double) latencies = {0};
  enum status status = STATUS_OK;
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    struct arena arena = {0};
    struct store_observation *observations;
    size_t observation_count = 0;
    if (are_comparable(&runs[0], &runs[i]))
      status = store_observations(store, runs[i].run_id, &arena, &observations, &observation_count, err);
    for (size_t k = 0; k < observation_count && status == STATUS_OK; k++)
      if (!observations[k].warmup)
        *vector_add(&latencies) = (double)observations[k].duration_ns;
    arena_done(&arena);
  }
  *is_known = *is_known || latencies.count > 1;
  noise_add_latencies(noise, runs[0].batch_size, latencies.items, latencies.count);
  vector_done(&latencies);
  return status;
}

static enum status judge(struct store *store, const struct level_set *levels, struct noise *noise, bool *ret_is_known,
                         struct error *err)
{
  struct arena arena = {0};
  struct store_run *runs;
  size_t count = 0;
  *ret_is_known = false;
  enum status status = store_runs(store, &arena, &runs, &count, err);
  for (size_t first = 0; first < count && status == STATUS_OK; first++) {
    bool is_new = levels == NULL || level_set_equal(runs[first].levels, *levels);
    for (size_t i = 0; i < first && is_new; i++)
      is_new = !are_comparable(&runs[i], &runs[first]);
    if (is_new)
      status = judge_group(store, &runs[first], count - first, noise, ret_is_known, err);
  }
  arena_done(&arena);
  return status;
}

enum status record_noise(struct store *store, const struct level_set *levels, const struct disturbance *before,
                         const struct disturbance *after, struct noise *noise, bool *ret_is_known, struct error *err)
{
  noise_start(noise);
  XSP_TRY(judge(store, levels, noise, ret_is_known, err));
  noise_finish(noise, before, after);
  return STATUS_OK;
}

enum status record_verdict(struct store *store, const struct noise *noise, struct error *err)
{
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  noise_explain(noise, &text);
  enum status status = store_add_note(store, 0, "noise", text.data, err);
  buf_done(&text);
  XSP_TRY(status);
  return store_add_note(store, 0, "noise_grade", noise_grade_name(noise->grade), err);
}

void record_give_up(struct store *store, bool has_measured, bool has_committed, message_fn warning)
{
  if (!has_measured) {
    store_discard(store);
    return;
  }
  if (store_commit(store, NULL) == STATUS_OK || has_committed)
    warning("xsp: what was measured until then is in %s.partial", store_path(store));
  store_close(store);
}
