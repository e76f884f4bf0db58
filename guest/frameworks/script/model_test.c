// SPDX-License-Identifier: Apache-2.0
// The text of scripted models.
#include "frameworks/script/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void reads_all_statements(void **state)
{
  const char *text = "# a model\n"
                     "input data float N,3,?,8   # free and fixed\n"
                     "input flag bool\n"
                     "layer conv1 Conv 1.5ms shape=N,64,7,7 alloc=4096\n"
                     "kernel sgemm 200us\r\n"
                     "kernel bias 800ns\n"
                     "layer relu Relu 0us\n"
                     "batch-factor 0.25\n"
                     "fault exit 7 at 3";
  struct arena arena = {0};
  struct script_model model;
  assert_int_equal(script_parse(text, strlen(text), "m", &arena, &model, NULL), STATUS_OK);
  assert_int_equal(model.input_count, 2);
  assert_string_equal(model.inputs[0].name, "data");
  assert_int_equal(model.inputs[0].rank, 4);
  assert_int_equal(model.inputs[0].shape[0], -1);
  assert_string_equal(model.inputs[0].dimension_name[0], "N");
  assert_int_equal(model.inputs[0].shape[1], 3);
  assert_int_equal(model.inputs[0].shape[2], -1);
  assert_null(model.inputs[0].dimension_name[2]);
  assert_int_equal(model.inputs[1].type, TENSOR_BOOL);
  assert_int_equal(model.layer_count, 2);
  const struct script_layer *layer = model.layers;
  assert_string_equal(layer->name, "conv1");
  assert_string_equal(layer->type, "Conv");
  assert_int_equal(layer->duration_ns, 1500000);
  assert_int_equal(layer->alloc_bytes, 4096);
  assert_string_equal(layer->shape, "N,64,7,7");
  assert_string_equal(layer->kernels->name, "sgemm");
  assert_int_equal(layer->kernels->duration_ns, 200000);
  assert_int_equal(layer->kernels->next->duration_ns, 800);
  assert_null(layer->next->kernels);
  assert_int_equal(layer->next->alloc_bytes, -1);
  assert_true(model.batch_factor == 0.25);
  assert_int_equal(model.fault, SCRIPT_EXIT);
  assert_int_equal(model.fault_value, 7);
  assert_int_equal(model.fault_prediction, 3);
  arena_done(&arena);
}

static void refuses_with_line_and_reason(void **state)
{
  static const struct {
    const char *text, *where, *why;
  } cases[] = {
      {"layer a Conv\n", "m:1", "expected"},
      {"layer a Conv 5us\n\nkernel k\n", "m:3", "expected"},
      {"kernel k 5us\n", "m:1", "before the first layer"},
      {"layer a Conv 5\n", "m:1", "no duration: 5"},
      {"layer a Conv -5us\n", "m:1", "no duration"},
      {"layer a Conv nanus\n", "m:1", "no duration"},
      {"layer a Conv 1e300s\n", "m:1", "no duration"},
      {"layer a Conv 5us alloc=-1\n", "m:1", "unknown word"},
      {"input x complex N\nlayer a Conv 5us\n", "m:1", "unknown type"},
      {"input x float 3x\nlayer a Conv 5us\n", "m:1", "no dimension"},
      {"input x float 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n", "m:1", "too many"},
      {"layer a Conv 5us\nbatch-factor -1\n", "m:2", "batch-factor"},
      {"layer a Conv 5us\nfault burn\n", "m:2", "fault abort"},
      {"layer a Conv 5us\nfault exit 256\n", "m:2", "fault abort"},
      {"layer a Conv 5us\nfault abort at\n", "m:2", "fault abort"},
      {"jump\n", "m:1", "unknown statement: jump"},
      {"", "m:0", "without a layer"},
      {"a b c d e f g h i j k l m n o p q\n", "m:1", "too many words"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct arena arena = {0};
    struct script_model model;
    struct error err = {0};
    assert_int_equal(script_parse(cases[i].text, strlen(cases[i].text), "m", &arena, &model, &err), STATUS_INPUT);
    if (strcmp(err.where, cases[i].where) != 0 || strstr(err.why, cases[i].why) == NULL)
      fail_msg("\"%s\": %s: %s", cases[i].text, err.where, err.why);
    arena_done(&arena);
  }
}

static void refuses_what_is_no_text(void **state)
{
  struct arena arena = {0};
  struct script_model model;
  assert_int_equal(script_parse("layer a\0b Conv 5us", 18, "m", &arena, &model, NULL), STATUS_INPUT);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_all_statements),
      cmocka_unit_test(refuses_with_line_and_reason),
      cmocka_unit_test(refuses_what_is_no_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
