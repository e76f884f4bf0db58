// SPDX-License-Identifier: Apache-2.0
// The statistics, and the choice of the optimal batch by the papers' test vector.
#include "analyze/view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (double)(b)) <= 1e-12 * fabs((double)(b)))

static double apply(const char *name, const double *values, size_t count)
{
  double copy[64];
  struct statistic statistic;
  memcpy(copy, values, count * sizeof *values);
  assert_true(statistic_parse(name, &statistic));
  return statistic_apply(&statistic, copy, count);
}

static void test_trimmed_mean_drops_floor_at_each_end(void **unused)
{
  (void)unused;
  static const double ten[] = {1000, 1, 2, 3, 4, 5, 6, 7, -500, 9};
  NEAR(apply(NULL, ten, 10), (2 + 3 + 4 + 5 + 6 + 7) / 6.0); // two at each end
  NEAR(apply("trimmed:0.2", ten, 10), apply(NULL, ten, 10));
  NEAR(apply("trimmed-each:0.2", ten, 10), apply(NULL, ten, 10));
  NEAR(apply("trimmed:0", ten, 10), apply("mean", ten, 10));
  static const double nine[] = {9, 8, 7, 6, 5, 4, 3, 2, 100};
  NEAR(apply(NULL, nine, 9), (3 + 4 + 5 + 6 + 7 + 8 + 9) / 7.0); // floor(1.8)
  static const double five[] = {1, 2, 30, 40, 500};
  NEAR(apply(NULL, five, 5), 24); // floor(0.2 * 5) is 1, not 0: decimals, not doubles
  static const double three[] = {1, 2, 30};
  NEAR(apply(NULL, three, 3), 2);
  NEAR(apply("trimmed-each:0.1", three, 3), 2);
  NEAR(apply("mean", three, 3), 11);
  NEAR(apply("trimmed:0", three, 3), 11);
  static const double two[] = {1, 2};
  NEAR(apply(NULL, two, 2), 1.5);
  NEAR(apply(NULL, two, 1), 1);
  assert_true(isnan(apply(NULL, two, 0)));
}

static void test_ranks_are_exact_decimals(void **unused)
{
  (void)unused;
  static const double ten[] = {0, 0, 0, 1, 1, 1, 1, 100, 100, 100};
  NEAR(apply("trimmed:0.3", ten, 10), 1); // 0.3 * 10 is 3, though 0.3 < 3/10 in doubles
  NEAR(apply("trimmed:0.29", ten, 10), (0 + 1 + 1 + 1 + 1 + 100) / 6.0);
}

static void test_percentiles_interpolate(void **unused)
{
  (void)unused;
  static const double values[] = {40, 10, 20, 30};
  NEAR(apply("p50", values, 4), 25);
  NEAR(apply("median", values, 4), 25);
  NEAR(apply("p0", values, 4), 10);
  NEAR(apply("p100", values, 4), 40);
  NEAR(apply("p90", values, 4), 37);
  NEAR(apply("p99.9", values, 4), 39.97);
  NEAR(apply("min", values, 4), 10);
  NEAR(apply("max", values, 4), 40);
  NEAR(apply("mean", values, 4), 25);
}

static void test_spread(void **unused)
{
  (void)unused;
  static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
  NEAR(statistic_cv_pct(values, 8), sqrt(32.0 / 7) / 5 * 100);
  assert_true(isnan(statistic_cv_pct(values, 1)));
  const double equal[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  assert_true(statistic_cv_pct(equal, 6) == 0); // their mean is not 0.1
}

static void test_bad_statistics_are_refused(void **unused)
{
  (void)unused;
  static const char *const bad[] = {"",
                                    "p",
                                    "p101",
                                    "p-1",
                                    "p1e1",
                                    "avg",
                                    "trimmed:",
                                    "trimmed:0.5",
                                    "trimmed:1",
                                    "trimmed:0.1x",
                                    "p1.2.3",
                                    "trimmed:-0",
                                    "mean ",
                                    "p.",
                                    "trimmed-each:0.5",
                                    "trimmed-each",
                                    "trimmed:0.4999999999999999999"};
  struct statistic statistic;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_false(statistic_parse(bad[i], &statistic));
}

// ---- optimal batch --------------------------------------------------------------------------------------------------
static struct batches choose(const double *latencies, size_t count, double threshold_pct, double limit_ms)
{
  static struct batch_point points[16];
  for (size_t i = 0; i < count; i++)
    points[i] = (struct batch_point){.batch_size = INT64_C(1) << i,
                                     .latency = {.value = latencies[i]},
                                     .throughput_per_s = 1000.0 * (double)(INT64_C(1) << i) / latencies[i]};
  struct batches batches = {.points = points, .count = count};
  batches_choose(&batches, threshold_pct, limit_ms);
  return batches;
}

static void test_optimal_batch_of_the_paper(void **unused)
{
  (void)unused;
  static const double latencies[] = {6.21, 6.83, 8.51, 12.80, 21.90, 40.03, 74.03, 142.89, 275.05};
  struct batches batches = choose(latencies, 9, 5, NAN);
  assert_int_equal(batches.points[batches.optimal].batch_size, 64);
  assert_int_equal(batches.points[batches.maximum].batch_size, 256);
  batches = choose(latencies, 9, 3.7, NAN);
  assert_int_equal(batches.points[batches.optimal].batch_size, 64);
  batches = choose(latencies, 9, 3.6, NAN); // 64 to 128 gains 3.617 %, 128 to 256 3.902 %
  assert_true(batches.optimal == SIZE_MAX);
  batches = choose(latencies, 6, 5, NAN); // up to 32: every doubling gains more
  assert_true(batches.optimal == SIZE_MAX);
  assert_non_null(strstr(batches.why_not_optimal, "not reached"));
  batches = choose(latencies, 9, 5, 40.03);
  assert_int_equal(batches.points[batches.optimal].batch_size, 32);
  batches = choose(latencies, 9, 5, 6);
  assert_true(batches.optimal == SIZE_MAX);
  static const double at_the_limit[] = {21, 40}; // doubling gains 5 %, as doubles 5.000000000000004
  batches = choose(at_the_limit, 2, 5, NAN);
  assert_int_equal(batches.points[batches.optimal].batch_size, 1);
  batches = choose(at_the_limit, 2, 4.999999, NAN);
  assert_true(batches.optimal == SIZE_MAX);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trimmed_mean_drops_floor_at_each_end),
      cmocka_unit_test(test_ranks_are_exact_decimals),
      cmocka_unit_test(test_percentiles_interpolate),
      cmocka_unit_test(test_spread),
      cmocka_unit_test(test_bad_statistics_are_refused),
      cmocka_unit_test(test_optimal_batch_of_the_paper),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
