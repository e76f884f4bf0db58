// SPDX-License-Identifier: Apache-2.0
// Numbers as programs' locales write them.
#include "base/plain_number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *written, const char *expected)
{
  char text[32];
  strcpy(text, written);
  assert_int_equal(plain_number(text), strlen(expected));
  assert_string_equal(text, expected);
}

static void test_points_of_locales(void **state)
{
  (void)state;
  check("0.1", "0.1");
  check("-0,1", "-0.1");
  check("1\u066b5e-05", "1.5e-05"); // as in Persian
  check("1,5e+300", "1.5e+300");
}

static void test_numbers_without_a_point(void **state)
{
  (void)state;
  check("", "");
  check("-12", "-12");
  check("1e+20", "1e+20");
  check("-inf", "-inf");
  check("nan", "nan");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_points_of_locales),
      cmocka_unit_test(test_numbers_without_a_point),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
