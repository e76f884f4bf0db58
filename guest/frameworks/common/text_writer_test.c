// SPDX-License-Identifier: Apache-2.0
// Texts in memory of the caller.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// Writes as in a locale with this decimal point: which locales there are depends on the machine.
static char decimal_point = '.';
__attribute__((format(printf, 3, 4))) static int write_in_locale(char *text, size_t size, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, size, format, arguments);
  va_end(arguments);
  char *point = strchr(text, '.');
  if (point != NULL)
    *point = decimal_point;
  return length;
}
#define snprintf write_in_locale
#include "frameworks/common/text_writer.h"
#undef snprintf

static void numbers_are_as_printf_writes_them(void **unused)
{
  (void)unused;
  static const int64_t numbers[] = {0, 7, -1, 10, -1000, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    char text[32], expected[32];
    struct text_writer writer = {text, sizeof text, 0};
    text_put_integer(&writer, numbers[i]);
    assert_int_equal(writer.length, snprintf(expected, sizeof expected, "%" PRId64, numbers[i]));
    assert_string_equal(text, expected);
  }
}

static void texts_are_cut(void **unused)
{
  (void)unused;
  char text[8] = "1234567";
  struct text_writer writer = {text, 6, 0};
  text_put(&writer, "abc");
  text_put_double(&writer, 0.5);
  assert_string_equal(text, "abc0.");
  assert_int_equal(writer.length, 6);
  text_put_integer(&writer, 99);
  assert_int_equal(writer.length, 8);
  assert_memory_equal(text,
                      "abc0.\0"
                      "7",
                      sizeof text); // nothing after its room
}

static void numbers_have_a_point_in_any_locale(void **unused)
{
  (void)unused;
  char text[32] = "";
  struct text_writer writer = {text, sizeof text, 0};
  decimal_point = ',';
  text_put_double(&writer, -0.25);
  assert_string_equal(text, "-0.25");
  decimal_point = '.';
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_as_printf_writes_them),
      cmocka_unit_test(texts_are_cut),
      cmocka_unit_test(numbers_have_a_point_in_any_locale),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
