// SPDX-License-Identifier: Apache-2.0
// Elements of every type as double, and which layers of two models are one.
#include "experiment/evaluation/tensor_values.h"

#include "experiment/evaluation/layer_pairs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static double one(enum tensor_type type, const void *data)
{
  double value = -1;
  assert_true(tensor_values(type, data, 1, &value));
  return value;
}

static void test_half_precision(void **state)
{
  static const struct {
    uint16_t bits;
    double value;
  } halves[] = {{0x3c00, 1}, {0xc000, -2},        {0x7bff, 65504}, {0x0001, 0x1p-24}, {0x03ff, 1023 * 0x1p-24},
                {0x8000, 0}, {0x3555, 0x1.554p-2}};
  for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
    assert_true(one(TENSOR_FLOAT16, &halves[i].bits) == halves[i].value);
  assert_true(isinf(one(TENSOR_FLOAT16, &(uint16_t){0xfc00})));
  assert_true(isnan(one(TENSOR_FLOAT16, &(uint16_t){0x7e00})));
  assert_true(one(TENSOR_BFLOAT16, &(uint16_t){0x3f80}) == 1);
  assert_true(one(TENSOR_BFLOAT16, &(uint16_t){0xc049}) == -3.140625);
}

static void test_whole_numbers(void **state)
{
  assert_true(one(TENSOR_INT8, &(int8_t){-5}) == -5);
  assert_true(one(TENSOR_UINT8, &(uint8_t){250}) == 250);
  assert_true(one(TENSOR_BOOL, &(uint8_t){1}) == 1);
  assert_true(one(TENSOR_INT16, &(int16_t){-300}) == -300);
  assert_true(one(TENSOR_UINT16, &(uint16_t){60000}) == 60000);
  assert_true(one(TENSOR_INT32, &(int32_t){-70000}) == -70000);
  assert_true(one(TENSOR_UINT32, &(uint32_t){4000000000}) == 4e9);
  assert_true(one(TENSOR_INT64, &(int64_t){INT64_MIN}) == -0x1p63);
  assert_true(one(TENSOR_UINT64, &(uint64_t){UINT64_C(1) << 63}) == 0x1p63);
  assert_true(one(TENSOR_DOUBLE, &(double){.1}) == .1);
  double value;
  assert_false(tensor_values(TENSOR_STRING, &value, 1, &value));
}

static void test_pairs(void **state)
{
  static const struct layer_name first[] = {{"a", "Conv"}, {"b", "Relu"}, {"c", "Conv"}, {"d", "Softmax"}};
  static const struct layer_name same[] = {{"d", "Softmax"}, {"x", "Pad"}, {"a", "Conv"}, {"b", "Relu"}};
  static const struct layer_name renamed[] = {{"1", "Convolution"}, {"2", "BiasAdd"}, {"3", "relu"}, {"4", "conv2d"}};
  struct arena arena = {0};
  bool is_by_order = true;
  const size_t *found = layer_pairs(first, 4, same, 4, &arena, &is_by_order);
  assert_false(is_by_order);
  assert_memory_equal(found, ((const size_t[]){2, 3, SIZE_MAX, 0}), 4 * sizeof *found);
  found = layer_pairs(first, 4, renamed, 4, &arena, &is_by_order);
  assert_true(is_by_order);
  assert_memory_equal(found, ((const size_t[]){0, 2, 3, SIZE_MAX}), 4 * sizeof *found);
  found = layer_pairs(first, 4, NULL, 0, &arena, &is_by_order);
  assert_true(found[0] == SIZE_MAX);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_half_precision),
      cmocka_unit_test(test_whole_numbers),
      cmocka_unit_test(test_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
