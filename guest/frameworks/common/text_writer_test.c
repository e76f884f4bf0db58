// SPDX-License-Identifier: Apache-2.0
// Texts in memory of the caller.
#include "frameworks/common/text_writer.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_as_printf_writes_them),
      cmocka_unit_test(texts_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
