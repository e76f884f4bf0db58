// SPDX-License-Identifier: Apache-2.0
// Fast paths of the JSON writer against plain ones: numbers as printf writes them, texts byte by byte.
#include "base/json_write.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed = 1;

static uint64_t next(void)
{
  seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return seed >> 11;
}

static void expect_shortest(double value)
{
  char expected[64], text[JSON_SHORTEST_BYTES];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(expected, sizeof expected, "%.*g", digits, value);
    if (strtod(expected, NULL) == value)
      break;
  }
  json_shortest(value, text);
  assert_string_equal(text, expected);
}

static void writes_numbers_as_printf_does(void **state)
{
  static const double edges[] = {0,      -0.0,     1,     -1,          0.1,       -2.5, 999999999, 999999999.999999,
                                 1e9,    1e15,     0.001, 0.000999999, 0.0000001, 1e-6, 123456.7,  1e300,
                                 5e-324, 0.1 + 0.2};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    expect_shortest(edges[i]);
  for (int i = 0; i < 20000; i++) {
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    double whole = (double)(next() % (UINT64_C(1) << next() % 40));
    expect_shortest(whole / powers[next() % 8]);
    expect_shortest(-whole * 0x1p-20);
    expect_shortest((double)next() / (double)(1 + next() % 1000));
  }
}

// What a text is by the rules, one byte after the other: all of them ASCII.
static void put_slowly(struct buf *out, const char *text, size_t length)
{
  buf_text(out, "\"");
  for (size_t i = 0; i < length; i++)
    if (text[i] == '"' || text[i] == '\\')
      buf_format(out, "\\%c", text[i]);
    else if (text[i] == '\n' || text[i] == '\t')
      buf_text(out, text[i] == '\n' ? "\\n" : "\\t");
    else if (text[i] < 0x20)
      buf_format(out, "\\u%04x", (unsigned)text[i]);
    else
      buf_put(out, &text[i], 1);
  buf_text(out, "\"");
}

static void escapes_at_each_place(void **state)
{
  static const char odd[] = {'"', '\\', '\n', '\t', 0, 1, 0x1f, 0x20, 0x7f, '!', '#', '[', ']'};
  for (size_t length = 0; length < 40; length++)
    for (size_t place = 0; place < length; place++)
      for (size_t i = 0; i < sizeof odd; i++) {
        char text[40];
        struct buf out = {0}, expected = {0};
        struct json_writer json;
        memset(text, 'x', sizeof text);
        text[place] = odd[i];
        json_start(&json, &out);
        json_string_n(&json, text, length);
        put_slowly(&expected, text, length);
        assert_string_equal(out.data, expected.data);
        buf_done(&out);
        buf_done(&expected);
      }
}

static void repairs_what_is_not_utf8(void **state)
{
  struct buf out = {0};
  struct json_writer json;
  json_start(&json, &out);
  json_string_n(&json,
                "eight by\xff"
                "tes\xc3\xa9",
                14);
  assert_string_equal(out.data, "\"eight by\xef\xbf\xbd"
                                "tes\xc3\xa9\"");
  buf_done(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_numbers_as_printf_does),
      cmocka_unit_test(escapes_at_each_place),
      cmocka_unit_test(repairs_what_is_not_utf8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
