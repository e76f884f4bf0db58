// SPDX-License-Identifier: Apache-2.0
// Matches events of XNNPACK to operators and computes their work. The file reader is tested by
// tests/frameworks/litert/long_litert.py and the fuzz target.
#include "frameworks/litert/graph.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static struct litert_node nodes[] = {{.type = "PAD"},     {.type = "CONV_2D", .activation = "RELU"},
                                     {.type = "CONV_2D"}, {.type = "ADD", .activation = "RELU"},
                                     {.type = "CUMSUM"},  {.type = "FULLY_CONNECTED"},
                                     {.type = "SOFTMAX"}};
static const struct litert_graph graph = {NULL, 0, nodes, 7};

#define XNNPACK(name)                                                                                                  \
  {                                                                                                                    \
    .tag = name, .is_delegated = true                                                                                  \
  }

static void test_events_follow_operators(void **unused)
{
  (void)unused;
  const struct litert_event events[] = {XNNPACK("Convolution (NHWC, F32) IGEMM"),
                                        XNNPACK("Fully Connected (NC, F32) GEMM"),
                                        XNNPACK("Add (ND)"),
                                        XNNPACK("Clamp (NC)"),
                                        {.tag = "CUMSUM", .node = 4},
                                        XNNPACK("Fully Connected (NC, F32) GEMM"),
                                        XNNPACK("Static Reshape (NC)"),
                                        XNNPACK("Softmax (NC, F32)")};
  const struct litert_match expected[] = {{LITERT_WHOLE, 1},      {LITERT_WHOLE, 2}, {LITERT_MAIN, 3},
                                          {LITERT_ACTIVATION, 3}, {LITERT_WHOLE, 4}, {LITERT_WHOLE, 5},
                                          {LITERT_PUT_IN, 0},     {LITERT_WHOLE, 6}};
  struct litert_match matches[8];
  assert_true(litert_graph_match(&graph, events, 8, matches));
  for (size_t i = 0; i < 8; i++)
    assert_true(matches[i].part == expected[i].part && matches[i].node == expected[i].node);
}

static void test_another_order_is_not_believed(void **unused)
{
  (void)unused;
  const struct litert_event lists[][4] = {
      {XNNPACK("Convolution"), XNNPACK("Add (ND)"), {.tag = "CUMSUM", .node = 4}, XNNPACK("Softmax")}, // one is missing
      {XNNPACK("Convolution"), XNNPACK("Convolution"), XNNPACK("Clamp"), XNNPACK("Add")},              // not its own
      {XNNPACK("Something New"), XNNPACK("Convolution"), {.tag = "CUMSUM", .node = 4}, XNNPACK("Add")},
      {{.tag = "X", .node = 99}, {.tag = "X", .node = -1}, {.tag = "CUMSUM", .node = 4}, XNNPACK("Softmax")}};
  for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
    struct litert_match matches[4];
    assert_false(litert_graph_match(&graph, lists[k], 4, matches));
    for (size_t i = 0; i < 4; i++)
      if (lists[k][i].is_delegated || lists[k][i].node != 4)
        assert_int_equal(matches[i].part, LITERT_UNKNOWN);
      else
        assert_true(matches[i].part == LITERT_WHOLE && matches[i].node == 4);
  }
}

static const char *text_of(const struct litert_work *work, const char *key)
{
  for (size_t i = 0; i < work->tags.count; i++)
    if (strcmp(work->tags.items[i].key, key) == 0)
      return work->tags.items[i].text;
  return "";
}

static void test_work_of_a_batch(void **unused)
{
  (void)unused;
  struct litert_tensor tensors[] = {
      {.name = "x", .rank = 4, .sizes = {1, 8, 8, 3}, .element_bytes = 4, .has_free_batch = true},
      {.name = "w", .rank = 4, .sizes = {16, 3, 3, 3}, .element_bytes = 4, .is_constant = true},
      {.name = "y", .rank = 4, .sizes = {1, 6, 6, 16}, .element_bytes = 4, .has_free_batch = true},
      {.name = "z", .rank = 2, .sizes = {1, 5}, .element_bytes = 4, .has_free_others = true}};
  const int32_t inputs[] = {0, 1, -1}, output[] = {2}, odd[] = {3, 77};
  struct litert_node one[] = {
      {.type = "CONV_2D",
       .activation = "RELU6",
       .inputs = inputs,
       .outputs = output,
       .input_count = 3,
       .output_count = 1},
      {.type = "MAX_POOL_2D", .inputs = odd, .outputs = odd, .input_count = 2, .output_count = 1, .window = {3, 2}}};
  const struct litert_graph conv = {tensors, 4, one, 2};
  struct arena arena = {0};
  const struct litert_work *work = litert_work_read(&conv, 4, &arena);
  assert_non_null(work);
  assert_string_equal(work[0].name, "y");
  assert_string_equal(work[0].shape, "[4,6,6,16]");
  assert_string_equal(text_of(&work[0], "input_shape"), "[4,8,8,3] [16,3,3,3] []");
  assert_string_equal(text_of(&work[0], "operator"), "CONV_2D");
  assert_string_equal(work[0].tags.items[work[0].tags.count - 1].text, "RELU6");
  assert_string_equal(work[0].activation_name, "y (RELU6)");
  assert_null(work[1].shape);
  assert_string_equal(text_of(&work[1], "input_shape"), "[-1] [-1]");
  assert_string_equal(text_of(&work[1], "kernel_shape"), "[3,2]");
  work = litert_work_read(&conv, 0, &arena); // other dimensions than the batch are free
  assert_null(work[0].shape);
  arena_done(&arena);
}

static void test_what_is_no_model(void **unused)
{
  (void)unused;
  struct arena arena = {0};
  struct litert_graph none;
  unsigned char bytes[64] = {0};
  assert_false(litert_graph_read(bytes, sizeof bytes, &arena, &none));
  memcpy(bytes + 4, "TFL3", 4);
  for (unsigned first = 0; first < 256; first++) { // whatever the model's place is, nothing is there
    bytes[0] = (unsigned char)first;
    assert_false(litert_graph_read(bytes, sizeof bytes, &arena, &none));
  }
  assert_false(litert_graph_open("/nonexistent", &arena, &none));
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_events_follow_operators),
                                     cmocka_unit_test(test_another_order_is_not_believed),
                                     cmocka_unit_test(test_work_of_a_batch), cmocka_unit_test(test_what_is_no_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
