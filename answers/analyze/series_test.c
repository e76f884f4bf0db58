// SPDX-License-Identifier: Apache-2.0
// Changes in series of values, and the error of a sample alone against that of a difference.
#include "analyze/series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct series_limits limits = {1, 5};

static void test_a_step(void **state)
{
  (void)state;
  struct series_point points[] = {{.value = 10},   {.value = 10.1}, {.value = 9.9},
                                  {.value = 12.1}, {.value = 11.9}, {.value = 12}};
  series_find_changes(points, 6, &limits);
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(points[i].is_change, i == 3);
  struct series_verdict verdict = series_judge(points, 6, &limits);
  assert_int_equal(verdict.verdict, VERDICT_SLOWER);
  assert_int_equal(verdict.change, 3);
  assert_true(fabs(verdict.a - 10) < 1e-9 && fabs(verdict.b - 12) < 1e-9 && fabs(verdict.difference_pct - 20) < 1e-9);
  assert_true(verdict.low_pct < 20 && verdict.low_pct > 15 && fabs(verdict.low_pct + verdict.high_pct - 40) < 1e-9);
}

static void test_without_a_change(void **state)
{
  (void)state;
  struct series_point steady[] = {{.value = 10}, {.value = 10.01}, {.value = 9.99}, {.value = 10}, {.value = 10.02}};
  series_find_changes(steady, 5, &limits);
  assert_int_equal(series_judge(steady, 5, &limits).verdict, VERDICT_SAME);
  struct series_point few[] = {{.value = 10}, {.value = 20}};
  series_find_changes(few, 2, &limits);
  struct series_verdict verdict = series_judge(few, 2, &limits);
  assert_int_equal(verdict.verdict, VERDICT_NOT_DECIDED);
  assert_true(isnan(verdict.low_pct) && verdict.change == 2);
}

static void test_a_series_of_zeros(void **state)
{
  (void)state;
  struct series_point points[4] = {{.value = 0}};
  series_find_changes(points, 4, &limits);
  struct series_verdict verdict = series_judge(points, 4, &limits);
  assert_int_equal(verdict.verdict, VERDICT_NOT_COMPARABLE);
  assert_true(isnan(verdict.difference_pct));
}

// What a history keeps of a sample gives the interval that the samples themselves give.
static void test_errors_of_samples_make_the_interval_of_their_difference(void **state)
{
  (void)state;
  double a_values[] = {10, 11, 10, 12, 10, 10, 9, 30}, b_values[] = {12, 12, 13, 14, 12, 11, 12, 12, 12};
  const double runs[] = {10, 11, 12}, b_runs[] = {13, 12, 15};
  struct sample a = {.latency = 10.3, .values = a_values, .count = 8},
                b = {.latency = 12.1, .values = b_values, .count = 9};
  for (int of_runs = 0; of_runs < 2; of_runs++) {
    struct interval expected = interval_of_difference(&b, &a);
    struct estimate difference = estimate_difference(estimate_of_sample(&b), estimate_of_sample(&a));
    assert_true(fabs(difference.mean - 1.8) < 1e-12);
    assert_true(fabs(difference.mean + estimate_reach(difference, 0.95) - expected.high) < 1e-12);
    a.run_latencies = runs, b.run_latencies = b_runs;
    a.run_count = b.run_count = 3;
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_step),
      cmocka_unit_test(test_without_a_change),
      cmocka_unit_test(test_a_series_of_zeros),
      cmocka_unit_test(test_errors_of_samples_make_the_interval_of_their_difference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
