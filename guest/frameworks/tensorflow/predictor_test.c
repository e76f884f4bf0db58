// SPDX-License-Identifier: Apache-2.0
// TensorFlow's messages, written here field by field: what is read of models and of run metadata, and what is refused.
#include "base/wire.h"
#include "frameworks/tensorflow/graph.h"
#include "frameworks/tensorflow/metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---- a writer of messages --------------------------------------------------------------------------------------------

struct message {
  uint8_t bytes[4096];
  size_t length;
};

static void put_varint(struct message *message, uint64_t value)
{
  for (; value > 0x7f; value >>= 7)
    message->bytes[message->length++] = (uint8_t)(value | 0x80);
  message->bytes[message->length++] = (uint8_t)value;
}

static void put_number(struct message *message, unsigned field, uint64_t value)
{
  put_varint(message, field << 3 | WIRE_VARINT);
  put_varint(message, value);
}

static void put_bytes(struct message *message, unsigned field, const void *bytes, size_t length)
{
  put_varint(message, field << 3 | WIRE_BYTES);
  put_varint(message, length);
  memcpy(message->bytes + message->length, bytes, length);
  message->length += length;
}

static void put_text(struct message *message, unsigned field, const char *text)
{
  put_bytes(message, field, text, strlen(text));
}

static void put(struct message *message, unsigned field, const struct message *part)
{
  put_bytes(message, field, part->bytes, part->length);
}

static struct message shape_of(const int64_t *sizes, size_t rank)
{
  struct message shape = {.length = 0};
  for (size_t i = 0; i < rank; i++) {
    struct message dimension = {.length = 0};
    put_number(&dimension, 1, (uint64_t)sizes[i]);
    put(&shape, 2, &dimension);
  }
  return shape;
}

static void put_attribute(struct message *node, const char *key, unsigned kind, const struct message *value)
{
  struct message attribute = {.length = 0}, entry = {.length = 0};
  put(&attribute, kind, value);
  put_text(&entry, 1, key);
  put(&entry, 2, &attribute);
  put(node, 5, &entry);
}

// "NAME OP INPUT…"
static struct message node_of(const char *text)
{
  struct message node = {.length = 0};
  char copy[256], *rest = NULL;
  strcpy(copy, text);
  unsigned field = 1;
  for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    put_text(&node, field, word);
    field += field < 3;
  }
  return node;
}

static void put_node(struct message *graph, unsigned field, const char *text)
{
  struct message node = node_of(text);
  put(graph, field, &node);
}

// ---- models ----------------------------------------------------------------------------------------------------------

static struct message frozen(void)
{
  struct message graph = {.length = 0}, input = node_of("image Placeholder");
  const int64_t sizes[] = {-1, 8};
  struct message shape = shape_of(sizes, 2), attribute = {.length = 0}, entry = {.length = 0};
  put_attribute(&input, "shape", 7, &shape);
  put_number(&attribute, 6, 1); // DT_FLOAT
  put_text(&entry, 1, "dtype");
  put(&entry, 2, &attribute);
  put(&input, 5, &entry);
  put_node(&graph, 1, "probabilities Softmax logits");
  put_node(&graph, 1, "logits MatMul image:0 weights");
  put(&graph, 1, &input);
  put_node(&graph, 1, "weights Const");
  put_node(&graph, 1, "unused Const");
  put_node(&graph, 1, "apart Neg unused");
  put_node(&graph, 1, "init NoOp ^probabilities");
  return graph;
}

static void a_frozen_graph_has_placeholders_and_what_nothing_consumes(void **state)
{
  struct message graph = frozen();
  struct arena arena = {0};
  struct tensorflow_model model;
  const char *problem = "";
  assert_true(tensorflow_frozen_read(graph.bytes, graph.length, &arena, &model, &problem));
  assert_null(problem);
  assert_int_equal(model.input_count, 1);
  assert_string_equal(model.inputs[0].name, "image");
  assert_int_equal(model.inputs[0].type, 1);
  assert_int_equal(model.inputs[0].shape.rank, 2);
  assert_int_equal(model.inputs[0].shape.size[0], -1);
  assert_int_equal(model.inputs[0].shape.size[1], 8);
  assert_int_equal(model.output_count, 1); // `apart` needs no input, `init` gives nothing
  assert_string_equal(model.outputs[0].node, "probabilities");
  assert_null(model.signature);
  arena_done(&arena);
}

static void every_cut_of_a_graph_is_refused_or_another_graph(void **state)
{
  struct message graph = frozen();
  for (size_t length = 0; length < graph.length; length++) {
    struct arena arena = {0};
    struct tensorflow_model model;
    const char *problem = NULL;
    uint8_t *exact = malloc(length + 1);
    memcpy(exact, graph.bytes, length);
    bool read = tensorflow_frozen_read(exact, length, &arena, &model, &problem);
    assert_true(read == (problem == NULL));
    free(exact);
    arena_done(&arena);
  }
}

static void graphs_without_sense_are_refused(void **state)
{
  static const struct {
    const char *bytes;
    size_t length;
    const char *why;
  } cases[] = {
      {"", 0, "it has no nodes"},          {"\x0a\x05\x0a", 3, "longer than what is there"},
      {"\x08", 1, "ends inside a number"}, {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "too long"},
      {"\x00\x01", 2, "has no number"},    {"\x0b", 1, "unknown kind"},
      {"\x0a\x03\x0a\x01x", 5, NULL},      {"#!/bin/sh\n", 10, "unknown kind"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct arena arena = {0};
    struct tensorflow_model model;
    const char *problem = NULL;
    bool read = tensorflow_frozen_read(cases[i].bytes, cases[i].length, &arena, &model, &problem);
    assert_true(read == (cases[i].why == NULL));
    if (cases[i].why != NULL && strstr(problem, cases[i].why) == NULL)
      fail_msg("case %zu: %s", i, problem);
    arena_done(&arena);
  }
}

static struct message port_of(const char *name, const char *place)
{
  struct message info = {.length = 0}, entry = {.length = 0};
  const int64_t sizes[] = {-1, 3};
  struct message shape = shape_of(sizes, 2);
  put_text(&info, 1, place);
  put_number(&info, 2, 9); // DT_INT64
  put(&info, 3, &shape);
  put_text(&entry, 1, name);
  put(&entry, 2, &info);
  return entry;
}

static void put_signature(struct message *part, const char *name)
{
  struct message signature = {.length = 0}, entry = {.length = 0};
  struct message second = port_of("tokens", "serve_tokens:0"), first = port_of("mask", "serve_mask:1");
  struct message output = port_of("output_0", "StatefulPartitionedCall:0");
  put(&signature, 1, &second);
  put(&signature, 1, &first);
  put(&signature, 2, &output);
  put_text(&entry, 1, name);
  put(&entry, 2, &signature);
  put(part, 5, &entry);
}

static struct message saved(const char *tag, const char *signature, const char *other)
{
  struct message info = {.length = 0}, part = {.length = 0}, graph = {.length = 0}, file = {.length = 0};
  put_text(&info, 4, tag);
  put(&part, 1, &info);
  put_node(&graph, 1, "serve_tokens Placeholder");
  put(&part, 2, &graph);
  if (signature != NULL)
    put_signature(&part, signature);
  if (other != NULL)
    put_signature(&part, other);
  put_number(&file, 1, 1);
  put(&file, 2, &part);
  return file;
}

static void a_saved_model_is_what_its_signature_says(void **state)
{
  static const char *const names[][2] = {{"serving_default", NULL}, {"other", "serving_default"}, {"only_one", NULL}};
  for (size_t i = 0; i < 3; i++) {
    struct message file = saved("serve", names[i][0], names[i][1]);
    struct arena arena = {0};
    struct tensorflow_model model;
    const char *problem = "";
    assert_true(tensorflow_saved_read(file.bytes, file.length, &arena, &model, &problem));
    assert_string_equal(model.signature, names[i][1] != NULL ? names[i][1] : names[i][0]);
    assert_string_equal(model.tags[0], "serve");
    assert_int_equal(model.input_count, 2); // by name
    assert_string_equal(model.inputs[0].name, "mask");
    assert_string_equal(model.inputs[0].node, "serve_mask");
    assert_int_equal(model.inputs[0].index, 1);
    assert_string_equal(model.inputs[1].name, "tokens");
    assert_int_equal(model.inputs[1].type, 9);
    assert_int_equal(model.inputs[1].shape.size[1], 3);
    assert_string_equal(model.outputs[0].node, "StatefulPartitionedCall");
    assert_int_equal(model.graph.count, 1);
    arena_done(&arena);
  }
}

static void saved_models_that_cannot_be_served_say_why(void **state)
{
  static const struct {
    const char *tag, *first, *second, *why;
  } cases[] = {
      {"train", "serving_default", NULL, "for serving"},
      {"serve", NULL, NULL, "no signature"},
      {"serve", "__saved_model_init_op", NULL, "no signature"},
      {"serve", "a", "b", "several signatures"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct message file = saved(cases[i].tag, cases[i].first, cases[i].second);
    struct arena arena = {0};
    struct tensorflow_model model;
    const char *problem = NULL;
    assert_false(tensorflow_saved_read(file.bytes, file.length, &arena, &model, &problem));
    assert_non_null(strstr(problem, cases[i].why));
    arena_done(&arena);
  }
}

// ---- fusion ----------------------------------------------------------------------------------------------------------

static void read_graph(const struct message *graph, struct arena *arena, struct tensorflow_graph *ret_graph)
{
  const char *problem = NULL;
  assert_true(tensorflow_graph_read(graph->bytes, graph->length, arena, ret_graph, &problem));
}

static void put_fused(struct message *graph, const char *text, const char *first, const char *second)
{
  struct message node = node_of(text), list = {.length = 0};
  put_text(&list, 2, first);
  if (second != NULL)
    put_text(&list, 2, second);
  put_attribute(&node, "fused_ops", 1, &list);
  put(graph, 1, &node);
}

static const struct tensorflow_originals *originals_in(const struct tensorflow_graph *model,
                                                       const struct tensorflow_graph *executed, const char *name,
                                                       struct arena *arena)
{
  static struct tensorflow_originals originals;
  const struct tensorflow_node *node = tensorflow_graph_find(executed, name, strlen(name));
  assert_non_null(node);
  tensorflow_originals_find(model, executed, 1, node, arena, &originals);
  return &originals;
}

static void a_fused_layer_names_what_it_was_made_of(void **state)
{
  struct arena arena = {0};
  struct message before = {.length = 0}, after = {.length = 0};
  put_node(&before, 1, "x Placeholder");
  put_node(&before, 1, "w Const");
  put_node(&before, 1, "pad Pad x");
  put_node(&before, 1, "conv Conv2D pad w");
  put_node(&before, 1, "same Identity conv");
  put_node(&before, 1, "bias BiasAdd same:0 w");
  put_node(&before, 1, "relu Relu bias ^w");
  put_node(&before, 1, "next Relu relu");
  put_node(&before, 1, "half Neg w");
  put_node(&before, 1, "folded Mul half w");
  put_node(&before, 1, "product MatMul next folded");
  put_node(&before, 1, "sum BiasAdd product w");
  put_node(&after, 1, "_arg_x_0_0 _Arg");
  put_node(&after, 1, "w Const");
  put_fused(&after, "relu _MklNativePadWithFusedConv2D _arg_x_0_0 w", "BiasAdd", "Relu");
  put_node(&after, 1, "next _MklRelu relu");
  put_node(&after, 1, "folded Const");
  put_node(&after, 1, "made_anew Transpose next");
  put_fused(&after, "sum _FusedMatMul next folded w", "BiasAdd", NULL);
  struct tensorflow_graph model, executed;
  read_graph(&before, &arena, &model);
  read_graph(&after, &arena, &executed);
  assert_string_equal(tensorflow_graph_find(&executed, "relu", 4)->fused_ops, "BiasAdd Relu");
  const struct tensorflow_originals *fused = originals_in(&model, &executed, "relu", &arena);
  assert_int_equal(fused->count, 4);
  assert_string_equal(fused->main, "conv");
  assert_string_equal(fused->names, "pad conv bias relu");
  assert_string_equal(fused->types, "Pad Conv2D BiasAdd Relu");
  assert_string_equal(originals_in(&model, &executed, "sum", &arena)->names,
                      "product sum");                                               // not what is executed itself
  assert_int_equal(originals_in(&model, &executed, "next", &arena)->count, 0);      // another implementation of it
  assert_int_equal(originals_in(&model, &executed, "folded", &arena)->count, 0);    // became a constant
  assert_int_equal(originals_in(&model, &executed, "made_anew", &arena)->count, 0); // not the model's
  assert_int_equal(originals_in(&model, &executed, "_arg_x_0_0", &arena)->count, 0);
  arena_done(&arena);
}

static void fused_layers_are_found_in_functions_that_were_inlined(void **state)
{
  struct arena arena = {0};
  struct message before = {.length = 0}, after = {.length = 0}, call = node_of("call PartitionedCall x");
  struct message function = {.length = 0}, signature = {.length = 0}, library = {.length = 0}, called = {.length = 0};
  put_text(&called, 1, "body");
  put_attribute(&call, "f", 10, &called);
  put_node(&before, 1, "x Placeholder");
  put(&before, 1, &call);
  put_text(&signature, 1, "body");
  put(&function, 1, &signature);
  put_node(&function, 3, "net/mul MatMul inputs net/w:output:0");
  put_node(&function, 3, "net/w Const");
  put_node(&function, 3, "net/bias BiasAdd net/mul:product:0 net/w:output:0");
  put(&library, 1, &function);
  put(&before, 2, &library);
  put_fused(&after, "call/net/bias _FusedMatMul x call/net/w", "BiasAdd", NULL);
  put_node(&after, 1, "call/net/w Const");
  struct tensorflow_graph model, executed;
  read_graph(&before, &arena, &model);
  read_graph(&after, &arena, &executed);
  const struct tensorflow_originals *fused = originals_in(&model, &executed, "call/net/bias", &arena);
  assert_int_equal(fused->count, 2);
  assert_string_equal(fused->main, "call/net/mul");
  assert_string_equal(fused->names, "call/net/mul call/net/bias");
  arena_done(&arena);
}

// A function that calls itself, a graph that is a circle, a chain that is too long: no names, and an end.
static void graphs_that_do_not_end_end_here(void **state)
{
  struct arena arena = {0};
  struct message before = {.length = 0}, after = {.length = 0}, call = node_of("f PartitionedCall");
  struct message function = {.length = 0}, signature = {.length = 0}, library = {.length = 0}, called = {.length = 0};
  put_text(&called, 1, "body");
  put_attribute(&call, "f", 10, &called);
  put_text(&signature, 1, "body");
  put(&function, 1, &signature);
  put(&function, 3, &call);
  put(&library, 1, &function);
  put(&before, 1, &call);
  put_node(&before, 1, "a Mul b a");
  put_node(&before, 1, "b Sub a");
  for (unsigned i = 0; i < 40; i++) {
    char text[64];
    snprintf(text, sizeof text, "n%u Neg n%u", i, i + 1);
    put_node(&before, 1, text);
  }
  put(&before, 2, &library);
  put_node(&after, 1, "f/f/f/f/f/f/f/f/f/f/f/f/f/f/f/f/f/f/f/f/x Fused");
  put_node(&after, 1, "a FusedMul");
  put_node(&after, 1, "n0 FusedNeg");
  struct tensorflow_graph model, executed;
  read_graph(&before, &arena, &model);
  read_graph(&after, &arena, &executed);
  for (size_t i = 0; i < executed.count; i++)
    assert_true(originals_in(&model, &executed, executed.nodes[i].name, &arena)->count <= 2);
  assert_int_equal(originals_in(&model, &executed, "n0", &arena)->count, 0);
  arena_done(&arena);
}

static void types_lose_the_marks_of_rewrites(void **state)
{
  static const char *const cases[][2] = {
      {"_MklNativeFusedConv2D", "Conv2D"},
      {"_FusedMatMul", "MatMul"},
      {"Conv2D", "Conv2D"},
      {"_MklNativeMaxPool", "MaxPool"},
      {"_MklSoftmax", "Softmax"},
      {"_MklFusedBatchMatMulV2", "BatchMatMulV2"},
      {"FusedBatchNormV3", "FusedBatchNormV3"},
      {"_FusedBatchNormEx", "FusedBatchNormEx"},
      {"_", "_"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_string_equal(tensorflow_plain_type(cases[i][0]), cases[i][1]);
}

// ---- run metadata ----------------------------------------------------------------------------------------------------

static struct message execution(const char *name, const char *label, uint64_t start_ns, uint64_t duration_ns)
{
  struct message node = {.length = 0};
  put_text(&node, 1, name);
  put_number(&node, 2, start_ns / 1000);
  put_number(&node, 5, duration_ns / 1000);
  put_text(&node, 8, label);
  put_number(&node, 13, start_ns);
  put_number(&node, 16, duration_ns);
  return node;
}

static void put_lane(struct message *stats, const char *device, const struct message *nodes, size_t count)
{
  struct message lane = {.length = 0};
  put_text(&lane, 1, device);
  for (size_t i = 0; i < count; i++)
    put(&lane, 2, &nodes[i]);
  put(stats, 1, &lane);
}

static struct message metadata_of(const struct message *stats)
{
  struct message metadata = {.length = 0};
  put(&metadata, 1, stats);
  return metadata;
}

static void executions_are_read_once(void **state)
{
  struct message nodes[4] = {execution("b", "[mklcpu 3.1MB 3.1MB] b = Conv2D(a, w)", 2000, 700),
                             execution("a", "a = _Arg()", 1000, 10), execution("_SOURCE", "_SOURCE = NoOp()", 1, 1),
                             execution("b", "b = Conv2D(a, w)", 3000, 700)};
  const int64_t sizes[] = {1, 32};
  struct message shape = shape_of(sizes, 2), description = {.length = 0}, output = {.length = 0};
  struct message other = {.length = 0}, memory = {.length = 0};
  put(&description, 2, &shape);
  put_number(&other, 1, 1); // slot 1 says nothing of the layer
  put(&output, 3, &description);
  put(&nodes[0], 7, &output);
  put(&nodes[0], 7, &other);
  put_text(&memory, 1, "mklcpu");
  put_number(&memory, 2, 4096);
  put(&nodes[0], 6, &memory);
  put(&nodes[0], 6, &memory);
  struct message stats = {.length = 0};
  put_lane(&stats, "/job:localhost/replica:0/task:0/device:CPU:0", nodes, 4);
  put_lane(&stats, "/job:localhost/replica:0/task:0/device:GPU:0", nodes, 1);                     // the same again
  const struct message later[2] = {execution("b", "b", 2500, 90), execution("b", "b", 2600, 80)}; // on the device
  put_lane(&stats, "/job:localhost/replica:0/task:0/device:GPU:0/stream:all", later, 2);
  put_lane(&stats, "/device:GPU:0/memcpy", later, 1);
  struct message metadata = metadata_of(&stats);
  struct arena arena = {0};
  struct tensorflow_steps steps;
  const char *problem = "";
  assert_true(tensorflow_steps_read(metadata.bytes, metadata.length, &arena, &steps, &problem));
  assert_int_equal(steps.count, 3);
  assert_int_equal(steps.left_out, 5);
  assert_memory_equal(steps.items[0].node.data, "a", 1);
  assert_memory_equal(steps.items[0].type.data, "_Arg", 4);
  assert_int_equal(steps.items[0].type.length, 4);
  assert_int_equal(steps.items[0].shape.rank, TENSORFLOW_NO_RANK);
  assert_int_equal(steps.items[0].alloc_bytes, 0);
  assert_int_equal(steps.items[1].start_ns, 2000);
  assert_int_equal(steps.items[1].duration_ns, 700);
  assert_memory_equal(steps.items[1].type.data, "Conv2D", 6);
  assert_int_equal(steps.items[1].shape.rank, 2);
  assert_int_equal(steps.items[1].shape.size[1], 32);
  assert_int_equal(steps.items[1].alloc_bytes, 8192);
  assert_int_equal(steps.items[2].start_ns, 3000); // a second execution of one node
  arena_done(&arena);
}

static void odd_executions_are_left_out(void **state)
{
  struct message nodes[5] = {{.length = 0}};
  put_text(&nodes[0], 1, "old"); // microseconds only, and a label of no form
  put_number(&nodes[0], 2, 5);
  put_number(&nodes[0], 5, 7);
  put_text(&nodes[0], 8, "old");
  put_number(&nodes[1], 13, 5); // nameless
  put_text(&nodes[2], 1, "far");
  put_number(&nodes[2], 13, UINT64_MAX);
  put_text(&nodes[3], 1, "long");
  put_number(&nodes[3], 13, 5);
  put_number(&nodes[3], 16, INT64_MAX);
  put_text(&nodes[4], 1, "old us");
  put_number(&nodes[4], 2, UINT64_MAX / 500);
  struct message stats = {.length = 0};
  put_lane(&stats, "/device:CPU:0", nodes, 5);
  struct message metadata = metadata_of(&stats);
  struct arena arena = {0};
  struct tensorflow_steps steps;
  const char *problem = NULL;
  assert_true(tensorflow_steps_read(metadata.bytes, metadata.length, &arena, &steps, &problem));
  assert_int_equal(steps.count, 1);
  assert_int_equal(steps.left_out, 4);
  assert_int_equal(steps.items[0].start_ns, 5000);
  assert_int_equal(steps.items[0].duration_ns, 7000);
  assert_int_equal(steps.items[0].type.length, 0);
  assert_false(tensorflow_steps_read(metadata.bytes, metadata.length - 1, &arena, &steps, &problem));
  assert_non_null(problem);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_frozen_graph_has_placeholders_and_what_nothing_consumes),
      cmocka_unit_test(every_cut_of_a_graph_is_refused_or_another_graph),
      cmocka_unit_test(graphs_without_sense_are_refused),
      cmocka_unit_test(a_saved_model_is_what_its_signature_says),
      cmocka_unit_test(saved_models_that_cannot_be_served_say_why),
      cmocka_unit_test(a_fused_layer_names_what_it_was_made_of),
      cmocka_unit_test(fused_layers_are_found_in_functions_that_were_inlined),
      cmocka_unit_test(graphs_that_do_not_end_end_here),
      cmocka_unit_test(types_lose_the_marks_of_rewrites),
      cmocka_unit_test(executions_are_read_once),
      cmocka_unit_test(odd_executions_are_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
