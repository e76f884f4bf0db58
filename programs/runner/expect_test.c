// SPDX-License-Identifier: Apache-2.0
// A manifest's inputs against a model's, across the text that xsp hands to the runner; and values by rule.
#include "programs/runner/inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct tensor_info infos[2];
static struct predictor_model model = {.inputs = infos};
static struct arena arena;

static int reset(void **state)
{
  memset(infos, 0, sizeof infos);
  infos[0] = (struct tensor_info){.name = "a", .type = TENSOR_FLOAT, .rank = 3, .shape = {-1, 3, -1}};
  infos[1] = (struct tensor_info){.name = "b", .type = TENSOR_INT64, .rank = 1, .shape = {2}};
  model = (struct predictor_model){.inputs = infos, .input_count = 2};
  return 0;
}

static int clean(void **state)
{
  arena_done(&arena);
  return 0;
}

// Through the text, as in life.
static struct expectation expect(const struct expectation *expectation)
{
  struct buf text;
  struct expectation read;
  buf_init(&text, 4096);
  expectation_format(expectation, &text);
  assert_false(text.failed);
  assert_null(strchr(text.data, '\n'));
  assert_true(expectation_parse(text.data, &arena, &read));
  buf_done(&text);
  return read;
}

static struct expectation whole_a(void)
{
  struct expectation a = {.where = "m\t1.yml:3", .has_shape = true, .fill = {RULE_UNIFORM, 0.1, 1e30}};
  a.info = (struct tensor_info){.name = "a", .type = TENSOR_FLOAT, .rank = 3, .shape = {-1, 3, 224}};
  a.info.dimension_name[0] = "N";
  return expect(&a);
}

static struct expectation whole_b(void)
{
  return expect(&(struct expectation){.where = "m.yml:4", .info = {.name = "b"}, .fill = {RULE_INTEGERS, -1, 9}});
}

static void the_text_keeps_all(void **state)
{
  struct expectation a = whole_a();
  assert_string_equal(a.where, "m\t1.yml:3");
  assert_true(a.has_shape && a.info.rank == 3 && a.info.shape[0] == -1 && a.info.shape[2] == 224);
  assert_string_equal(a.info.dimension_name[0], "N");
  assert_true(a.fill.kind == RULE_UNIFORM && a.fill.low == 0.1 && a.fill.high == 1e30);
  struct expectation b = whole_b();
  assert_false(b.has_shape);
  struct expectation scalar = expect(&(struct expectation){.where = "", .info = {.name = "s"}, .has_shape = true});
  assert_true(scalar.has_shape && scalar.info.rank == 0);
  assert_false(expectation_parse("input\tm\ta", &arena, &scalar));
  assert_false(expectation_parse("input\tm\ta\t99\t-\t0\t0\t0", &arena, &scalar));
}

static void what_the_model_leaves_free_is_taken_from_the_manifest(void **state)
{
  struct expectation both[] = {whole_a(), whole_b()};
  assert_int_equal(expect_apply(&model, both, 2, NULL), STATUS_OK);
  assert_int_equal(infos[0].shape[2], 224);
  assert_int_equal(infos[0].shape[0], -1);
  assert_string_equal(infos[0].dimension_name[0], "N");
}

static void what_does_not_fit_is_refused(void **state)
{
  struct error err = {0};
  struct expectation both[] = {whole_a(), whole_b()};
  assert_int_equal(expect_apply(&model, both, 1, &err), STATUS_INPUT); // b is not listed
  assert_non_null(strstr(err.why, "an input b that the manifest does not list"));
  both[1].info.type = TENSOR_FLOAT;
  assert_int_equal(expect_apply(&model, both, 2, &err), STATUS_INPUT);
  assert_string_equal(err.where, "m.yml:4");
  assert_string_equal(err.advice, "type: int64");
  both[1] = whole_b();
  both[1].fill = (struct fill_rule){RULE_UNIFORM, 0, 1};
  assert_int_equal(expect_apply(&model, both, 2, &err), STATUS_INPUT);
  both[1] = whole_b();
  both[0].info.shape[1] = 4;
  assert_int_equal(expect_apply(&model, both, 2, &err), STATUS_INPUT);
  assert_non_null(strstr(err.why, "dimension 1 of input a is 3 in the model, here it is 4"));
}

static void outputs_are_compared_where_they_are_told(void **state)
{
  struct expectation output = expect(&(struct expectation){
      .is_output = true, .where = "m.yml:9", .info = {.name = "y", .rank = 1, .shape = {5}}, .has_shape = true});
  assert_int_equal(expect_apply(&model, &output, 1, NULL), STATUS_OK);
  struct tensor_info told = {.name = "y", .rank = 1, .shape = {4}};
  model.outputs = &told;
  model.output_count = 1;
  assert_int_equal(expect_apply(&model, &output, 1, NULL), STATUS_INPUT);
  told.has_no_shape = true;
  assert_int_equal(expect_apply(&model, &output, 1, NULL), STATUS_OK);
  told.name = "z";
  assert_int_equal(expect_apply(&model, &output, 1, NULL), STATUS_INPUT);
}

static void values_follow_the_rule(void **state)
{
  double wide[64];
  struct tensor_info info = {.name = "x", .type = TENSOR_DOUBLE};
  struct tensor tensor = {.info = &info, .data = wide, .size_bytes = sizeof wide};
  fill_tensor(&tensor, &(struct fill_rule){RULE_UNIFORM, -2, 3}, 1);
  double least = 3, most = -2;
  for (size_t i = 0; i < 64; i++) {
    assert_true(wide[i] >= -2 && wide[i] < 3);
    least = wide[i] < least ? wide[i] : least;
    most = wide[i] > most ? wide[i] : most;
  }
  assert_true(least < -1 && most > 2);
  int8_t small[64];
  info.type = TENSOR_INT8;
  tensor = (struct tensor){.info = &info, .data = small, .size_bytes = sizeof small};
  bool seen[4] = {false};
  fill_tensor(&tensor, &(struct fill_rule){RULE_INTEGERS, -1, 2}, 1);
  for (size_t i = 0; i < 64; i++) {
    assert_true(small[i] >= -1 && small[i] <= 2);
    seen[small[i] + 1] = true;
  }
  assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
  uint16_t half[1];
  info.type = TENSOR_FLOAT16;
  tensor = (struct tensor){.info = &info, .data = half, .size_bytes = sizeof half};
  fill_tensor(&tensor, &(struct fill_rule){RULE_CONSTANT, 2.5, 0}, 1);
  assert_int_equal(half[0], 0x4100);
  fill_tensor(&tensor, &(struct fill_rule){RULE_CONSTANT, 1e9, 0}, 1);
  assert_int_equal(half[0], 0x7bff);
}

static void rules_are_held_against_the_type(void **state)
{
  assert_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 1e38, 0}, TENSOR_FLOAT));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 1e39, 0}, TENSOR_FLOAT));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, -1e39, 0}, TENSOR_BFLOAT16));
  assert_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 1e39, 0}, TENSOR_DOUBLE));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_INTEGERS, 0, 65505}, TENSOR_FLOAT16));
  assert_null(fill_rule_problem(&(struct fill_rule){RULE_UNIFORM, -2, 2}, TENSOR_FLOAT16));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_UNIFORM, -1e308, 1e308}, TENSOR_DOUBLE));
  assert_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 255, 0}, TENSOR_UINT8));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 256, 0}, TENSOR_UINT8));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 1.5, 0}, TENSOR_INT32));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 0x1p63, 0}, TENSOR_INT64));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 0x1p64, 0}, TENSOR_UINT64));
  assert_null(fill_rule_problem(&(struct fill_rule){RULE_INTEGERS, 0, 1}, TENSOR_BOOL));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_INTEGERS, 0, 2}, TENSOR_BOOL));
  assert_non_null(fill_rule_problem(&(struct fill_rule){RULE_CONSTANT, 0, 0}, TENSOR_STRING));
  assert_null(fill_rule_problem(&(struct fill_rule){RULE_DEFAULT, 0, 0}, TENSOR_STRING));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_text_keeps_all, reset, clean),
      cmocka_unit_test_setup_teardown(what_the_model_leaves_free_is_taken_from_the_manifest, reset, clean),
      cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, reset, clean),
      cmocka_unit_test_setup_teardown(outputs_are_compared_where_they_are_told, reset, clean),
      cmocka_unit_test(values_follow_the_rule),
      cmocka_unit_test(rules_are_held_against_the_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
