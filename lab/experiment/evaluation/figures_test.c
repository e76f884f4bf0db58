// SPDX-License-Identifier: Apache-2.0
// Which runs of a scenario are valid.
#include "experiment/evaluation/evaluation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool is_valid(size_t wanted, bool was_interrupted)
{
  double latencies_ms[] = {1, 2, 3};
  const struct scenario scenario = {.kind = SCENARIO_SINGLE_STREAM, .batch = 1, .queries = wanted};
  const struct scenario_result result = {.qps = NAN,
                                         .qps_upper = NAN,
                                         .seconds = 1,
                                         .latencies_ms = latencies_ms,
                                         .query_count = 3,
                                         .was_interrupted = was_interrupted,
                                         .wait_ms = NAN,
                                         .queue_gap_ms = NAN};
  struct arena arena SCOPED(arena_done) = {0};
  struct table_builder table;
  struct table answer = {0};
  table_start(&table, &arena);
  table_row(&table);
  evaluation_put_scenario(&table, &scenario, &result);
  table_answer(&table, &answer);
  return table_cell_at(&answer, 0, "is_valid")->value.truth;
}

static void test_enough_queries_for_long_enough_are_valid(void **state)
{
  (void)state;
  assert_true(is_valid(3, false));
  assert_false(is_valid(4, false));
  assert_false(is_valid(3, true));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_enough_queries_for_long_enough_are_valid)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
