// SPDX-License-Identifier: Apache-2.0
// Windows from a small model's bytes, whole and cut at every byte.
#include "frameworks/onnxruntime/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---- a writer of protobuf, as far as needed --------------------------------------------------------------------------
struct message {
  uint8_t bytes[1024];
  size_t size;
};

static void put(struct message *message, unsigned field, const void *bytes, size_t size)
{
  message->bytes[message->size++] = (uint8_t)(field << 3 | 2);
  message->bytes[message->size++] = (uint8_t)(size & 0x7f) | (uint8_t)(size > 0x7f ? 0x80 : 0);
  if (size > 0x7f)
    message->bytes[message->size++] = (uint8_t)(size >> 7);
  memcpy(message->bytes + message->size, bytes, size);
  message->size += size;
}

static void put_text(struct message *message, unsigned field, const char *text)
{
  put(message, field, text, strlen(text));
}

static void put_number(struct message *message, unsigned field, uint8_t value)
{
  message->bytes[message->size++] = (uint8_t)(field << 3);
  message->bytes[message->size++] = value;
}

static struct message node(const char *type, const char *name, const char *output)
{
  struct message node = {.size = 0};
  put_text(&node, 1, "x");
  put_text(&node, 1, "w");
  put_text(&node, 2, output);
  put_text(&node, 2, "other");
  put_text(&node, 3, name);
  put_text(&node, 4, type);
  return node;
}

// `more`: another node; NULL: none.
static struct message model_with(const struct message *more)
{
  struct message graph = {.size = 0};
  if (more != NULL)
    put(&graph, 1, more->bytes, more->size);
  struct message pool = node("MaxPool", "pool", "pooled");
  struct message kernel = {.size = 0};
  put_text(&kernel, 1, "kernel_shape");
  put_number(&kernel, 8, 3); // one a field
  put_number(&kernel, 8, 2);
  put(&pool, 5, kernel.bytes, kernel.size);
  put(&graph, 1, pool.bytes, pool.size);
  struct message relu = node("Relu", "relu", "r");
  put(&graph, 1, relu.bytes, relu.size);
  struct message turned = node("ConvTranspose", "up", "upped"); // its window is in its weights
  struct message group = {.size = 0};
  put_text(&group, 1, "group");
  put_number(&group, 3, 4);
  put(&turned, 5, group.bytes, group.size);
  put(&graph, 1, turned.bytes, turned.size);
  struct message constant = node("Constant", "", "sizes");
  put(&graph, 1, constant.bytes, constant.size);
  struct message resize = node("Resize", "", "resized");
  struct message mode = {.size = 0};
  put_text(&mode, 1, "mode");
  put_text(&mode, 4, "nearest");
  put(&resize, 5, mode.bytes, mode.size);
  put(&graph, 1, resize.bytes, resize.size);
  struct message norm = node("LRN", "norm", "normed");
  struct message size = {.size = 0};
  put_text(&size, 1, "size");
  put_number(&size, 3, 5);
  put(&norm, 5, size.bytes, size.size);
  put(&graph, 1, norm.bytes, norm.size);
  struct message attention = node("Attention", "attention", "attended");
  struct message causal = {.size = 0};
  put_text(&causal, 1, "is_causal");
  put_number(&causal, 3, 1);
  put(&attention, 5, causal.bytes, causal.size);
  put(&graph, 1, attention.bytes, attention.size);
  struct message weights = {.size = 0};
  put(&weights, 1, "\x08\x02\x04\x05", 4); // packed
  put_text(&weights, 8, "w");
  put(&graph, 5, weights.bytes, weights.size);
  struct message model = {.size = 0};
  put_number(&model, 1, 8);
  put(&model, 7, graph.bytes, graph.size);
  return model;
}

static struct message model(void)
{
  return model_with(NULL);
}

static bool read_cut(const struct message *model, size_t size, struct arena *arena,
                     struct operator_window **ret_windows, size_t *ret_count)
{
  uint8_t *exact = malloc(size + 1);
  memcpy(exact, model->bytes, size);
  bool is_good = onnx_windows(exact, size, arena, ret_windows, ret_count);
  free(exact);
  return is_good;
}

// ---- which nodes became a layer --------------------------------------------------------------------------------------
static void add_node(struct message *graph, const char *type, const char *name, const char *inputs, const char *output)
{
  struct message node = {.size = 0};
  for (size_t length; *inputs != 0; inputs += length + (inputs[length] == ' ')) {
    length = strcspn(inputs, " ");
    put(&node, 1, inputs, length);
  }
  put_text(&node, 2, output);
  put_text(&node, 3, name);
  put_text(&node, 4, type);
  put(graph, 1, node.bytes, node.size);
}

static void nodes_of_layers(void **state)
{
  static const struct {
    const char *layer, *sources; // NULL: not known
  } expected[] = {{"r1_nchwc", "conv1, bn1, relu1"},
                  {"c2_nchwc", "conv2"},
                  {"r3_nchwc", "conv3, add, relu3"},
                  {"s4_nchwc", NULL},
                  {"c6_nchwc", "conv6"},
                  {"r6_nchwc", NULL}};
  struct arena arena = {0};
  struct operator_window *windows;
  size_t count;
  struct message graph = {.size = 0}, model = {.size = 0};
  add_node(&graph, "Conv", "conv1", "x w", "c1");
  add_node(&graph, "BatchNormalization", "bn1", "c1 s", "b1");
  add_node(&graph, "Relu", "relu1", "b1", "r1");
  add_node(&graph, "Conv", "conv2", "r1 w", "c2"); // taken twice
  add_node(&graph, "Conv", "conv3", "c2 w", "c3");
  add_node(&graph, "Add", "add", "c2 c3", "a3");
  add_node(&graph, "Relu", "relu3", "a3", "r3");
  add_node(&graph, "Conv", "conv4", "r3 w", "c4");
  add_node(&graph, "Conv", "conv5", "r3 w", "c5");
  add_node(&graph, "Add", "either", "c4 c5", "s4");
  add_node(&graph, "Conv", "conv6", "s4 w", "c6"); // an output of the model
  add_node(&graph, "Relu", "relu6", "c6", "r6");
  struct message output = {.size = 0};
  put_text(&output, 1, "c6");
  put(&graph, 12, output.bytes, output.size);
  put(&model, 7, graph.bytes, graph.size);
  assert_true(onnx_windows(model.bytes, model.size, &arena, &windows, &count));
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const char *sources = NULL;
    for (size_t k = 0; k < count; k++)
      if (strcmp(windows[k].layer_names[1], expected[i].layer) == 0)
        sources = windows[k].sources;
    if (expected[i].sources == NULL)
      assert_null(sources);
    else
      assert_string_equal(sources, expected[i].sources);
  }
  arena_done(&arena);
}

static void windows_of_a_model(void **state)
{
  struct arena arena = {0};
  struct operator_window *windows;
  size_t count;
  struct message whole = model();
  assert_true(read_cut(&whole, whole.size, &arena, &windows, &count));
  assert_int_equal(count, 5);
  assert_string_equal(windows[4].mode, "causal");
  assert_string_equal(windows[0].layer_names[0], "pool");
  assert_string_equal(windows[0].layer_names[1], "pooled_nchwc");
  assert_int_equal(windows[0].kernel_rank, 2);
  assert_int_equal(windows[0].kernel[0], 3);
  assert_int_equal(windows[0].kernel[1], 2);
  assert_int_equal(windows[0].group, -1);
  assert_int_equal(windows[1].kernel_rank, 2);
  assert_int_equal(windows[1].kernel[0], 4);
  assert_int_equal(windows[1].kernel[1], 5);
  assert_int_equal(windows[1].group, 4);
  assert_string_equal(windows[2].layer_names[0], "Resize_3"); // as ONNX Runtime numbers nodes without a name
  assert_string_equal(windows[2].mode, "nearest");
  assert_int_equal(windows[2].kernel_rank, 0);
  assert_int_equal(windows[3].size, 5);
  arena_done(&arena);
}

// Then another node may have the name that one without a name is expected to get.
static void a_name_that_may_be_anothers_is_none(void **state)
{
  struct message attribute = {.size = 0}, branch = node("If", "branch", "i"), loop = node("Loop", "loop", "l");
  put_text(&attribute, 1, "then_branch");
  put_text(&attribute, 6, "");
  put(&branch, 5, attribute.bytes, attribute.size);
  attribute.size = 0;
  put_text(&attribute, 11, "");
  put(&loop, 5, attribute.bytes, attribute.size);
  const struct message others[] = {branch, loop, node("Relu", "Resize_9", "r")},
                       plain[] = {node("Relu", "Relu_4", "r"), node("Relu", "Resize_a", "r")};
  for (size_t i = 0; i < 5; i++) {
    struct arena arena = {0};
    struct operator_window *windows;
    size_t count;
    struct message whole = model_with(i < 3 ? &others[i] : &plain[i - 3]);
    assert_true(read_cut(&whole, whole.size, &arena, &windows, &count));
    assert_int_equal(count, 5);
    assert_string_equal(windows[0].layer_names[0], "pool");
    assert_string_equal(windows[2].layer_names[0], i < 3 ? "" : "Resize_4");
    assert_string_equal(windows[2].mode, "nearest");
    arena_done(&arena);
  }
}

static void every_cut_is_survived(void **state)
{
  struct message whole = model();
  for (size_t size = 0; size < whole.size; size++) {
    struct arena arena = {0};
    struct operator_window *windows;
    size_t count;
    assert_int_equal(read_cut(&whole, size, &arena, &windows, &count), size == 0 || size == 2);
    assert_int_equal(count, 0);
    arena_done(&arena);
  }
}

static void no_file_has_none(void **state)
{
  struct arena arena = {0};
  struct operator_window *windows;
  size_t count = 7;
  assert_false(onnx_file_windows("/nonexistent/model.onnx", &arena, &windows, &count));
  assert_int_equal(count, 0);
  assert_false(onnx_file_windows("/", &arena, &windows, &count));
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_of_a_model),
      cmocka_unit_test(nodes_of_layers),
      cmocka_unit_test(a_name_that_may_be_anothers_is_none),
      cmocka_unit_test(every_cut_is_survived),
      cmocka_unit_test(no_file_has_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
