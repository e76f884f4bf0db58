// SPDX-License-Identifier: Apache-2.0
#include "format/switches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_moments(void **state)
{
  (void)state;
  struct session_switches switches = {0};
  assert_int_equal(switches_levels_at(&switches, 3, 10, 7), 7);
  switches_note(&switches, SESSION_TRACERS, 0, 100);
  switches_note(&switches, 3, 5, 200); // of one tracer
  switches_note(&switches, SESSION_TRACERS, 1, 300);
  assert_int_equal(switches_levels_at(&switches, 3, 99, 7), 7);
  assert_int_equal(switches_levels_at(&switches, 3, 100, 7), 0);
  assert_int_equal(switches_levels_at(&switches, 3, 250, 7), 5);
  assert_int_equal(switches_levels_at(&switches, 2, 250, 7), 0);
  assert_int_equal(switches_levels_at(&switches, 2, INT64_MAX, 7), 1);
}

static void test_more_than_fit(void **state)
{
  (void)state;
  struct session_switches switches = {0};
  for (int64_t i = 1; i <= 300; i++)
    switches_note(&switches, SESSION_TRACERS, (uint32_t)i, 10 * i);
  assert_int_equal(switches_levels_at(&switches, 0, 2999, 7), 299);
  assert_int_equal(switches_levels_at(&switches, 0, 450, 7), 45); // the first of 256
  assert_int_equal(switches_levels_at(&switches, 0, 440, 7), 45); // beyond: as at that one
  switches.switched[299 % SESSION_SWITCHES].sequence = 0;         // the last is being written
  assert_int_equal(switches_levels_at(&switches, 0, 5000, 7), 299);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments), cmocka_unit_test(test_more_than_fit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
