// SPDX-License-Identifier: Apache-2.0
// The median of paired ratios and its interval by order statistics, which assume no distribution. Called by compare.c.
#include "experiment/pairs.h"

#include "analyze/analyze.h"

#include <math.h>
#include <stdlib.h>

#define OUTSIDE 0.025           // on each side of the interval
#define EXACT_MOST 1000u        // pairs; beyond it the normal distribution is near enough
#define NORMAL_95 1.95996398454 // standard deviations

// How many of `count` pairs lie below the interval, at most: it begins with the next one. The number of pairs below the true
// median is binomial with 1/2.
static size_t below_interval(size_t count)
{
  if (count > EXACT_MOST)
    return (size_t)((double)count / 2 - NORMAL_95 * sqrt((double)count) / 2);
  double sum = 0;
  for (size_t below = 0; below <= count / 2; below++) {
    sum += exp(lgamma((double)count + 1) - lgamma((double)below + 1) - lgamma((double)(count - below) + 1) -
               (double)count * log(2));
    if (sum > OUTSIDE)
      return below;
  }
  return 0;
}

static int compare(const void *left, const void *right)
{
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

void pairs_compare(const double *own, const double *first, size_t count, struct arena *arena,
                   struct paired_ratio *ret_ratio)
{
  *ret_ratio = (struct paired_ratio){NAN, NAN, NAN};
  double *ratios = arena_alloc_array(arena, count + 1, sizeof *ratios);
  struct statistic median;
  size_t used = 0;
  for (size_t i = 0; i < count; i++)
    if (first[i] > 0)
      ratios[used++] = own[i] / first[i];
  qsort(ratios, used, sizeof *ratios, compare);
  size_t below = below_interval(used);
  if (below > 0) {
    ret_ratio->low = ratios[below - 1];
    ret_ratio->high = ratios[used - below];
  }
  if (used > 0 && statistic_parse("median", &median))
    ret_ratio->median = statistic_apply(&median, ratios, used);
}
