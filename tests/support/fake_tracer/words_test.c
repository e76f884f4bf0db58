// SPDX-License-Identifier: Apache-2.0
// Script lines: words, values, quotes, comments, and what is refused.
#include "tests/support/fake_tracer/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_line(void **state)
{
  char line[] = "  span a start=5 name=\"two words\" tag \"42\" # the rest";
  struct words words;
  assert_true(words_split(line, &words));
  assert_int_equal(words.count, 4);
  assert_string_equal(words.word[0], "span");
  assert_string_equal(words.word[1], "a");
  assert_string_equal(words.word[3], "42");
  assert_true(words.is_quoted[3]);
  assert_false(words.is_quoted[1]);
  assert_string_equal(words_value(&words, "name", ""), "two words");
  assert_string_equal(words_value(&words, "start", ""), "5");
  assert_null(words_value(&words, "end", NULL));
}

static void test_refused(void **state)
{
  struct words words;
  char open[] = "log a \"never closed";
  assert_false(words_split(open, &words));
  char value[] = "span name=\"never closed";
  assert_false(words_split(value, &words));
  char many[256] = "";
  for (int i = 0; i < WORDS_MAXIMUM + 1; i++)
    strcat(many, "a ");
  assert_false(words_split(many, &words));
  char empty[] = " \t# only this";
  assert_true(words_split(empty, &words));
  assert_int_equal(words.count, 0);
}

static void test_numbers(void **state)
{
  int64_t number;
  double real;
  assert_true(words_number("-17", &number));
  assert_int_equal(number, -17);
  assert_false(words_number("17x", &number));
  assert_false(words_number("", &number));
  assert_false(words_number("99999999999999999999", &number));
  assert_true(words_real("2.5", &real));
  assert_true(real > 2.4 && real < 2.6);
  assert_false(words_real("two", &real));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_line),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
