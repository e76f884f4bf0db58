// SPDX-License-Identifier: Apache-2.0
// Puts the latencies of a set, and of each of its runs, in order of start. Called by L0 and A1.
#include "analyze/runs/samples.h"

#include <stdlib.h>

struct started {
  int64_t start_ns;
  size_t place; // of equal starts the first in the file
  double latency_ms;
};

static int by_start(const void *left, const void *right)
{
  const struct started *a = left, *b = right;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  return (a->place > b->place) - (a->place < b->place);
}

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

struct sample sample_of_set(struct question *question, const struct view_set *set, double factor)
{
  struct arena *arena = question->scratch;
  struct sample sample = {.latency = factor * question_model_latency(question, set), .count = set->observation_count};
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
      observations[at] = (struct started){one->start_ns, at, factor * set->latencies_ms[at]};
      at++;
    }
    if (at == first)
      continue;
    double latency_ms = question_statistic(question, set->latencies_ms + first, at - first);
    runs[sample.run_count] = (struct started){start_ns, sample.run_count, factor * latency_ms};
    sample.run_count++;
    is_one_clock = is_one_clock && run->run->epoch_is_unix;
  }
  const int64_t *run_starts;
  sample.values = sorted(arena, observations, sample.count, NULL);
  sample.run_latencies = sorted(arena, runs, sample.run_count, &run_starts);
  sample.run_starts = is_one_clock ? run_starts : NULL;
  return sample;
}
