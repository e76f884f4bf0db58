// SPDX-License-Identifier: Apache-2.0
// Names on a terminal: what is valid, what is escaped, how wide it is, where it is cut and wrapped.
#include "report/display.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct buf out;

static int setup(void **state)
{
  buf_init(&out, 1 << 16);
  return 0;
}

static int teardown(void **state)
{
  buf_done(&out);
  return 0;
}

static void test_decode(void **state)
{
  static const struct {
    const char *bytes;
    size_t length, expected;
    uint32_t code_point;
  } cases[] = {
      {"a", 1, 1, 'a'},
      {"\xc3\xa4", 2, 2, 0xe4},
      {"\xe5\xb1\xa4", 3, 3, 0x5c64},
      {"\xf0\x9f\x98\x80", 4, 4, 0x1f600},
      {"\xc3", 1, 0, 0},             // cut off
      {"\xc0\x80", 2, 0, 0},         // overlong
      {"\xe0\x80\x80", 3, 0, 0},     // overlong
      {"\xf0\x80\x80\x80", 4, 0, 0}, // overlong
      {"\xed\xa0\x80", 3, 0, 0},     // a surrogate
      {"\xf4\x90\x80\x80", 4, 0, 0}, // beyond Unicode
      {"\x80", 1, 0, 0},
      {"\xff", 1, 0, 0},
      {"", 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint32_t code_point = 0;
    assert_int_equal(display_decode(cases[i].bytes, cases[i].length, &code_point), cases[i].expected);
    if (cases[i].expected != 0)
      assert_int_equal(code_point, cases[i].code_point);
  }
}

static void expect_escaped(const char *text, size_t length, const char *expected)
{
  buf_clear(&out);
  display_escape(&out, text, length);
  assert_string_equal(out.data, expected);
}

static void test_escape(void **state)
{
  expect_escaped("conv/1", 6, "conv/1");
  expect_escaped("\x1b[31m\n\t\r\x7f", 9, "\\x1b[31m\\n\\t\\x0d\\x7f");
  expect_escaped("a\0b", 3, "a\\x00b");
  expect_escaped("\xff\xc3", 2, "\\xff\\xc3");
  expect_escaped("\xe2\x80\xae", 3, "\\u{202e}"); // right-to-left override
  expect_escaped("\xc2\x9b", 2, "\\u{9b}");       // C1's own escape
  expect_escaped("\xc3\xa4\xe5\xb1\xa4", 5, "\xc3\xa4\xe5\xb1\xa4");
}

static void test_columns(void **state)
{
  assert_int_equal(display_columns("abc", 3), 3);
  assert_int_equal(display_columns("\xc3\xa4", 2), 1);
  assert_int_equal(display_columns("\xe5\xb1\xa4", 3), 2); // wide
  assert_int_equal(display_columns("a\xcc\x88", 3), 1);    // a combining mark
  assert_int_equal(display_columns("\xe2\x80\xa6", 3), 1); // the ellipsis
}

static void test_cut_fits_and_keeps_both_ends(void **state)
{
  const char *name = "resnet50/block3/unit7/conv2/BiasAdd";
  for (size_t columns = 1; columns <= strlen(name) + 1; columns++) {
    buf_clear(&out);
    display_cut(&out, name, strlen(name), columns);
    assert_true(display_columns(out.data, out.length) <= columns);
    if (columns >= strlen(name))
      assert_string_equal(out.data, name);
  }
  buf_clear(&out);
  display_cut(&out, name, strlen(name), 11);
  assert_string_equal(out.data, "resne"
                                "\xe2\x80\xa6"
                                "asAdd");
}

static void test_cut_never_splits_a_character(void **state)
{
  const char *name = "\xe5\xb1\xa4\xe5\xb1\xa4\xe5\xb1\xa4\xe5\xb1\xa4\xe5\xb1\xa4";
  for (size_t columns = 1; columns < 10; columns++) {
    buf_clear(&out);
    display_cut(&out, name, strlen(name), columns);
    assert_true(display_columns(out.data, out.length) <= columns);
    for (size_t i = 0; i < out.length;) {
      uint32_t code_point = 0;
      size_t size = display_decode(out.data + i, out.length - i, &code_point);
      assert_true(size > 0);
      i += size;
    }
  }
}

static void test_wrap(void **state)
{
  buf_clear(&out);
  display_wrap(&out, "one two three four", 2, 4, 12);
  assert_string_equal(out.data, "one two\n    three\n    four\n");
  buf_clear(&out);
  display_wrap(&out, "one two three four", 2, 4, 0);
  assert_string_equal(out.data, "one two three four\n");
  buf_clear(&out);
  display_wrap(&out, "", 0, 0, 10);
  assert_string_equal(out.data, "\n");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_decode),
      cmocka_unit_test(test_escape),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_cut_fits_and_keeps_both_ends),
      cmocka_unit_test(test_cut_never_splits_a_character),
      cmocka_unit_test(test_wrap),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
