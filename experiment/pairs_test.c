// SPDX-License-Identifier: Apache-2.0
// Paired ratios: the median, and an interval that holds what it promises.
#include "experiment/pairs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double value, double expected)
{
  assert_true(fabs(value - expected) < 1e-12);
}

static void what_disturbs_both_cancels(void **state)
{
  (void)state;
  double first[9], own[9];
  for (size_t i = 0; i < 9; i++) {
    first[i] = (double)(1 + i * i); // a machine that becomes slower all the time
    own[i] = first[i] * (1.5 + 0.01 * (double)i);
  }
  struct arena arena = {0};
  struct paired_ratio ratio;
  pairs_compare(own, first, 9, &arena, &ratio);
  assert_near(ratio.median, 1.54);
  assert_near(ratio.low, 1.51); // the second and the second to last of nine: 96.1 %
  assert_near(ratio.high, 1.57);
  arena_done(&arena);
}

static void few_pairs_have_no_interval(void **state)
{
  (void)state;
  const double first[] = {1, 1, 1, 1, 1, 1}, own[] = {6, 2, 1, 3, 5, 4};
  struct arena arena = {0};
  struct paired_ratio ratio;
  pairs_compare(own, first, 5, &arena, &ratio);
  assert_near(ratio.median, 3);
  assert_true(isnan(ratio.low) && isnan(ratio.high));
  pairs_compare(own, first, 6, &arena, &ratio); // least and most of six: 96.9 %
  assert_near(ratio.low, 1);
  assert_near(ratio.high, 6);
  pairs_compare(own, first, 0, &arena, &ratio);
  assert_true(isnan(ratio.median));
  const double nothing[] = {0, 0, 0, 0, 0, 0};
  pairs_compare(own, nothing, 6, &arena, &ratio);
  assert_true(isnan(ratio.median));
  arena_done(&arena);
}

static double next(uint64_t *state)
{
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) / 9007199254740992.0;
}

// Of 800 comparisons of the same with the same about 5 % at most say that they differ, whichever way the interval is found.
static void the_interval_holds_the_true_ratio(void **state)
{
  (void)state;
  const size_t sizes[] = {6, 20, 999, 1001};
  uint64_t seed = 1;
  static double own[1001], first[1001];
  for (size_t s = 0; s < 4; s++) {
    size_t missed = 0;
    for (size_t trial = 0; trial < 800; trial++) {
      struct arena arena = {0};
      struct paired_ratio ratio;
      for (size_t i = 0; i < sizes[s]; i++) {
        first[i] = 1 - log(1 - next(&seed)); // a long tail
        own[i] = 1 - log(1 - next(&seed));
      }
      pairs_compare(own, first, sizes[s], &arena, &ratio);
      missed += ratio.low > 1 || ratio.high < 1;
      arena_done(&arena);
    }
    assert_true(missed <= 56); // 40 expected at most; the seed is fixed
    assert_true(missed >= 8);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_disturbs_both_cancels),
      cmocka_unit_test(few_pairs_have_no_interval),
      cmocka_unit_test(the_interval_holds_the_true_ratio),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
