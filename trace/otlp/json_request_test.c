// SPDX-License-Identifier: Apache-2.0
// Whole requests of JSON: what the visitor sees, in which order, and what is refused.
#include "otlp/json_request.h"
#include "otlp/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct seen {
  struct buf text;
  unsigned spans_most;
};

static enum status take_resource(void *context, const struct otlp_attribute *attributes, size_t count,
                                 struct error *err)
{
  struct seen *seen = context;
  (void)err;
  buf_format(&seen->text, "R%.*s ", count > 0 ? (int)attributes[0].key.length : 0,
             count > 0 ? attributes[0].key.data : "");
  return STATUS_OK;
}

static enum status take_scope(void *context, struct slice name, struct error *err)
{
  struct seen *seen = context;
  (void)err;
  buf_format(&seen->text, "C%.*s ", (int)name.length, name.data);
  return STATUS_OK;
}

static enum status take_span(void *context, const struct otlp_span *span, struct error *err)
{
  struct seen *seen = context;
  (void)err;
  if (seen->spans_most-- == 0)
    return STATUS_SYSTEM;
  buf_format(&seen->text, "S%.*s ", (int)span->name.length, span->name.data);
  return STATUS_OK;
}

// The request is in a block of its own size, so that a sanitizer sees reads beyond the padding.
static enum status decode(const char *request, unsigned spans_most, struct seen *ret_seen, const char **ret_problem)
{
  size_t length = strlen(request);
  char *copy = calloc(length + OTLP_JSON_PADDING, 1);
  struct otlp_json json = {0};
  *ret_seen = (struct seen){.spans_most = spans_most};
  const struct otlp_visitor visitor = {ret_seen, take_resource, take_scope, take_span};
  memcpy(copy, request, length);
  enum status status = otlp_json_decode(&json, copy, length, &visitor, NULL);
  *ret_problem = json.scan.problem;
  otlp_json_done(&json);
  free(copy);
  return status;
}

static void check(const char *request, const char *expected)
{
  struct seen seen;
  const char *problem;
  assert_int_equal(decode(request, 99, &seen, &problem), STATUS_OK);
  assert_null(problem);
  assert_string_equal(seen.text.data != NULL ? seen.text.data : "", expected);
  buf_done(&seen.text);
}

static void test_order(void **state)
{
  (void)state;
  check("{}", "");
  check(" {\"other\":[{}],\"resourceSpans\":[]} \n", "");
  check("{\"resourceSpans\":null}", "");
  check("{\"resourceSpans\":[{}]}", "R ");
  check("{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"k\"}]},\"scopeSpans\":["
        "{\"scope\":{\"name\":\"c\"},\"spans\":[{\"name\":\"a\"},{\"name\":\"b\"}]}]}]}",
        "Rk Cc Sa Sb ");
  check("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"a\"}],\"scope\":{\"name\":\"c\"}}],"
        "\"resource\":{\"attributes\":[{\"key\":\"k\"}]}}]}",
        "Rk Cc Sa "); // heads after their items
  check("{\"resource_spans\":[{\"scope_spans\":[{\"spans\":[{\"name\":\"a\"}]},null]},null]}", "R C Sa C R ");
  check("{\"resource\\u0053pans\":[{\"scopeSpans\":[{\"sp\\u0061ns\":[{\"n\\u0061me\":\"\\u00e4\"}]}]}]}",
        "R C S\xc3\xa4 ");
}

static enum status take_end(void *context, const struct otlp_span *span, struct error *err)
{
  (void)err;
  *(int64_t *)context = span->end_ns;
  return STATUS_OK;
}

// Protobuf does not send a number that is 0: both mean that the span has not ended, in both encodings.
static void test_an_end_of_zero_is_none(void **state)
{
  static const char *const texts[] = {"{\"endTimeUnixNano\":\"0\"}", "{\"endTimeUnixNano\":0}", "{}",
                                      "{\"endTimeUnixNano\":\"7\"}"};
  static const char message[] = "\x41\x00\x00\x00\x00\x00\x00\x00\x00"; // field 8
  struct otlp_proto proto = {0};
  int64_t end_ns = 1;
  const struct otlp_visitor visitor = {&end_ns, take_resource, take_scope, take_end};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char copy[OTLP_JSON_PADDING + 64] = "";
    size_t length = strlen(texts[i]);
    struct otlp_json json = {.scan = {.end = copy + length, .is_last = true}};
    memcpy(copy, texts[i], length);
    assert_non_null(otlp_json_span(&json, copy));
    assert_int_equal(json.parts.span.end_ns, i < 3 ? OTLP_NO_TIME : 7);
    otlp_json_done(&json);
  }
  assert_int_equal(otlp_proto_decode(&proto, OTLP_SPAN_MESSAGE, message, sizeof message - 1, &visitor, NULL),
                   STATUS_OK);
  assert_int_equal(end_ns, OTLP_NO_TIME);
  otlp_proto_done(&proto);
}

static void test_refused(void **state)
{
  static const char *const broken[] = {
      "",
      "[]",
      "null",
      "{",
      "{}x",
      "{} {}",
      "{\"a\"",
      "{\"a\":1,}",
      "{\"resourceSpans\":{}}",
      "{\"resourceSpans\":[}",
      "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[null]}]}]}",
      "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"startTimeUnixNano\":\"x\"}]}]}]}"};
  (void)state;
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
    struct seen seen;
    const char *problem;
    assert_int_equal(decode(broken[i], 99, &seen, &problem), STATUS_INPUT);
    assert_non_null(problem);
    buf_done(&seen.text);
  }
}

// Each request is cut at each byte: none of the parts is a request.
static void test_cut(void **state)
{
  static const char whole[] =
      "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"k\",\"value\":{\"intValue\":"
      "\"1\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"c\"},\"spans\":[{\"name\":\"a\"}]}]}]}";
  (void)state;
  for (size_t length = 0; length + 1 < sizeof whole; length++) {
    struct seen seen;
    const char *problem;
    char *part = strndup(whole, length);
    assert_int_equal(decode(part, 99, &seen, &problem), STATUS_INPUT);
    buf_done(&seen.text);
    free(part);
  }
}

static void test_visitors_status(void **state)
{
  struct seen seen;
  const char *problem;
  (void)state;
  assert_int_equal(
      decode("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"a\"},{},{}]}]}]}", 1, &seen, &problem),
      STATUS_SYSTEM);
  assert_null(problem);
  assert_string_equal(seen.text.data, "R C Sa ");
  buf_done(&seen.text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order), cmocka_unit_test(test_an_end_of_zero_is_none), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_cut),   cmocka_unit_test(test_visitors_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
