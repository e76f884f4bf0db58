// SPDX-License-Identifier: Apache-2.0
// The work of a node from what its inputs' nodes put out, and from its attributes. Messages are written byte by byte.
#include "frameworks/tensorflow/work.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

// NodeExecStats with an output in `slot` of floats, [2, 3] or [5].
#define DIM(size) "\x12\x02\x08" size // TensorShapeProto.dim
static const char in_slot_0[] = "\x3a\x0e\x1a\x0c\x08\x01\x12\x08" DIM("\x02") DIM("\x03");
static const char in_slot_1[] = "\x3a\x0c\x08\x01\x1a\x08\x08\x01\x12\x04" DIM("\x05");

static struct tensorflow_step step_of(const char *message, size_t length)
{
  return (struct tensorflow_step){.message = message, .message_length = length};
}

static void test_inputs_are_outputs_of_others(void **unused)
{
  (void)unused;
  char both[sizeof in_slot_0 + sizeof in_slot_1 - 2];
  memcpy(both, in_slot_0, sizeof in_slot_0 - 1);
  memcpy(both + sizeof in_slot_0 - 1, in_slot_1, sizeof in_slot_1 - 1);
  struct tensorflow_step split = step_of(both, sizeof both), own = step_of(in_slot_0, sizeof in_slot_0 - 1);
  const struct tensorflow_step *const latest[] = {&split, NULL};
  const struct tensorflow_wire inputs[] = {
      {0, 1, false}, {0, 0, true}, {0, 2, false}, {1, 0, false}, {TENSORFLOW_NO_LAYER, 0, false}};
  struct layer_work work;
  struct arena arena = {0};
  struct layer_tags tags = {0};
  tensorflow_work_read(&own, inputs, 2, latest, &work);
  layer_work_tags(&work, &arena, &tags);
  assert_int_equal(tags.count, 4);
  assert_string_equal(tags.items[0].text, "[5] [2,3]");
  assert_int_equal(tags.items[1].number, 20);
  assert_int_equal(tags.items[2].number, 24);
  assert_int_equal(tags.items[3].number, 24);
  tags.count = 0;
  tensorflow_work_read(&own, inputs, 5, latest, &work); // no such output, not executed before, no such node
  layer_work_tags(&work, &arena, &tags);
  assert_int_equal(tags.count, 3);
  assert_string_equal(tags.items[0].text, "[5] [2,3] [-1] [-1] [-1]");
  assert_string_equal(tags.items[1].key, "parameter_bytes");
  arena_done(&arena);
}

static const char *tag_of(const struct tensorflow_node *node, struct arena *arena, const char *key)
{
  struct layer_tags tags = {0};
  tensorflow_work_tags(node, arena, &tags);
  for (size_t i = 0; i < tags.count; i++)
    if (strcmp(tags.items[i].key, key) == 0)
      return tags.items[i].text;
  return "";
}

static void test_attributes(void **unused)
{
  (void)unused;
  struct arena arena = {0};
  struct layer_tags tags = {0};
  struct tensorflow_node node = {.op = "_FusedConv2D", .fused_ops = "BiasAdd Relu"};
  tensorflow_work_tags(&node, &arena, &tags);
  assert_int_equal(tags.count, 1);
  assert_string_equal(tag_of(&node, &arena, "fused_ops"), "BiasAdd Relu");
  node = (struct tensorflow_node){.op = "_FusedBatchNormEx", .activation = "Relu", .has_side_input = true};
  assert_string_equal(tag_of(&node, &arena, "fused_ops"), "Add Relu");
  node.activation = "Identity";
  tags.count = 0;
  tensorflow_work_tags(&node, &arena, &tags);
  assert_int_equal(tags.count, 0);
  node = (struct tensorflow_node){.op = "FusedBatchNormV3", .is_training = true};
  assert_string_equal(tag_of(&node, &arena, "operator"), "FusedBatchNormTraining");
  node = (struct tensorflow_node){.op = "MaxPool", .window = "[1,3,3,1]"};
  assert_string_equal(tag_of(&node, &arena, "kernel_shape"), "[1,3,3,1]");
  arena_done(&arena);
}

// GraphDef of one node whose attributes are read.
static void test_attributes_of_a_graph(void **unused)
{
  (void)unused;
  static const char graph_bytes[] = "\x0a\x28"
                                    "\x0a\x01p\x12\x07MaxPool"
                                    "\x2a\x11\x0a\x05ksize\x12\x08\x0a\x06\x1a\x04\x01\x03\x03\x01"
                                    "\x2a\x07\x0a\x01x\x12\x02\x28\x01";
  struct arena arena = {0};
  struct tensorflow_graph graph;
  const char *problem = NULL;
  assert_true(tensorflow_graph_read(graph_bytes, sizeof graph_bytes - 1, &arena, &graph, &problem));
  assert_int_equal(graph.count, 1);
  assert_string_equal(graph.nodes[0].window, "[1,3,3,1]");
  assert_false(graph.nodes[0].is_training);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_inputs_are_outputs_of_others),
                                     cmocka_unit_test(test_attributes), cmocka_unit_test(test_attributes_of_a_graph)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
