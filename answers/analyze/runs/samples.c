// SPDX-License-Identifier: Apache-2.0
// Puts the latencies of a set, and of each of its runs, in order of start: of the model, or of one of its parts. Called by L0,
// A1 and answers/analyze/compare/.
#include "analyze/runs/samples.h"

#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

struct started {
  int64_t start_ns;
  size_t place; // of equal starts the first in the file
  double latency_ms;
};

SORTED_BY(by_start, struct started, RISING(start_ns) ?: RISING(place))

// The latencies in order; `*ret_starts` may be NULL.
static const double *sorted(struct arena *arena, struct started *items, size_t count, const int64_t **ret_starts)
{
  double *values = arena_alloc_array(arena, count + 1, sizeof *values);
  int64_t *starts = arena_alloc_array(arena, count + 1, sizeof *starts);
  qsort(items, count, sizeof *items, by_start);
  for (size_t i = 0; i < count; i++) {
    values[i] = items[i].latency_ms;
    starts[i] = items[i].start_ns;
  }
  if (ret_starts != NULL)
    *ret_starts = starts;
  return values;
}

// The question's statistic over the observations of one run. `values`: NULL: the latencies.
static double run_latency(struct question *question, const struct view_set *set, const double *values, size_t first,
                          size_t count)
{
  if (values == NULL)
    return question_statistic(question, set->latencies_ms + first, count);
  struct view_set run = {.latencies_ms = set->latencies_ms + first, .observation_count = count};
  question_choose_observations(question, &run);
  return question_value(question, &run, values + first);
}

struct sample analyze_sample_of_values(struct question *question, const struct view_set *set, const double *values,
                                       double factor)
{
  struct arena *arena = question->scratch;
  const double *all = values == NULL ? set->latencies_ms : values;
  double absent = question_is_by_value(question) ? NAN : 0; // as question_figure counts it
  double quantile = statistic_quantile(&question->statistic);
  struct sample sample = {.latency = factor * question_value(question, set, all),
                          .figure = isnan(quantile) ? SAMPLE_CUT : SAMPLE_QUANTILE,
                          .quantile = quantile};
  struct started *observations = arena_alloc_array(arena, set->observation_count + 1, sizeof *observations);
  struct started *runs = arena_alloc_array(arena, set->run_count + 1, sizeof *runs);
  bool is_one_clock = true;
  for (size_t i = 0, at = 0; i < set->run_count; i++) {
    const struct view_run *run = set->runs[i];
    size_t first = at;
    int64_t start_ns = INT64_MAX; // of its warm-up too
    for (size_t k = 0; k < run->observation_count; k++) {
      const struct store_observation *one = &run->observations[k];
      start_ns = one->start_ns < start_ns ? one->start_ns : start_ns;
      if (one->warmup)
        continue;
      double value = isnan(all[at]) ? absent : all[at];
      if (!isnan(value))
        observations[sample.count++] = (struct started){one->start_ns, at, factor * value};
      at++;
    }
    double latency_ms = at == first ? NAN : run_latency(question, set, values, first, at - first);
    latency_ms = isnan(latency_ms) && at > first ? absent : latency_ms;
    if (isnan(latency_ms))
      continue;
    runs[sample.run_count] = (struct started){start_ns, sample.run_count, factor * latency_ms};
    sample.run_count++;
    is_one_clock = is_one_clock && run->run->epoch_is_unix;
  }
  if (values != NULL && !question_is_by_value(question)) {
    double *kept = arena_alloc_array(arena, set->observation_count + 1, sizeof *kept);
    for (size_t i = 0; i < set->observation_count; i++)
      if (set->is_kept[i])
        kept[sample.kept_count++] = factor * (isnan(values[i]) ? absent : values[i]);
    sample.kept = kept;
  }
  const int64_t *run_starts;
  sample.cut = statistic_cut(&question->statistic, sample.count);
  sample.values = sorted(arena, observations, sample.count, NULL);
  sample.run_latencies = sorted(arena, runs, sample.run_count, &run_starts);
  sample.run_starts = is_one_clock ? run_starts : NULL;
  return sample;
}

struct sample analyze_sample_of_set(struct question *question, const struct view_set *set, double factor)
{
  return analyze_sample_of_values(question, set, NULL, factor);
}
