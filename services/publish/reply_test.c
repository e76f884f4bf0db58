// SPDX-License-Identifier: Apache-2.0
#include "publish/reply.h"

#include <xsp/span.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_verdicts(void **state)
{
  static const struct {
    long code;
    enum reply_verdict verdict;
  } wanted[] = {{200, REPLY_ACCEPTED}, {202, REPLY_ACCEPTED}, {429, REPLY_RETRY},     {502, REPLY_RETRY},
                {503, REPLY_RETRY},    {504, REPLY_RETRY},    {413, REPLY_TOO_LARGE}, {301, REPLY_STOP},
                {401, REPLY_STOP},     {403, REPLY_STOP},     {404, REPLY_STOP},      {405, REPLY_STOP},
                {415, REPLY_STOP},     {400, REPLY_REFUSED},  {408, REPLY_REFUSED},   {422, REPLY_REFUSED},
                {500, REPLY_REFUSED},  {501, REPLY_REFUSED},  {505, REPLY_REFUSED}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    assert_int_equal(publish_reply_verdict_of(wanted[i].code), wanted[i].verdict);
}

static void test_forms(void **state)
{
  assert_int_equal(publish_reply_form_of("application/x-protobuf"), REPLY_PROTOBUF);
  assert_int_equal(publish_reply_form_of("Application/JSON; charset=utf-8"), REPLY_JSON);
  assert_int_equal(publish_reply_form_of("text/plain"), REPLY_TEXT);
  assert_int_equal(publish_reply_form_of("application/jsonp"), REPLY_OTHER);
  assert_int_equal(publish_reply_form_of(""), REPLY_OTHER);
  assert_int_equal(publish_reply_form_of(NULL), REPLY_OTHER);
}

static void check(const char *text, size_t length, enum reply_form form, bool is_accepted, bool is_read,
                  int64_t rejected, const char *message)
{
  struct reply reply;
  assert_int_equal(publish_reply_read((struct slice){text, length}, form, is_accepted, &reply), is_read);
  assert_int_equal(reply.rejected_count, rejected);
  assert_string_equal(reply.message, message);
}
#define CHECK(text, ...) check(text, sizeof text - 1, __VA_ARGS__)

static void test_protobuf(void **state)
{
  CHECK("", REPLY_PROTOBUF, true, true, 0, "");
  CHECK("\x0a\x07\x08\x05\x12\x03old", REPLY_PROTOBUF, true, true, 5, "old");
  CHECK("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", REPLY_PROTOBUF, true, true, 0, ""); // -1
  CHECK("\x08\x03\x12\x03old", REPLY_PROTOBUF, false, true, 0, "old");
  CHECK("\x0a\x07\x08\x05\x12\x09old", REPLY_PROTOBUF, true, false, 0, "");
  CHECK("\xff", REPLY_PROTOBUF, false, false, 0, "");
}

static void test_json(void **state)
{
  CHECK("{}", REPLY_JSON, true, true, 0, "");
  CHECK("{\"partialSuccess\":{\"rejectedSpans\":\"5\",\"errorMessage\":\"old\"}}", REPLY_JSON, true, true, 5, "old");
  CHECK("{\"x\":[{}],\"partial_success\":{\"y\":{},\"rejected_spans\":5}}", REPLY_JSON, true, true, 5, "");
  CHECK("{\"partialSuccess\":null}", REPLY_JSON, true, true, 0, "");
  CHECK("{\"code\":3,\"message\":\"old\"}", REPLY_JSON, false, true, 0, "old");
  CHECK("{\"partialSuccess\":{\"rejectedSpans\":5}", REPLY_JSON, true, false, 0, "");
  CHECK("[]", REPLY_JSON, true, false, 0, "");
  CHECK("{} {}", REPLY_JSON, true, false, 0, "");
}

static void test_others(void **state)
{
  CHECK("", REPLY_OTHER, true, true, 0, "");
  CHECK("ok", REPLY_TEXT, true, false, 0, "");
  CHECK(" busy\n", REPLY_TEXT, false, true, 0, "busy");
  CHECK("<html>", REPLY_OTHER, false, false, 0, "");
}

static void test_long_messages(void **state)
{
  char text[1000];
  struct reply reply;
  memset(text, 'x', sizeof text);
  assert_true(publish_reply_read((struct slice){text, sizeof text}, REPLY_TEXT, false, &reply));
  assert_int_equal(strlen(reply.message), sizeof reply.message - 1);
}

static void test_levels(void **state)
{
  static const char *const bad[] = {
      "", "{}", "[]", "{\"wanted\":7}", "{\"wanted\":\"L/M\"}", "{\"wanted\":\"M\"", "{\"more\":{\"wanted\":\"M\"}}"};
  uint32_t mask = 7;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(publish_reply_read_levels(slice_of(bad[i]), &mask));
  assert_int_equal(mask, 7);
  assert_true(publish_reply_read_levels(slice_of("{\"id\":[1],\"wanted\":\"M/L\"}"), &mask));
  assert_int_equal(mask, XSP_LEVEL_MASK(XSP_LEVEL_MODEL) | XSP_LEVEL_MASK(XSP_LEVEL_LAYER));
  assert_true(publish_reply_read_levels(slice_of("{\"wanted\":\"none\"}"), &mask));
  assert_int_equal(mask, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verdicts), cmocka_unit_test(test_forms),  cmocka_unit_test(test_protobuf),
      cmocka_unit_test(test_json),     cmocka_unit_test(test_others), cmocka_unit_test(test_long_messages),
      cmocka_unit_test(test_levels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
