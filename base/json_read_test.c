// SPDX-License-Identifier: Apache-2.0
// The JSON reader: what it hands out, and where and why it refuses.
#include "base/json_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// Runs the reader and writes one letter (and text) per event.
static void trace(const char *text, size_t length, char *out, size_t size)
{
  struct json_reader reader;
  json_read_start(&reader, text, length);
  size_t used = 0;
  out[0] = 0;
  while (json_next(&reader) != JSON_END) {
    static const char letters[] = {
        [JSON_OBJECT] = '{', [JSON_OBJECT_END] = '}', [JSON_ARRAY] = '[', [JSON_ARRAY_END] = ']', [JSON_KEY] = 'k',
        [JSON_STRING] = 's', [JSON_NUMBER] = 'n',     [JSON_TRUE] = 't',  [JSON_FALSE] = 'f',     [JSON_NULL] = '0'};
    if (reader.event == JSON_ERROR) {
      used += (size_t)snprintf(out + used, size - used, "!%zu:%s", reader.offset, reader.problem);
      assert_int_equal(json_next(&reader), JSON_ERROR); // sticky
      break;
    }
    used += (size_t)snprintf(out + used, size - used, "%c", letters[reader.event]);
    if (reader.event == JSON_KEY || reader.event == JSON_STRING || reader.event == JSON_NUMBER) {
      assert_int_equal(strlen(reader.text), reader.length);
      used += (size_t)snprintf(out + used, size - used, "(%s)", reader.text);
    }
  }
  json_read_done(&reader);
}

static void check(const char *text, const char *expected)
{
  char out[1024];
  trace(text, strlen(text), out, sizeof out);
  assert_string_equal(out, expected);
}

static void reads_every_kind_of_value(void **state)
{
  check(" {\"a\" : [1, -2.5e+3, true,false , null,\"x\"], \"b\":{}, \"c\":[]} \n",
        "{k(a)[n(1)n(-2.5e+3)tf0s(x)]k(b){}k(c)[]}");
  check("0", "n(0)");
  check("\"\"", "s()");
}

static void decodes_strings(void **state)
{
  check("\"a\\n\\u0041\\u00e9\\ud83d\\ude00\\/\"", "s(a\nA\xc3\xa9\xf0\x9f\x98\x80/)");
  check("\"\\ud800x\\udc00\"", "s(\xef\xbf\xbdx\xef\xbf\xbd)"); // lone surrogates
  check("\"\\ud800\\u0041\"", "s(\xef\xbf\xbd"
                              "A)"); // the second escape stands for itself
  check("\"a\xff\xc3\xa9\xed\xa0\x80\"", "s(a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd)");
  check("\"tab\tline\nend\"", "s(tab\tline\nend)"); // raw control bytes are tolerated
}

static void hands_out_nul_bytes_with_their_length(void **state)
{
  struct json_reader reader;
  const char text[] = "\"a\\u0000b\"";
  json_read_start(&reader, text, strlen(text));
  assert_int_equal(json_next(&reader), JSON_STRING);
  assert_int_equal(reader.length, 3);
  assert_memory_equal(reader.text, "a\0b", 4);
  json_read_done(&reader);
}

static void says_where_text_is_broken(void **state)
{
  check("", "!0:empty document");
  check("  ", "!2:document ends too early");
  check("[1,]", "[n(1)!3:not a value");
  check("[1 2]", "[n(1)!3:',' or ']' expected");
  check("{\"a\" 1}", "{!5:':' expected after a key");
  check("{\"a\":1,}", "{k(a)n(1)!7:a key in quotes expected");
  check("{1:2}", "{!1:a key in quotes expected");
  check("{\"a\":1]", "{k(a)n(1)!6:',' or '}' expected");
  check("[\"abc", "[!1:string does not end");
  check("[\"a\\x\"]", "[!3:bad escape in a string");
  check("\"\\u12g4\"", "!1:bad escape in a string");
  check("01", "n(0)!1:text after the document's end");
  check("1.", "!2:digits expected after a decimal point");
  check("1e", "!2:digits expected in an exponent");
  check("-", "!0:not a value");
  check("nul", "!0:not a value");
  check("{} {}", "{}!3:text after the document's end");
  check("[", "[!1:document ends too early");
}

static void refuses_absurd_nesting(void **state)
{
  char text[JSON_READ_DEPTH + 2];
  memset(text, '[', sizeof text);
  struct json_reader reader;
  json_read_start(&reader, text, sizeof text);
  for (unsigned i = 0; i < JSON_READ_DEPTH; i++)
    assert_int_equal(json_next(&reader), JSON_ARRAY);
  assert_int_equal(json_next(&reader), JSON_ERROR);
  assert_string_equal(reader.problem, "nested too deep");
  assert_int_equal(reader.offset, JSON_READ_DEPTH);
  json_read_done(&reader);
}

static void skips_a_whole_value(void **state)
{
  const char *text = "[{\"a\":[1,{\"b\":2}]},7]";
  struct json_reader reader;
  json_read_start(&reader, text, strlen(text));
  json_next(&reader);
  assert_int_equal(json_next(&reader), JSON_OBJECT);
  assert_true(json_skip(&reader));
  assert_int_equal(json_next(&reader), JSON_NUMBER);
  assert_true(json_skip(&reader)); // a scalar: nothing to run over
  assert_int_equal(json_next(&reader), JSON_ARRAY_END);
  assert_int_equal(json_next(&reader), JSON_END);
  json_read_done(&reader);
  json_read_start(&reader, "[[1,", 4);
  json_next(&reader);
  assert_false(json_skip(&reader));
  assert_false(json_skip(&reader));
  json_read_done(&reader);
}

static bool integer(const char *text, int64_t *ret_value)
{
  struct json_reader reader;
  json_read_start(&reader, text, strlen(text));
  json_next(&reader);
  bool exact = json_int64(&reader, ret_value);
  json_read_done(&reader);
  return exact;
}

static void converts_exact_integers_only(void **state)
{
  int64_t value = 0;
  assert_true(integer("9223372036854775807", &value));
  assert_int_equal(value, INT64_MAX);
  assert_true(integer("-9223372036854775808", &value));
  assert_true(value == INT64_MIN);
  assert_true(integer("-0", &value));
  assert_int_equal(value, 0);
  assert_false(integer("9223372036854775808", &value));
  assert_false(integer("-9223372036854775809", &value));
  assert_false(integer("1.0", &value));
  assert_false(integer("1e2", &value));
  assert_false(integer("\"1\"", &value));
  assert_false(integer("99999999999999999999999999", &value));
}

// Writes "key:value " of texts and numbers, and what is inside "in"; refuses the key "no".
static bool write_member(void *context, struct json_reader *reader, const char *key)
{
  char *text = context;
  if (key != NULL && strcmp(key, "no") == 0)
    return false;
  if (key != NULL && strcmp(key, "in") == 0)
    return json_each(reader, write_member, text);
  if (reader->event == JSON_STRING || reader->event == JSON_NUMBER)
    sprintf(text + strlen(text), "%s:%s ", key != NULL ? key : "", reader->text);
  return true;
}

static void hands_out_members(void **state)
{
  static const char *const wrong[] = {"",           "[]",         "1",          "{\"a\":1} x", "{\"a\":1",
                                      "{\"a\":1,}", "{\"no\":1}", "{\"in\":1}", "{\"in\":[1}", "{\"a\":{]"};
  char text[200] = "", long_key[200];
  static const char object[] =
      "{\"a\":1,\"skipped\":[{\"a\":2}],\"in\":{\"b\":\"c\",\"in\":[3,{\"d\":4},[5]]},\"e\":null,\"f\":6}";
  assert_true(json_each_of_text(object, strlen(object), write_member, text));
  assert_string_equal(text, "a:1 b:c :3 f:6 "); // what `take` leaves is passed over
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_false(json_each_of_text(wrong[i], strlen(wrong[i]), write_member, text));
  text[0] = 0;
  snprintf(long_key, sizeof long_key, "{\"%0*d\":1,\"%0*d\":2}", JSON_KEY_BYTES, 0, JSON_KEY_BYTES - 1, 0);
  assert_true(json_each_of_text(long_key, strlen(long_key), write_member, text));
  assert_string_equal(text + JSON_KEY_BYTES - 1, ":2 ");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_kind_of_value),
      cmocka_unit_test(decodes_strings),
      cmocka_unit_test(hands_out_nul_bytes_with_their_length),
      cmocka_unit_test(says_where_text_is_broken),
      cmocka_unit_test(refuses_absurd_nesting),
      cmocka_unit_test(skips_a_whole_value),
      cmocka_unit_test(converts_exact_integers_only),
      cmocka_unit_test(hands_out_members),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
