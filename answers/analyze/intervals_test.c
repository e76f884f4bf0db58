// SPDX-License-Identifier: Apache-2.0
// Intervals of differences. Expected values: scipy 1.17.1, stats.t.isf, ttest_ind(equal_var=False, trim=…) and ttest_rel with
// their confidence_interval(0.95).
#include "analyze/analyze.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NEAR(a, b) assert_true(fabs((a) - (double)(b)) <= 1e-11 * fabs((double)(b)))

static void test_student_quantile(void **unused)
{
  (void)unused;
  static const double known[][3] = {
      {0.95, 1, 12.706204736174694},       {0.95, 1.5, 6.016663104427929},   {0.95, 4.7, 2.62072607535317},
      {0.95, 10, 2.228138851986274},       {0.95, 29.3, 2.044320421500141},  {0.95, 199.5, 1.9719263079015248},
      {0.95, 12345.6, 1.9601561582595104}, {0.95, 1e6, 1.959966356814107},   {0.99, 1, 63.656741162871526},
      {0.99, 1.5, 17.820310514462804},     {0.99, 4.7, 4.1678920401190584},  {0.99, 10, 3.16927267261695},
      {0.99, 29.3, 2.754420171610263},     {0.99, 199.5, 2.600697167082714}, {0.99, 200.5, 2.600572020984024},
      {0.99, 12345.6, 2.5762276044252137}, {0.99, 1e6, 2.5758342201053344},
  };
  for (size_t i = 0; i < COUNT(known); i++) {
    double wanted = known[i][2], found = interval_student_quantile(known[i][0], known[i][1]);
    double lost = fmax(1, known[i][1] / 1e5); // digits that the tail has fewer
    assert_true(fabs(found - wanted) <= 1e-11 * lost * wanted);
  }
}

static const double before[] = {10.2, 9.8, 11.1, 9.9};
static const double after[] = {12.5, 10.9, 11.8, 14.1, 13.0};
static const double slow[] = {20.1, 19.7, 21.4, 20.6, 35.0, 20.2, 19.9, 20.8, 20.3, 21.0, 20.5};
static const double fast[] = {19.0, 18.7, 19.9, 19.3, 18.9, 40.0, 19.1, 18.8, 19.5};
static const double drifting[] = {155.2, 201.7, 262.9, 341.0, 494.3};
static const double below_it[] = {150.1, 199.0, 255.5, 338.8, 487.2};
static const int64_t turns[][5] = {{0, 30, 40, 70, 80}, {10, 20, 50, 60, 90}}; // M, M/L, M/L, M, …: pairs
static const int64_t blocks[][5] = {{0, 10, 20, 30, 40}, {50, 60, 70, 80, 90}};

static struct sample of_values(double latency, const double *values, size_t count)
{
  return (struct sample){.latency = latency, .values = values, .count = count};
}

static struct sample of_runs(double latency, const double *runs, const int64_t *starts)
{
  return (struct sample){
      .latency = latency, .values = runs, .count = 5, .run_latencies = runs, .run_starts = starts, .run_count = 5};
}

static void expect(struct sample a, struct sample b, enum interval_from from, double low, double high)
{
  struct interval interval = interval_of_difference(&a, &b);
  assert_int_equal(interval.from, from);
  NEAR(interval.low, low);
  NEAR(interval.high, high);
  struct interval opposite = interval_of_difference(&b, &a);
  assert_true(opposite.low == -interval.high && opposite.high == -interval.low);
}

static void test_few_observations_by_welch(void **unused)
{
  (void)unused;
  expect(of_values(12.46, after, 5), of_values(10.25, before, 4), INTERVAL_OBSERVATIONS, 0.703298268310389,
         3.7167017316896125);
  // The interval is around the difference of the figures, whatever their statistic is.
  expect(of_values(112.46, after, 5), of_values(10.25, before, 4), INTERVAL_OBSERVATIONS, 100.703298268310389,
         103.7167017316896125);
  assert_string_equal(interval_from_name(INTERVAL_OBSERVATIONS), "observations");
}

static void test_outliers_do_not_widen_eight_observations(void **unused)
{
  (void)unused;
  double a = estimate_trimmed(slow, 11).mean, b = estimate_trimmed(fast, 9).mean;
  NEAR(a - b, 1.2857142857142847);
  NEAR(estimate_trimmed(fast, 9).degrees, 6); // 9 without one at each end, less one
  expect(of_values(a, slow, 11), of_values(b, fast, 9), INTERVAL_OBSERVATIONS, 0.7054526084616755, 1.865975962966894);
  // Seven on one side: no winsorising on the other either.
  struct sample few = of_values(0, fast, 7), many = of_values(0, slow, 11);
  struct estimate plain = estimate_difference(estimate_mean(slow, 11), estimate_mean(fast, 7));
  assert_true(interval_of_difference(&many, &few).high == estimate_reach(plain, 0.95));
  assert_true(estimate_trimmed(fast, 7).squared_error == estimate_mean(fast, 7).squared_error);
}

static void test_paired_runs_cancel_drift(void **unused)
{
  (void)unused;
  struct sample a = of_runs(291.02, drifting, turns[0]), b = of_runs(286.12, below_it, turns[1]);
  expect(a, b, INTERVAL_PAIRED_RUNS, 1.905812806120554, 7.894187193879434);
  static const double by_welch[] = {-188.91101911405602, 198.71101911405597};
  b.run_starts = blocks[1]; // one after the other
  expect(a, b, INTERVAL_RUNS, by_welch[0], by_welch[1]);
  b.run_starts = turns[0]; // at the same time: still before the next pair
  expect(a, b, INTERVAL_PAIRED_RUNS, 1.905812806120554, 7.894187193879434);
  const int64_t late[] = {30, 31, 50, 60, 90}; // the first starts together with the second of the other side
  b.run_starts = late;
  expect(a, b, INTERVAL_RUNS, by_welch[0], by_welch[1]);
  b.run_starts = NULL; // not on one clock
  expect(a, b, INTERVAL_RUNS, by_welch[0], by_welch[1]);
  b.run_starts = turns[1];
  b.run_count = 4; // another number of runs
  assert_int_equal(interval_of_difference(&a, &b).from, INTERVAL_RUNS);
  a.run_count = b.run_count = 2; // too few: the five observations
  expect(a, b, INTERVAL_OBSERVATIONS, by_welch[0], by_welch[1]);
}

static void test_without_two_values_there_is_no_interval(void **unused)
{
  (void)unused;
  struct sample one = of_values(1, before, 1), none = of_values(NAN, NULL, 0), many = of_values(2, before, 4);
  struct interval interval = interval_of_difference(&many, &one);
  assert_true(isnan(interval.low) && isnan(interval.high) && interval.from == INTERVAL_NONE);
  assert_int_equal(interval_of_difference(&none, &many).from, INTERVAL_NONE);
  assert_null(interval_from_name(INTERVAL_NONE));
}

static void test_equal_values_give_a_point(void **unused)
{
  (void)unused;
  static const double same[] = {3, 3, 3}, other[] = {5, 5, 5, 5, 5, 5, 5, 5};
  struct sample a = of_values(5, other, 8), b = of_values(3, same, 3);
  struct interval interval = interval_of_difference(&a, &b);
  assert_true(interval.low == 2 && interval.high == 2 && interval.from == INTERVAL_OBSERVATIONS);
  // One side without spread: the other's degrees of freedom.
  b = of_values(10.25, before, 4);
  interval = interval_of_difference(&a, &b);
  NEAR(interval.high - interval.low,
       2 * interval_student_quantile(0.95, 3) * sqrt(estimate_mean(before, 4).squared_error));
}

static void test_disturbances_of_both_cancel_in_ratios(void **unused)
{
  (void)unused;
  double a[9], b[9];
  for (size_t i = 0; i < 9; i++) {
    b[i] = (double)(1 + i * i); // a machine that becomes slower all the time
    a[i] = 1.5 * b[i];
  }
  struct paired_ratio ratio = interval_ratio_of_pairs(a, b, 9);
  NEAR(ratio.ratio, 1.5);
  assert_true(ratio.high - ratio.low < 1e-12);
  // Ratios 1.2, 1.5 and 1.6: their logarithms have mean ln(2.88) / 3.
  const double some[] = {1.2, 15, 0, 1.6}, others[] = {1, 10, 1, 1}; // the third pair does not count
  ratio = interval_ratio_of_pairs(some, others, 4);
  NEAR(ratio.ratio, cbrt(2.88));
  NEAR(ratio.low, 0.9778597066934747);
  NEAR(ratio.high, 2.070070361697322);
  struct paired_ratio opposite = interval_ratio_of_pairs(others, some, 4);
  NEAR(opposite.low * ratio.high, 1);
  ratio = interval_ratio_of_pairs(some, others, 1);
  NEAR(ratio.ratio, 1.2);
  assert_true(isnan(ratio.low) && isnan(ratio.high));
  assert_true(isnan(interval_ratio_of_pairs(some, others, 0).ratio));
}

static void test_drift_of_thirds(void **unused)
{
  (void)unused;
  // The last third less the first is 302.33 ± 155.66 at 99 %, with 2.29 degrees of freedom.
  const double values[] = {155, 160, 172, 0, 1000, 0, 430, 470, 494, 470};
  struct sample sample = of_values(0, values, 9);
  double first, last;
  assert_true(analyze_sample_has_drift(&sample, 302, &first, &last));
  NEAR(first, 487 / 3.0);
  NEAR(last, 1394 / 3.0);
  assert_false(analyze_sample_has_drift(&sample, 303, &first, &last)); // not more than the threshold
  sample.count = 8;
  assert_false(analyze_sample_has_drift(&sample, 0, &first, &last));
  assert_true(isnan(first) && isnan(last));
  sample.count = 10; // the last third is the last three of ten
  assert_true(analyze_sample_has_drift(&sample, 302, &first, &last));
  NEAR(last, 478);
  const double noisy[] = {100, 300, 200, 1, 1, 1, 300, 500, 400}; // 200 ± 376
  sample = of_values(0, noisy, 9);
  assert_false(analyze_sample_has_drift(&sample, 10, &first, &last));
}

// ---- simulation -----------------------------------------------------------------------------------------------------
#define TRIALS 10000
#define MOST 30u
#define PER_RUN 5u

static uint64_t seed = 1;
static double uniform(void) // above 0
{
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return ((double)(seed >> 11) + 1) / 9007199254740992.0;
}

static double noisy_latency(void) // 100 with a deviation of 5
{
  return 100 + 5 * sqrt(-2 * log(uniform())) * cos(2 * acos(-1) * uniform());
}

static double figure(const double *values, size_t count)
{
  struct statistic trimmed;
  double copy[MOST * PER_RUN];
  memcpy(copy, values, count * sizeof *values);
  assert_true(statistic_parse(NULL, &trimmed));
  return statistic_apply(&trimmed, copy, count);
}

struct side {
  double values[MOST * PER_RUN], runs[MOST];
};

static struct sample measure(struct side *side, size_t runs, size_t count, const int64_t *starts)
{
  for (size_t i = 0; i < runs * count; i++)
    side->values[i] = noisy_latency();
  for (size_t i = 0; i < runs; i++)
    side->runs[i] = figure(side->values + i * count, count);
  return (struct sample){.latency = figure(side->values, runs * count),
                         .values = side->values,
                         .count = runs * count,
                         .run_latencies = side->runs,
                         .run_starts = starts,
                         .run_count = runs};
}

// Of two equal sets: how often the interval holds 0, and how often it finds an overhead, in per cent.
static void simulate(size_t runs, size_t count, enum interval_from from)
{
  int64_t starts[MOST];
  unsigned held = 0, found = 0;
  for (size_t i = 0; i < MOST; i++)
    starts[i] = (int64_t)i;
  for (int trial = 0; trial < TRIALS; trial++) {
    struct side sides[2];
    const int64_t *clock = from == INTERVAL_PAIRED_RUNS ? starts : NULL;
    struct sample a = measure(&sides[0], runs, count, clock), b = measure(&sides[1], runs, count, clock);
    struct interval interval = interval_of_difference(&a, &b);
    assert_int_equal(interval.from, from);
    held += interval.low <= 0 && interval.high >= 0;
    found += interval.low > 0;
  }
  print_message("%2zu runs of %2zu, from %s: coverage %.2f %%, false overheads %.2f %%\n", runs, count,
                interval_from_name(from), 100. * held / TRIALS, 100. * found / TRIALS);
  assert_in_range(held, TRIALS * 0.94, TRIALS * 0.957);
  assert_in_range(found, TRIALS * 0.02, TRIALS * 0.028);
}

// Of two equal variants on a machine that becomes three times as slow.
static void simulate_ratios(size_t count)
{
  unsigned held = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    double a[MOST], b[MOST];
    for (size_t i = 0; i < count; i++) {
      double slowness = 1 + 2 * (double)i / (double)count;
      a[i] = slowness * noisy_latency();
      b[i] = slowness * noisy_latency();
    }
    struct paired_ratio ratio = interval_ratio_of_pairs(a, b, count);
    held += ratio.low <= 1 && ratio.high >= 1;
  }
  print_message("%2zu ratios: coverage %.2f %%\n", count, 100. * held / TRIALS);
  assert_in_range(held, TRIALS * 0.94, TRIALS * 0.957);
}

static void test_simulated_coverage(void **unused)
{
  (void)unused;
  for (size_t i = 0; i < 3; i++) {
    const size_t counts[] = {5, 10, 30};
    simulate(1, counts[i], INTERVAL_OBSERVATIONS);
    simulate(counts[i], PER_RUN, INTERVAL_RUNS);
    simulate(counts[i], PER_RUN, INTERVAL_PAIRED_RUNS);
    simulate_ratios(counts[i]);
  }
}

// The number that is needed gives an interval that is narrow enough, a tenth less does not.
static void test_how_many_values_an_interval_needs(void **unused)
{
  (void)unused;
  double many[4000];
  for (size_t i = 0; i < COUNT(many); i++)
    many[i] = 10 + (i % 2 == 0 ? 0.3 : -0.3);
  struct sample a = of_values(0, many, 40), b = of_values(0, many + 1, 40);
  double needed = interval_needs(&a, &b, 0.03);
  assert_true(needed > 40 && needed < 4000);
  a.count = b.count = (size_t)needed / 10 * 10; // equal shares of both values
  struct interval enough = interval_of_difference(&a, &b);
  a.count = b.count = (size_t)(needed * 0.9) / 10 * 10;
  struct interval too_few = interval_of_difference(&a, &b);
  assert_true(enough.high - enough.low <= 2 * 0.03 * 1.02);
  assert_true(too_few.high - too_few.low > 2 * 0.03 * 1.02);
  a.count = b.count = 40;
  assert_true(isnan(interval_needs(&a, &b, 0)) && isnan(interval_needs(&a, &b, 1)));
  a.count = 1;
  assert_true(isnan(interval_needs(&a, &b, 0.1)));
  a = of_runs(10, drifting, blocks[0]);
  b = of_runs(10, below_it, blocks[1]);
  assert_true(interval_needs(&a, &b, 10) > 5);
}

static void test_verdicts(void **unused)
{
  (void)unused;
  const struct verdict_limits limits = {1, -5, 5};
  static const struct {
    double low, high;
    enum verdict verdict;
  } known[] = {
      {1.1, 9, VERDICT_SLOWER},     {-9, -1.1, VERDICT_FASTER},      {0.9, 4.9, VERDICT_SAME},
      {-4.9, 4.9, VERDICT_SAME},    {1.1, 2, VERDICT_SLOWER},        {0.9, 5, VERDICT_NOT_DECIDED},
      {-5, 0, VERDICT_NOT_DECIDED}, {NAN, NAN, VERDICT_NOT_DECIDED},
  };
  for (size_t i = 0; i < COUNT(known); i++) {
    const struct interval interval = {known[i].low, known[i].high, INTERVAL_RUNS};
    assert_int_equal(verdict_of(&interval, &limits), known[i].verdict);
  }
  assert_string_equal(verdict_name(VERDICT_NOT_COMPARABLE), "not comparable");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_student_quantile),
      cmocka_unit_test(test_few_observations_by_welch),
      cmocka_unit_test(test_outliers_do_not_widen_eight_observations),
      cmocka_unit_test(test_paired_runs_cancel_drift),
      cmocka_unit_test(test_without_two_values_there_is_no_interval),
      cmocka_unit_test(test_equal_values_give_a_point),
      cmocka_unit_test(test_disturbances_of_both_cancel_in_ratios),
      cmocka_unit_test(test_drift_of_thirds),
      cmocka_unit_test(test_simulated_coverage),
      cmocka_unit_test(test_how_many_values_an_interval_needs),
      cmocka_unit_test(test_verdicts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
