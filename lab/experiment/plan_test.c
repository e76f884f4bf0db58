// SPDX-License-Identifier: Apache-2.0
// The level sets of `xsp run --leveled`.
#include "experiment/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_sets(uint32_t published_mask, const char *expected)
{
  struct run_plan plan;
  char text[RUN_PLAN_SETS_MAXIMUM * (LEVEL_SET_TEXT_SIZE + 1)] = "";
  run_plan_make(run_plan_everything(), published_mask, &plan);
  for (size_t i = 0; i < plan.set_count; i++) {
    char set[LEVEL_SET_TEXT_SIZE];
    level_set_format(plan.sets[i], set);
    strcat(strcat(text, i == 0 ? "" : ","), set);
  }
  assert_string_equal(text, expected);
}

static void test_level_sets(void **state)
{
  (void)state;
  const uint32_t a = 1, m = 2, l = 4, lib = 8, k = 16;
  expect_sets(m | l | k, "M,M/L,M/L/K");
  expect_sets(l, "M,M/L");
  expect_sets(k, "M,M/K");
  expect_sets(a | l | k, "M,A/M,A/M/L,A/M/L/K");
  expect_sets(l | lib | k, "M,M/L,M/L/Lib,M/L/K");
  expect_sets(lib, "M,M/Lib");
  expect_sets(0, "M,M/L/K");
  expect_sets(m, "M,M/L/K");
  expect_sets(XSP_LEVEL_MASK_ALL, "M,A/M,A/M/L,A/M/L/Lib,A/M/L/K");
}

static void test_what_is_left_out_is_reported(void **state)
{
  (void)state;
  struct run_plan plan;
  struct buf text;
  buf_init(&text, 1000);
  run_plan_make(run_plan_everything(), 4, &plan);
  run_plan_explain(&plan, &text);
  assert_string_equal(text.data,
                      "nothing was published at level application, library, kernel: level sets with it are left out");
  buf_clear(&text);
  run_plan_make(run_plan_everything(), XSP_LEVEL_MASK_ALL, &plan);
  run_plan_explain(&plan, &text);
  assert_int_equal(text.length, 0);
  buf_done(&text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_level_sets),
      cmocka_unit_test(test_what_is_left_out_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
