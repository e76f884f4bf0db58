// SPDX-License-Identifier: Apache-2.0
#include "publish/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *request, size_t length, bool is_json, const char *first, const char *second)
{
  struct buf halves[2] = {{0}, {0}};
  const char *wanted[2] = {first, second};
  assert_int_equal(publish_request_split((struct slice){request, length}, is_json, &halves[0], &halves[1]),
                   first != NULL);
  for (int i = 0; i < 2; i++) {
    if (first != NULL) {
      assert_int_equal(halves[i].length, strlen(wanted[i]));
      assert_memory_equal(halves[i].data, wanted[i], halves[i].length);
    }
    buf_done(&halves[i]);
  }
}
#define CHECK(text, ...) check(text, sizeof text - 1, __VA_ARGS__)

#define HEAD                                                                                                           \
  "{\"resourceSpans\":[{\"resource\":{},\"scopeSpans\":[{\"scope\":{\"name\":\"a\\\"spans\\\":[{}\"},\"spans\":["
#define TAIL "]}]}]}\n"

static void test_json(void **state)
{
  CHECK(HEAD "{\"a\":[1,2]},{\"b\":\",]\\\"}\"},{}" TAIL, true, HEAD "{\"a\":[1,2]}" TAIL,
        HEAD "{\"b\":\",]\\\"}\"},{}" TAIL);
  CHECK(HEAD "{},{}" TAIL, true, HEAD "{}" TAIL, HEAD "{}" TAIL);
  CHECK(HEAD "{}" TAIL, true, NULL, NULL);
  CHECK(HEAD TAIL, true, NULL, NULL);
  CHECK(HEAD "{\"a\":\"", true, NULL, NULL);
  CHECK("", true, NULL, NULL);
}

// resourceSpans { resource "R", scopeSpans { scope "S", spans "a", "b", "c" } }
static void test_protobuf(void **state)
{
  CHECK("\x0a\x11\x0a\x01R\x12\x0c\x0a\x01S\x12\x01"
        "a\x12\x01"
        "b\x12\x01"
        "c",
        false,
        "\x0a\x0b\x0a\x01R\x12\x06\x0a\x01S\x12\x01"
        "a",
        "\x0a\x0e\x0a\x01R\x12\x09\x0a\x01S\x12\x01"
        "b\x12\x01"
        "c");
  CHECK("\x0a\x0b\x0a\x01R\x12\x06\x0a\x01S\x12\x01"
        "a",
        false, NULL, NULL);
  CHECK("\x0a\x08\x0a\x01R\x12\x03\x0a\x01S", false, NULL, NULL);
  CHECK("", false, NULL, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_json), cmocka_unit_test(test_protobuf)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
