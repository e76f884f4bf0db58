// SPDX-License-Identifier: Apache-2.0
// Where a model file is cut: every cut of a small model is found, and the place names the part.
#include "frameworks/onnxruntime/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ir_version 8; graph { node {5 bytes}, node {3 bytes}, name "g", initializer {4 bytes} }; opset {2 bytes}
static const uint8_t model[] = {0x08, 0x08, 0x3a, 0x15, 0x0a, 0x05, 1, 2, 3, 4, 5,    0x0a, 0x03, 1,   2,
                                3,    0x12, 0x01, 'g',  0x2a, 0x04, 1, 2, 3, 4, 0x42, 0x02, 0x10, 0x11};

static bool damage(size_t size, char *place, size_t place_size)
{
  uint8_t *exact = malloc(size + 1);
  memcpy(exact, model, size);
  bool damaged = onnx_damage(exact, size, place, place_size);
  free(exact);
  return damaged;
}

static void a_whole_model_is_whole(void **state)
{
  char place[256];
  assert_false(damage(sizeof model, place, sizeof place));
}

static void every_cut_is_found(void **state)
{
  char place[256];
  for (size_t size = 0; size < sizeof model; size++) {
    bool is_between_fields = size == 25; // a model may end there
    assert_int_equal(damage(size, place, sizeof place), !is_between_fields);
  }
}

static void the_place_names_the_part(void **state)
{
  char place[256];
  assert_true(damage(14, place, sizeof place));
  assert_string_equal(place, "byte 11 (graph, node 1): 3 bytes are announced, the file has 1 more");
  assert_true(damage(23, place, sizeof place));
  assert_string_equal(place, "byte 19 (graph, initializer 0): 4 bytes are announced, the file has 2 more");
  assert_true(damage(28, place, sizeof place));
  assert_string_equal(place, "byte 25 (field 8): 2 bytes are announced, the file has 1 more");
  assert_true(damage(2, place, sizeof place));
  assert_string_equal(place, "byte 2: the file ends without a graph");
  assert_true(damage(0, place, sizeof place));
  assert_string_equal(place, "byte 0: the file is empty");
  const uint8_t text[] = "this is no model";
  assert_true(onnx_damage(text, sizeof text - 1, place, sizeof place));
  assert_non_null(strstr(place, "byte "));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_model_is_whole),
      cmocka_unit_test(every_cut_is_found),
      cmocka_unit_test(the_place_names_the_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
