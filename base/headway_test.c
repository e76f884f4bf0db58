// SPDX-License-Identifier: Apache-2.0
// When a step's progress is shown, and with which figures.
#include "base/headway.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define MB UINT64_C(1000000)

static void test_shown_from_two_seconds_on(void **state)
{
  (void)state;
  struct headway headway = {0};
  char text[96] = "";
  const uint64_t begin = 5000 * MS;
  assert_false(headway_bytes(&headway, begin, 1 * MB, 200 * MB, text, sizeof text));
  assert_false(headway_bytes(&headway, begin + 1999 * MS, 49 * MB, 200 * MB, text, sizeof text));
  assert_int_equal(headway.shown_ns, 0);
  assert_true(headway_bytes(&headway, begin + 2000 * MS, 50 * MB, 200 * MB, text, sizeof text));
  assert_string_equal(text, "25 % of 200.0 MB, 25.0 MB/s, about 6 s left");
  assert_false(headway_bytes(&headway, begin + 2199 * MS, 60 * MB, 200 * MB, text, sizeof text));
  assert_true(headway_bytes(&headway, begin + 4000 * MS, 100 * MB, 200 * MB, text, sizeof text));
  assert_string_equal(text, "50 % of 200.0 MB, 25.0 MB/s, about 4 s left");
  assert_false(headway_bytes(&headway, begin + 5000 * MS, 200 * MB, 200 * MB, text, sizeof text)); // nothing is left
}

static void test_a_file_that_is_read_again(void **state)
{
  (void)state;
  struct headway headway = {0};
  char text[96] = "";
  assert_false(headway_bytes(&headway, 1 * MS, 90 * MB, 100 * MB, text, sizeof text));
  assert_false(headway_bytes(&headway, 3000 * MS, 1 * MB, 100 * MB, text, sizeof text));
  assert_true(headway_bytes(&headway, 5000 * MS, 80 * MB, 100 * MB, text, sizeof text));
  assert_string_equal(text, "80 % of 100.0 MB, 40.0 MB/s, about 0 s left");
}

static void test_steps(void **state)
{
  (void)state;
  struct headway headway = {0};
  char text[96] = "";
  assert_false(headway_steps(&headway, 1 * MS, 1, 40, text, sizeof text));
  assert_true(headway_steps(&headway, 4001 * MS, 10, 40, text, sizeof text));
  assert_string_equal(text, "10 of 40 steps, 2.5 steps/s, about 12 s left");
  assert_false(headway_steps(&headway, 9001 * MS, 40, 40, text, sizeof text));
}

static void test_units(void **state)
{
  (void)state;
  struct headway headway = {0};
  char text[96] = "";
  assert_false(headway_units(&headway, "spans", 1 * MS, 4096, 9000000, text, sizeof text));
  assert_true(headway_units(&headway, "spans", 4001 * MS, 3000000, 9000000, text, sizeof text));
  assert_string_equal(text, "33 % of 9000000 spans, 750000 spans/s, about 8 s left");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shown_from_two_seconds_on),
      cmocka_unit_test(test_a_file_that_is_read_again),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
