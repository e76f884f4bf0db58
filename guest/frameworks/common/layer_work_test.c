// SPDX-License-Identifier: Apache-2.0
// Shapes and bytes of a layer's tensors as tags.
#include "frameworks/common/layer_work.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static void test_all_known(void **unused)
{
  (void)unused;
  struct layer_work work = {0};
  layer_work_add(&work, LAYER_ACTIVATION, (const int64_t[]){1, 230, 230, 3}, 4, 4);
  layer_work_add(&work, LAYER_PARAMETER, (const int64_t[]){7, 7, 3, 64}, 4, 4);
  layer_work_add(&work, LAYER_PARAMETER, NULL, 0, 4); // a scalar
  layer_work_add(&work, LAYER_OUTPUT, (const int64_t[]){1, 112, 112, 64}, 4, 4);
  struct arena arena = {0};
  struct layer_tags tags = {0};
  layer_work_tags(&work, &arena, &tags);
  assert_int_equal(tags.count, 4);
  assert_string_equal(tags.items[0].key, "input_shape");
  assert_string_equal(tags.items[0].text, "[1,230,230,3] [7,7,3,64] []");
  assert_string_equal(tags.items[1].key, "activation_bytes");
  assert_int_equal(tags.items[1].number, 230 * 230 * 3 * 4);
  assert_int_equal(tags.items[2].number, 7 * 7 * 3 * 64 * 4 + 4);
  assert_string_equal(tags.items[3].key, "output_bytes");
  assert_int_equal(tags.items[3].number, 112 * 112 * 64 * 4);
  arena_done(&arena);
}

static void test_unknown_is_not_told(void **unused)
{
  (void)unused;
  struct layer_work work = {0};
  layer_work_add(&work, LAYER_ACTIVATION, NULL, LAYER_RANK_UNKNOWN, 4);
  layer_work_add(&work, LAYER_PARAMETER, (const int64_t[]){INT64_MAX, INT64_MAX}, 2, 4);
  layer_work_add(&work, LAYER_OUTPUT, (const int64_t[]){8}, 1, 0);
  struct arena arena = {0};
  struct layer_tags tags = {0};
  layer_work_tags(&work, &arena, &tags);
  assert_int_equal(tags.count, 1);
  assert_string_equal(tags.items[0].text, "[-1] [9223372036854775807,9223372036854775807]");
  struct layer_work nothing = {0};
  tags.count = 0;
  layer_work_tags(&nothing, &arena, &tags);
  for (size_t i = 0; i < tags.count; i++) // no inputs: no bytes of inputs
    assert_true(tags.items[i].text == NULL && tags.items[i].number == 0 &&
                strcmp(tags.items[i].key, "output_bytes") != 0);
  arena_done(&arena);
}

static void test_many_inputs_are_cut_between_shapes(void **unused)
{
  (void)unused;
  struct layer_work work = {0};
  for (unsigned i = 0; i < 1000; i++)
    layer_work_add(&work, LAYER_ACTIVATION, (const int64_t[]){1, 56, 56, 64}, 4, 4);
  struct arena arena = {0};
  struct layer_tags tags = {0};
  layer_work_tags(&work, &arena, &tags);
  assert_int_equal(tags.count, 3);
  size_t length = strlen(tags.items[0].text);
  assert_true(length < sizeof work.inputs && length > 448 && tags.items[0].text[length - 1] == ']');
  assert_int_equal(tags.items[1].number, 1000 * 56 * 56 * 64 * 4);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_known), cmocka_unit_test(test_unknown_is_not_told),
                                     cmocka_unit_test(test_many_inputs_are_cut_between_shapes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
