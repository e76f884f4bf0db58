// SPDX-License-Identifier: Apache-2.0
// The noise verdict: readings and latencies in, grade and text out. Pure.
#include "experiment/noise.h"

#include "analyze/analyze.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

void noise_start(struct noise *noise)
{
  *noise = (struct noise){.spread_pct = NAN, .steal_pct = NAN, .throttled_pct = NAN, .other_pct = NAN};
  noise->quota_cpus = system_cpu_quota();
  system_governor(noise->governor, sizeof noise->governor);
}

static double percentile(const char *name, double *values, size_t count)
{
  struct statistic statistic;
  return statistic_parse(name, &statistic) ? statistic_apply(&statistic, values, count) : NAN;
}

void noise_add_latencies(struct noise *noise, int64_t batch, double *latencies, size_t count)
{
  if (count < 4)
    return;
  double middle = percentile("median", latencies, count);
  double spread = 100 * (percentile("p75", latencies, count) - percentile("p25", latencies, count)) / middle;
  if (isfinite(spread) && !(spread <= noise->spread_pct)) {
    noise->spread_pct = spread;
    noise->spread_batch = batch;
  }
}

static void grade_by(struct noise *noise, double value, double fair, double noisy)
{
  enum noise_grade grade = value > noisy ? NOISE_NOISY : value > fair ? NOISE_FAIR : NOISE_QUIET; // NaN: quiet
  if (grade > noise->grade)
    noise->grade = grade;
}

void noise_finish(struct noise *noise, const struct disturbance *before, const struct disturbance *after)
{
  double wall = after->wall_s - before->wall_s;
  double machine = wall * (double)sysconf(_SC_NPROCESSORS_ONLN);
  if (wall > 0) {
    noise->steal_pct = 100 * (after->steal_s - before->steal_s) / machine;
    noise->throttled_pct = 100 * (after->throttled_s - before->throttled_s) / wall;
    double other = (after->busy_s - before->busy_s) - (after->own_s - before->own_s);
    noise->other_pct = other < 0 ? 0 : 100 * other / machine; // /proc/stat counts in 10 ms ticks: a little below 0 is 0
  }
  grade_by(noise, noise->spread_pct, NOISE_SPREAD_FAIR_PCT, NOISE_SPREAD_NOISY_PCT);
  grade_by(noise, noise->steal_pct, NOISE_STOLEN_FAIR_PCT, NOISE_STOLEN_NOISY_PCT);
  grade_by(noise, noise->throttled_pct, NOISE_STOLEN_FAIR_PCT, NOISE_STOLEN_NOISY_PCT);
  grade_by(noise, noise->other_pct, NOISE_OTHER_FAIR_PCT, NOISE_OTHER_NOISY_PCT);
}

const char *noise_grade_name(enum noise_grade grade)
{
  static const char *const names[] = {"quiet", "fair", "noisy"};
  return names[grade];
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
