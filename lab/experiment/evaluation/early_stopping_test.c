// SPDX-License-Identifier: Apache-2.0
#include "experiment/evaluation/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// The fewest queries that LoadGen 6.0.17 takes with so many late ones.
static void test_fewest_queries(void **state)
{
  static const size_t fewest[] = {459, 662, 838, 1001, 1157};
  (void)state;
  for (size_t late = 0; late < sizeof fewest / sizeof fewest[0]; late++) {
    assert_true(scenario_keeps_bound(fewest[late], late));
    assert_false(scenario_keeps_bound(fewest[late] - 1, late));
  }
  assert_true(scenario_keeps_bound(10000000, 90000)); // no term of the sum underflows to all of it
  assert_false(scenario_keeps_bound(10000000, 110000));
}

// Between both there is no saying.
static void test_misses(void **state)
{
  (void)state;
  assert_false(scenario_misses_bound(662, 0));
  assert_false(scenario_misses_bound(662, 7));
  assert_true(scenario_misses_bound(662, 14));
  assert_false(scenario_misses_bound(0, 0) || scenario_keeps_bound(0, 0));
}

static void test_late(void **state)
{
  static const double latencies_ms[] = {1, 5, 2, 3};
  (void)state;
  assert_int_equal(scenario_late(latencies_ms, 4, 2), 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fewest_queries), cmocka_unit_test(test_misses),
                                     cmocka_unit_test(test_late)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
