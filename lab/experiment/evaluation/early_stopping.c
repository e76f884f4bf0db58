// SPDX-License-Identifier: Apache-2.0
// Whether queries show that 99 % of all would keep a latency bound, as MLPerf's LoadGen (6.0.17) decides it by "early stopping":
// with 99 % confidence. Called by scenario.c and figures.c. Pure.
#include "experiment/evaluation/scenario.h"

#include <math.h>

#define LATE_SHARE 0.01
#define DOUBT 0.01

// Of `count` queries, each of which is late with LATE_SHARE, at most `late` are.
static double probability_of_at_most(size_t count, size_t late)
{
  double logarithm = (double)count * log1p(-LATE_SHARE), sum = exp(logarithm);
  for (size_t k = 0; k < late && k < count; k++) {
    logarithm += log((double)(count - k) / (double)(k + 1) * LATE_SHARE / (1 - LATE_SHARE));
    sum += exp(logarithm);
  }
  return sum;
}

size_t scenario_late(const double *latencies_ms, size_t count, double bound_ms)
{
  size_t late = 0;
  for (size_t i = 0; i < count; i++)
    late += latencies_ms[i] > bound_ms;
  return late;
}

bool scenario_keeps_bound(size_t count, size_t late)
{
  return probability_of_at_most(count, late) <= DOUBT;
}

bool scenario_misses_bound(size_t count, size_t late)
{
  return late > 0 && 1 - probability_of_at_most(count, late - 1) <= DOUBT;
}
