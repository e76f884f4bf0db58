// SPDX-License-Identifier: Apache-2.0
// Statements of Python: where they begin and end, what they assign, and where a name is one.
#include "analyze/findings/statements.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char source[] = "import x  # = (\n"
                             "\n"
                             "def f(\n"
                             "    a, b\n"
                             "):\n"
                             "  for i in a:\n"
                             "    c = \"\"\"\n"
                             "(\n"
                             "\"\"\"\n"
                             "    # (\n"
                             "    d = a + \\\n"
                             "        b\n"
                             "  return d";

static void assert_statement(int64_t line, const char *text, int64_t first, int64_t last)
{
  struct statement at;
  assert_true(findings_statement_at(slice_of(source), line, &at));
  assert_true(slice_is(at.text, text));
  assert_int_equal(at.first, first);
  assert_int_equal(at.last, last);
}

static void test_lines(void **unused)
{
  (void)unused;
  assert_statement(1, "import x", 1, 1);
  assert_statement(4, "def f(\n    a, b\n):", 3, 5);
  assert_statement(8, "c = \"\"\"\n(\n\"\"\"", 7, 9);
  assert_statement(12, "d = a + \\\n        b", 11, 12);
  assert_statement(13, "return d", 13, 13);
  struct statement at;
  assert_false(findings_statement_at(slice_of(source), 14, &at));
  assert_false(findings_statement_at(slice_of(""), 1, &at));
}

static void test_headers(void **unused)
{
  (void)unused;
  struct statement at;
  assert_true(findings_statement_at(slice_of(source), 11, &at));
  assert_true(findings_header_of(slice_of(source), at, &at));
  assert_int_equal(at.first, 6);
  assert_true(findings_header_of(slice_of(source), at, &at));
  assert_int_equal(at.first, 3);
  assert_false(findings_header_of(slice_of(source), at, &at));
  assert_true(findings_statement_at(slice_of(source), 13, &at));
  assert_true(findings_header_of(slice_of(source), at, &at));
  assert_int_equal(at.first, 3);
}

static void test_assignments(void **unused)
{
  (void)unused;
  struct slice targets, value;
  assert_true(findings_assignment(slice_of("a, b[c == \"=\"] = f(d=1)"), &targets, &value));
  assert_true(slice_is(targets, "a, b[c == \"=\"]"));
  assert_true(slice_is(value, " f(d=1)"));
  assert_false(findings_assignment(slice_of("f(a=1, b=\"=\") == c"), &targets, &value));
}

static void test_arguments(void **unused)
{
  (void)unused;
  struct slice rest = slice_of("x[1, 2], dim = 3 ) + 1, 2"), argument;
  assert_true(findings_next_argument(&rest, &argument));
  assert_true(slice_is(argument, "x[1, 2]"));
  assert_true(findings_next_argument(&rest, &argument));
  assert_true(slice_is(argument, "dim = 3"));
  assert_false(findings_next_argument(&rest, &argument));
  assert_int_equal(findings_bracket_from(slice_of("f(a[0], {b})"), 2, 1), 11);
  assert_int_equal(findings_bracket_from(slice_of("f(a[0], {b})"), 7, -1), 1);
  assert_int_equal(findings_bracket_from(slice_of("f(a"), 2, 1), 3);
}

static void test_names(void **unused)
{
  (void)unused;
  assert_int_equal(findings_name_at(slice_of("self.h + oh + h_ + h"), 0, slice_of("h")), 19);
  assert_false(findings_has_name(slice_of("hh"), slice_of("h")));
  assert_false(findings_is_name(slice_of("2x")));
}

static void test_settings(void **unused)
{
  (void)unused;
  struct slice text = slice_of("f(xa=1, a_b=2, 'a=3', # a=4\n a == b, c.a = 5)"), value;
  size_t at = findings_setting_at(text, 0, slice_of("a"), &value);
  assert_true(slice_is(value, "5)"));
  assert_int_equal(findings_setting_at(text, at + 1, slice_of("a"), &value), text.length);
  assert_int_equal(findings_setting_at(text, 0, slice_of("f"), &value), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),     cmocka_unit_test(test_headers), cmocka_unit_test(test_assignments),
      cmocka_unit_test(test_arguments), cmocka_unit_test(test_names),   cmocka_unit_test(test_settings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
