// SPDX-License-Identifier: Apache-2.0
// The byte buffer: growth up to its maximum, numbers in decimal, malformed text.
#include "base/decimal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void writes_numbers_in_decimal(void **state)
{
  struct buf buf = {0};
  const int64_t numbers[] = {0, 7, -10, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    assert_true(decimal_int(&buf, numbers[i]));
    buf_text(&buf, " ");
  }
  decimal_unsigned(&buf, UINT64_MAX);
  assert_string_equal(buf.data, "0 7 -10 9223372036854775807 -9223372036854775808 18446744073709551615");
  buf_done(&buf);
}

static void fills_its_maximum_and_no_more(void **state)
{
  struct buf buf;
  buf_init(&buf, 150); // between two doublings
  for (int i = 0; i < 150; i++)
    assert_true(buf_text(&buf, "x"));
  assert_int_equal(buf.length, 150);
  assert_false(buf_text(&buf, "y"));
  assert_true(buf.failed);
  assert_false(buf_put(&buf, "", 0)); // sticky
  assert_int_equal(buf.length, 150);
  assert_int_equal(buf.data[150], 0);
  buf_clear(&buf);
  assert_true(buf_text(&buf, "again"));
  assert_string_equal(buf.data, "again");
  buf_done(&buf);
}

static void repairs_malformed_text(void **state)
{
  struct buf buf = {0};
  buf_utf8(&buf, "plain", 5);
  buf_utf8(&buf, "a\xff\xc3\xa9", 4);
  buf_utf8(&buf, "", 0);
  assert_string_equal(buf.data, "plaina\xef\xbf\xbd\xc3\xa9");
  buf_done(&buf);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_numbers_in_decimal),
      cmocka_unit_test(fills_its_maximum_and_no_more),
      cmocka_unit_test(repairs_malformed_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
