// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_list(void **state)
{
  struct reply_runs runs;
  assert_true(clickhouse_reply_read_runs(slice_of("18446744073709551615\t56\t5\t0\t0\t1\n7\t1\t0\t1\t1\t0\n"), &runs));
  assert_int_equal(runs.runs.count, 2);
  assert_true(runs.runs.items[0].run == UINT64_MAX);
  assert_int_equal(runs.runs.items[0].spans, 56);
  assert_int_equal(runs.runs.items[0].observations, 5);
  assert_true(runs.runs.items[0].is_repeated && !runs.runs.items[0].has_metrics);
  assert_int_equal(runs.runs.items[1].foreign, 1);
  assert_true(runs.runs.items[1].has_metrics && !runs.runs.items[1].is_repeated);
  clickhouse_reply_runs_done(&runs);
  assert_true(clickhouse_reply_read_runs(slice_of(""), &runs));
  assert_int_equal(runs.runs.count, 0);
  clickhouse_reply_runs_done(&runs);
}

static void test_no_list(void **state)
{
  static const char *const texts[] = {"x",
                                      "1",
                                      "1\t2",
                                      "1\t2\t3\t4\t5",
                                      "1\t2\t3\t4\t5\t6\t7",
                                      "-1\t2\t3\t4\t5\t6",
                                      "1\t-2\t3\t4\t5\t6",
                                      "18446744073709551616\t2\t3\t4\t5\t6",
                                      "1\t9223372036854775808\t3\t4\t5\t6",
                                      "\n",
                                      "1\t2\t3\t4\t5\t\n"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct reply_runs runs;
    assert_false(clickhouse_reply_read_runs(slice_of(texts[i]), &runs));
    assert_null(runs.runs.items);
  }
}

static void test_problem(void **state)
{
  char problem[REPLY_PROBLEM_SIZE], longer[2 * REPLY_PROBLEM_SIZE];
  clickhouse_reply_problem(slice_of("\n Code: 60. DB::Exception: no table\nat line 2\n"), problem);
  assert_string_equal(problem, "Code: 60. DB::Exception: no table");
  clickhouse_reply_problem((struct slice){NULL, 0}, problem);
  assert_string_equal(problem, "");
  memset(longer, 'x', sizeof longer);
  clickhouse_reply_problem((struct slice){longer, sizeof longer}, problem);
  assert_int_equal(strlen(problem), REPLY_PROBLEM_SIZE - 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_list), cmocka_unit_test(test_no_list),
                                     cmocka_unit_test(test_problem)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
