// SPDX-License-Identifier: Apache-2.0
// Simulated calls between two clocks whose offset is known: it must be within the stated uncertainty.
#include "importers/otlp/clocks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define TRIALS 200
#define PAIRS 60
#define SECOND_NS INT64_C(1000000000)
#define START_NS INT64_C(1700000000000000000)

static double uniform(unsigned short state[3])
{
  return erand48(state);
}

// A delay on the network: asymmetric, mostly short, sometimes long.
static double delay_ns(unsigned short state[3], double typical_ns)
{
  return typical_ns * (0.2 - log(1 - uniform(state)));
}

struct truth {
  double offset_ns, drift, seconds, lies; // lies: share of pairs whose child outlived its parent
};

static void simulate(const struct truth *truth, unsigned short state[3], struct clock_pair pairs[PAIRS])
{
  for (int i = 0; i < PAIRS; i++) {
    double start = uniform(state) * truth->seconds * 1e9; // on the caller's clock, after START_NS
    double there = delay_ns(state, 100e3), work = uniform(state) * 20e6, back = delay_ns(state, 300e3);
    double child_start = start + there, child_end = child_start + work;
    double end = child_end + back;
    if (uniform(state) < truth->lies)
      end = child_start + work * uniform(state) - back;
    double ahead_start = truth->offset_ns + truth->drift * child_start;
    double ahead_end = truth->offset_ns + truth->drift * child_end;
    pairs[i] = (struct clock_pair){.time_ns = START_NS + (int64_t)start,
                                   .least_ns = (int64_t)floor(child_end + ahead_end - end),
                                   .most_ns = (int64_t)ceil(child_start + ahead_start - start)};
  }
}

// How many of TRIALS have the truth within the uncertainty, at the first and at the last pair.
static int count_right(const struct truth *truth, double *ret_mean_uncertainty_ns)
{
  unsigned short state[3] = {1, 2, 3};
  int right = 0;
  *ret_mean_uncertainty_ns = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    struct clock_pair pairs[PAIRS];
    struct clock_offset offset;
    bool is_right = true;
    simulate(truth, state, pairs);
    import_clock_estimate(pairs, PAIRS, &offset);
    for (int i = 0; i < PAIRS; i++) {
      double true_ns = truth->offset_ns + truth->drift * (double)(pairs[i].time_ns - START_NS);
      double found_ns = (double)import_clock_ahead(&offset, pairs[i].time_ns);
      is_right = is_right && fabs(found_ns - true_ns) <= (double)offset.uncertainty_ns + 20e6 * fabs(truth->drift) + 2;
    }
    right += offset.is_known && is_right;
    *ret_mean_uncertainty_ns += (double)offset.uncertainty_ns / TRIALS;
  }
  print_message("offset %.0f ns, drift %g, %g s, %g lies: %d of %d right, +- %.0f ns\n", truth->offset_ns, truth->drift,
                truth->seconds, truth->lies, right, TRIALS, *ret_mean_uncertainty_ns);
  return right;
}

static void test_truth_is_within_the_uncertainty(void **state)
{
  (void)state;
  static const struct truth truths[] = {
      {0, 0, 1, 0},       {3.2e6, 0, 1, 0},      {-250e6, 0, 1, 0},      {3600e9, 0, 10, 0},   {-86400e9, 0, 10, 0},
      {0, 50e-6, 600, 0}, {-7e6, -80e-6, 60, 0}, {1e9, 200e-6, 3600, 0}, {5e6, 10e-6, 0.1, 0}, {40e6, 0, 1, 0.2},
  };
  for (size_t i = 0; i < sizeof truths / sizeof truths[0]; i++) {
    double uncertainty_ns;
    assert_true(count_right(&truths[i], &uncertainty_ns) >= TRIALS * 95 / 100);
    assert_true(uncertainty_ns < 5e6); // a clock 5 ms apart is seen, even one that drifts
  }
}

static void test_contradictions_are_said(void **state)
{
  (void)state;
  struct clock_pair pairs[] = {{START_NS, 0, 10}, {START_NS + 1, 1000000, 1000010}, {START_NS + 2, 5000000, 5000010}};
  struct clock_offset offset;
  import_clock_estimate(pairs, 3, &offset);
  assert_false(offset.is_known);
  assert_int_equal(offset.count, 3);
  struct clock_pair longer = {START_NS, 10, -10}; // the callee seems to last longer than the call
  import_clock_estimate(&longer, 1, &offset);
  assert_false(offset.is_known);
}

static void test_no_offset_is_preferred(void **state)
{
  (void)state;
  struct clock_pair pairs[] = {{START_NS, -900, 100}, {START_NS + SECOND_NS, -50, 700}};
  struct clock_offset offset;
  import_clock_estimate(pairs, 2, &offset);
  assert_true(offset.is_known && offset.agreeing == 2);
  assert_int_equal(import_clock_ahead(&offset, START_NS), 0);
  assert_in_range(offset.uncertainty_ns, 100, 500101); // up to the highest drift over a second
}

static void test_one_call_and_a_consumer(void **state)
{
  (void)state;
  struct clock_pair pairs[] = {{START_NS, 2000000, 2000400}, {START_NS, 2000100 - (INT64_C(1) << 53), 2000100}};
  struct clock_offset offset;
  import_clock_estimate(pairs, 2, &offset);
  assert_int_equal(import_clock_ahead(&offset, START_NS), 2000050);
  assert_in_range(offset.uncertainty_ns, 50, 52);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_truth_is_within_the_uncertainty),
      cmocka_unit_test(test_contradictions_are_said),
      cmocka_unit_test(test_no_offset_is_preferred),
      cmocka_unit_test(test_one_call_and_a_consumer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
