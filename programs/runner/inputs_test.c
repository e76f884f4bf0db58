// SPDX-License-Identifier: Apache-2.0
// Inputs from metadata: shapes by rule, values by seed and name, the same everywhere and always.
#include "programs/runner/inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct tensor_info infos[3];
static struct predictor_model model = {.inputs = infos};
static struct runner_arguments arguments;
static struct inputs inputs;

static int reset(void **state)
{
  memset(infos, 0, sizeof infos);
  model.input_count = 1;
  arguments = (struct runner_arguments){.seed = 7, .options.model_path = "m.onnx"};
  return 0;
}

static int clean(void **state)
{
  inference_inputs_done(&inputs);
  return 0;
}

static void set_input(unsigned at, const char *name, enum tensor_type type, unsigned rank, const int64_t *shape)
{
  infos[at] = (struct tensor_info){.name = name, .type = type, .rank = rank};
  memcpy(infos[at].shape, shape, rank * sizeof *shape);
}

static void batch_is_dimension_zero_or_the_one_named_so(void **state)
{
  set_input(0, "x", TENSOR_FLOAT, 2, (int64_t[]){-1, 3});
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 4, NULL), STATUS_OK);
  assert_int_equal(inputs.tensors[0].shape[0], 4);
  assert_int_equal(inputs.tensors[0].size_bytes, 48);
  set_input(0, "x", TENSOR_INT64, 2, (int64_t[]){5, -1});
  infos[0].dimension_name[1] = "Batch_Size";
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 6, NULL), STATUS_OK);
  assert_int_equal(inputs.tensors[0].shape[0], 5);
  assert_int_equal(inputs.tensors[0].shape[1], 6);
}

static void a_name_means_the_same_in_all_inputs(void **state)
{
  model.input_count = 2;
  set_input(0, "a", TENSOR_FLOAT, 1, (int64_t[]){-1});
  set_input(1, "b", TENSOR_FLOAT, 2, (int64_t[]){3, -1});
  infos[0].dimension_name[0] = "rows"; // dimension 0: the batch, and so is every "rows"
  infos[1].dimension_name[1] = "rows";
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 9, NULL), STATUS_OK);
  assert_int_equal(inputs.tensors[1].shape[1], 9);
}

// Other names than the batch's are other sizes, and names that differ say nothing about which is the batch.
static void names_decide_which_is_the_batch(void **state)
{
  struct error err = {0};
  struct named_size dims[] = {{"sequence", 5}, {"rows", 8}};
  model.input_count = 3;
  set_input(0, "x", TENSOR_FLOAT, 2, (int64_t[]){-1, 16});
  set_input(1, "position", TENSOR_FLOAT, 2, (int64_t[]){-1, 16});
  set_input(2, "unnamed", TENSOR_FLOAT, 1, (int64_t[]){-1});
  infos[0].dimension_name[0] = "batch";
  infos[1].dimension_name[0] = "sequence";
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, &err), STATUS_INPUT);
  assert_string_equal(err.advice, "--dim sequence=N");
  arguments.dims = dims;
  arguments.dim_count = 1;
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, NULL), STATUS_OK);
  assert_int_equal(inputs.tensors[0].shape[0], 8);
  assert_int_equal(inputs.tensors[1].shape[0], 5);
  assert_int_equal(inputs.tensors[2].shape[0], 8);
  inference_inputs_done(&inputs);
  infos[0].dimension_name[0] = "rows";
  model.input_count = 2;
  arguments.dim_count = 0;
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, &err), STATUS_INPUT);
  assert_string_equal(err.advice, "--dim sequence=N"); // a sequence is never the batch
  infos[1].dimension_name[0] = "columns";
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, &err), STATUS_INPUT);
  assert_non_null(strstr(err.why, "\"rows\" or \"columns\""));
  assert_string_equal(err.advice, "--dim rows=8 for the one that is");
  dims[0].name = "columns";
  arguments.dim_count = 2;
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, NULL), STATUS_OK);
  assert_int_equal(inputs.tensors[0].shape[0], 8);
}

static void a_sequence_alone_is_no_batch(void **state)
{
  struct error err = {0};
  set_input(0, "input_ids", TENSOR_INT64, 1, (int64_t[]){-1});
  infos[0].dimension_name[0] = "sequence_length";
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, &err), STATUS_INPUT);
  assert_non_null(strstr(err.why, "no free batch dimension"));
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 1, &err), STATUS_INPUT);
  assert_string_equal(err.advice, "--dim sequence_length=N");
}

static void a_number_of_sequences_is_the_batch(void **state)
{
  static const char *const names[] = {"num_seqs", "num_sequences", "N_Seqs", "max_num_seqs"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    set_input(0, "lengths", TENSOR_INT64, 1, (int64_t[]){-1});
    infos[0].dimension_name[0] = names[i];
    assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, NULL), STATUS_OK);
    assert_int_equal(inputs.tensors[0].shape[0], 8);
    inference_inputs_done(&inputs);
  }
  static const char *const others[] = {"num_tokens", "in_seq", "num_seq_length"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    struct error err = {0};
    infos[0].dimension_name[0] = others[i];
    assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, &err), STATUS_INPUT);
    assert_non_null(strstr(err.why, "no free batch dimension"));
  }
}

static void sizes_come_from_dim(void **state)
{
  struct named_size dims[] = {{"seq", 11}, {"x.2", 13}};
  set_input(0, "x", TENSOR_FLOAT, 3, (int64_t[]){-1, -1, -1});
  infos[0].dimension_name[1] = "seq";
  arguments.dims = dims;
  arguments.dim_count = 2;
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 2, NULL), STATUS_OK);
  assert_int_equal(inputs.tensors[0].shape[1], 11);
  assert_int_equal(inputs.tensors[0].shape[2], 13);
  struct error err = {0};
  arguments.dim_count = 1;
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 2, &err), STATUS_INPUT);
  assert_non_null(strstr(err.why, "\"x.2\""));
  assert_string_equal(err.advice, "--dim x.2=N");
  assert_int_equal(inputs.batch, 0);
  assert_null(inputs.tensors);
}

static void the_batch_is_not_set_by_dim(void **state)
{
  struct error err = {0};
  struct named_size dim = {"N", 4};
  set_input(0, "x", TENSOR_FLOAT, 2, (int64_t[]){-1, 3});
  infos[0].dimension_name[0] = "N";
  arguments.dims = &dim;
  arguments.dim_count = 1;
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 1, &err), STATUS_USE);
  assert_string_equal(err.advice, "--batch 4");
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 4, NULL), STATUS_OK); // the same twice
  inference_inputs_done(&inputs);
  infos[0].dimension_name[0] = "rows"; // no batch by its name: may be fixed, but then there is none
  dim.name = "rows";
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 2, &err), STATUS_INPUT);
  assert_non_null(strstr(err.why, "no free batch dimension"));
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 1, NULL), STATUS_OK);
  assert_int_equal(inputs.tensors[0].shape[0], 4);
}

static void absurd_sizes_are_refused(void **state)
{
  struct error err = {0};
  set_input(0, "x", TENSOR_DOUBLE, 3, (int64_t[]){-1, INT64_MAX, INT64_MAX});
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 2, &err), STATUS_INPUT);
  set_input(0, "x", TENSOR_DOUBLE, 2, (int64_t[]){-1, INT64_C(1) << 40});
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 1, &err), STATUS_INPUT);
  set_input(0, "x", (enum tensor_type)99, 1, (int64_t[]){-1});
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 1, &err), STATUS_INPUT);
  assert_non_null(strstr(err.why, "99"));
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
  set_input(0, "image", TENSOR_FLOAT, 2, (int64_t[]){-1, 4});
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 2, NULL), STATUS_OK);
  float first[8];
  memcpy(first, inputs.tensors[0].data, sizeof first);
  // Written down: a change of these is a change of what every earlier profile measured.
  const float expected[4] = {-0x1.d43b20p-1f, -0x1.4b27acp-1f, 0x1.96ad50p-3f, 0x1.2aaeb0p-1f};
  for (int i = 0; i < 8; i++)
    assert_true(first[i] >= -1 && first[i] < 1);
  assert_memory_equal(first, expected, sizeof expected);
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 4, NULL), STATUS_OK);
  assert_memory_equal(first, inputs.tensors[0].data, sizeof first); // rows do not depend on the batch
  arguments.seed = 8;
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 2, NULL), STATUS_OK);
  assert_memory_not_equal(first, inputs.tensors[0].data, sizeof first);
  arguments.seed = 7;
  infos[0].name = "other";
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 2, NULL), STATUS_OK);
  assert_memory_not_equal(first, inputs.tensors[0].data, sizeof first);
}

static const int64_t *integers(const char *name)
{
  set_input(0, name, TENSOR_INT64, 2, (int64_t[]){-1, 4});
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 8, NULL), STATUS_OK);
  return inputs.tensors[0].data;
}

static void names_say_what_integers_may_be(void **state)
{
  for (int i = 0; i < 32; i++) {
    assert_int_equal(integers("attention_mask")[i], 1);
    assert_int_equal(integers("token_type_ids")[i], 0);
    assert_int_equal(integers("position_ids")[i], i % 4);
    assert_in_range(integers("input_ids")[i], 1, 99);
    assert_in_range(integers("x")[i], 0, 9);
    assert_int_equal(integers("sr")[i], 16000);
  }
}

static void halves_are_what_floats_are(void **state)
{
  set_input(0, "x", TENSOR_FLOAT, 1, (int64_t[]){-1});
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 64, NULL), STATUS_OK);
  float floats[64];
  memcpy(floats, inputs.tensors[0].data, sizeof floats);
  infos[0].type = TENSOR_FLOAT16;
  assert_int_equal(inference_inputs_prepare(&inputs, &model, &arguments, 64, NULL), STATUS_OK);
  for (int i = 0; i < 64; i++) {
    uint16_t half;
    memcpy(&half, (char *)inputs.tensors[0].data + 2 * i, 2);
    int exponent = half >> 10 & 31;
    float value = exponent == 0 ? 0 : __builtin_ldexpf((float)(1024 + (half & 1023)), exponent - 25);
    value = half >> 15 ? -value : value;
    assert_true(__builtin_fabsf(value - floats[i]) <= 0x1p-10f);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(batch_is_dimension_zero_or_the_one_named_so, reset, clean),
      cmocka_unit_test_setup_teardown(a_name_means_the_same_in_all_inputs, reset, clean),
      cmocka_unit_test_setup_teardown(names_decide_which_is_the_batch, reset, clean),
      cmocka_unit_test_setup_teardown(a_sequence_alone_is_no_batch, reset, clean),
      cmocka_unit_test_setup_teardown(a_number_of_sequences_is_the_batch, reset, clean),
      cmocka_unit_test_setup_teardown(sizes_come_from_dim, reset, clean),
      cmocka_unit_test_setup_teardown(the_batch_is_not_set_by_dim, reset, clean),
      cmocka_unit_test_setup_teardown(absurd_sizes_are_refused, reset, clean),
      cmocka_unit_test_setup_teardown(the_same_seed_gives_the_same_bytes, reset, clean),
      cmocka_unit_test_setup_teardown(names_say_what_integers_may_be, reset, clean),
      cmocka_unit_test_setup_teardown(halves_are_what_floats_are, reset, clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
