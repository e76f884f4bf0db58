// SPDX-License-Identifier: Apache-2.0
// The noise verdict: latencies of a finished file and readings of the machine in, grade and text out. Called by
// model_experiment.c and program_experiment.c.
#include "experiment/noise.h"

#include "analyze/analyze.h"
#include "base/vector.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Percentages at which a source alone makes the figures FAIR or NOISY. Spread: beyond 3 % differences of a few per cent
// between levels are lost; beyond 10 % only factors are significant.
#define SPREAD_FAIR_PCT 3.0
#define SPREAD_NOISY_PCT 10.0
#define STOLEN_FAIR_PCT 0.5
#define STOLEN_NOISY_PCT 3.0
#define STOLEN_LEAST_PCT 1 // less is no note
#define OTHER_FAIR_PCT 5.0
#define OTHER_NOISY_PCT 20.0

// ---- the spread of latencies -------------------------------------------------------------------------------------------
static void add_latencies(struct noise *noise, int64_t batch, double *latencies, size_t count)
{
  if (count < 4)
    return;
  double middle = statistic_named("median", latencies, count);
  double spread = 100 * (statistic_named("p75", latencies, count) - statistic_named("p25", latencies, count)) / middle;
  if (isfinite(spread) && !(spread <= noise->spread_pct)) {
    noise->spread_pct = spread;
    noise->spread_batch = batch;
  }
}

static bool are_comparable(const struct store_run *a, const struct store_run *b)
{
  return a->experiment_id == b->experiment_id && a->batch_size == b->batch_size &&
         level_set_equal(a->levels, b->levels);
}

// The latencies of all runs that are comparable with the first one; those of a program are one observation each.
static enum status judge_group(struct store *store, const struct store_run *runs, size_t count, struct noise *noise,
                               bool *is_known, struct error *err)
{
  VECTOR(double) latencies SCOPED(vector_end) = {0};
  enum status status = STATUS_OK;
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    struct store_observation *observations;
    size_t observation_count = 0;
    if (are_comparable(&runs[0], &runs[i]))
      status = store_observations(store, runs[i].run_id, &arena, &observations, &observation_count, err);
    for (size_t k = 0; k < observation_count && status == STATUS_OK; k++)
      if (!observations[k].warmup)
        *vector_add(&latencies) = (double)observations[k].duration_ns;
  }
  *is_known = *is_known || latencies.count > 1;
  add_latencies(noise, runs[0].batch_size, latencies.items, latencies.count);
  return status;
}

static enum status judge(struct store *store, const struct level_set *levels, struct noise *noise, bool *ret_is_known,
                         struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  size_t count = 0;
  *ret_is_known = false;
  XSP_TRY(store_runs(store, &arena, &runs, &count, err));
  for (size_t first = 0; first < count; first++) {
    bool is_new = levels == NULL || level_set_equal(runs[first].levels, *levels);
    for (size_t i = 0; i < first && is_new; i++)
      is_new = !are_comparable(&runs[i], &runs[first]);
    if (is_new)
      XSP_TRY(judge_group(store, &runs[first], count - first, noise, ret_is_known, err));
  }
  return STATUS_OK;
}

// ---- the verdict -------------------------------------------------------------------------------------------------------
static void grade_by(struct noise *noise, double value, double fair, double noisy)
{
  enum noise_grade grade = value > noisy ? NOISE_NOISY : value > fair ? NOISE_FAIR : NOISE_QUIET; // NaN: quiet
  if (grade > noise->grade)
    noise->grade = grade;
}

static void grade(struct noise *noise, const struct disturbance *before, const struct disturbance *after)
{
  double wall = after->wall_s - before->wall_s;
  double machine = wall * (double)sysconf(_SC_NPROCESSORS_ONLN);
  if (wall > 0) {
    noise->steal_pct = 100 * (after->steal_s - before->steal_s) / machine;
    noise->throttled_pct = 100 * (after->throttled_s - before->throttled_s) / wall;
    double other = (after->busy_s - before->busy_s) - (after->own_s - before->own_s);
    noise->other_pct = other < 0 ? 0 : 100 * other / machine; // /proc/stat counts in 10 ms ticks: a little below 0 is 0
  }
  grade_by(noise, noise->spread_pct, SPREAD_FAIR_PCT, SPREAD_NOISY_PCT);
  grade_by(noise, noise->steal_pct, STOLEN_FAIR_PCT, STOLEN_NOISY_PCT);
  grade_by(noise, noise->throttled_pct, STOLEN_FAIR_PCT, STOLEN_NOISY_PCT);
  grade_by(noise, noise->other_pct, OTHER_FAIR_PCT, OTHER_NOISY_PCT);
}

enum status noise_judge(struct store *store, const struct level_set *levels, const struct disturbance *before,
                        const struct disturbance *after, struct noise *ret_noise, bool *ret_is_known, struct error *err)
{
  *ret_noise = (struct noise){.spread_pct = NAN, .steal_pct = NAN, .throttled_pct = NAN, .other_pct = NAN};
  ret_noise->quota_cpus = system_cpu_quota();
  system_governor(ret_noise->governor, sizeof ret_noise->governor);
  XSP_TRY(judge(store, levels, ret_noise, ret_is_known, err));
  grade(ret_noise, before, after);
  return STATUS_OK;
}

enum status noise_record(struct store *store, const struct noise *noise, struct error *err)
{
  static const char *const grades[] = {"quiet", "fair", "noisy"};
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  noise_explain(noise, &text);
  enum status status = store_add_note(store, 0, "noise", text.data, err);
  buf_done(&text);
  XSP_TRY(status);
  return store_add_note(store, 0, "noise_grade", grades[noise->grade], err);
}

enum status noise_record_stolen(struct store *store, const struct disturbance *before, const struct disturbance *after,
                                struct error *err)
{
  double wall = after->wall_s - before->wall_s, machine = wall * (double)sysconf(_SC_NPROCESSORS_ONLN);
  const struct {
    const char *key;
    double pct;
  } stolen[] = {{"throttled_pct", 100 * (after->throttled_s - before->throttled_s) / wall},
                {"steal_pct", 100 * (after->steal_s - before->steal_s) / machine}};
  char text[32];
  for (size_t i = 0; i < sizeof stolen / sizeof stolen[0]; i++) {
    if (!(wall > 0) || !(stolen[i].pct >= STOLEN_LEAST_PCT)) // NaN: not readable here
      continue;
    snprintf(text, sizeof text, "%.3f", stolen[i].pct);
    XSP_TRY(store_add_note(store, 0, stolen[i].key, text, err));
  }
  return STATUS_OK;
}

void noise_explain(const struct noise *noise, struct buf *out)
{
  static const char *const verdicts[] = {
      "quiet: differences of a few per cent can be trusted",
      "fair: trust the medians, not differences of a few per cent",
      "noisy: trust factors only; measure again on a quieter machine",
  };
  buf_format(out, "Noise: %s.\n", verdicts[noise->grade]);
  if (isnan(noise->spread_pct))
    buf_text(out, "  spread not known (fewer than 4 observations)");
  else if (noise->spread_batch == 0)
    buf_format(out, "  spread of the latency up to %.1f %% (quartiles)", noise->spread_pct);
  else
    buf_format(out, "  spread of the model latency up to %.1f %% (quartiles, batch %" PRId64 ")", noise->spread_pct,
               noise->spread_batch);
  if (!isnan(noise->steal_pct))
    buf_format(out, ", steal %.1f %%", noise->steal_pct);
  if (!isnan(noise->other_pct))
    buf_format(out, ", other processes %.1f %%", noise->other_pct);
  if (isnan(noise->quota_cpus))
    buf_text(out, ", no CPU quota");
  else
    buf_format(out, ", CPU quota %.2f", noise->quota_cpus);
  if (noise->throttled_pct > 0)
    buf_format(out, " (throttled %.1f %% of the time)", noise->throttled_pct);
  if (noise->governor[0] != 0)
    buf_format(out, ", governor %s%s", noise->governor,
               strcmp(noise->governor, "performance") == 0 ? "" : " (the frequency may change while measuring)");
  else
    buf_text(out, ", frequency governor not visible");
  buf_text(out, ".\n");
}
