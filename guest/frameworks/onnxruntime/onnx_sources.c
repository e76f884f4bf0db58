// SPDX-License-Identifier: Apache-2.0
// Which nodes of a model became a layer that ONNX Runtime laid out anew in blocks of channels and named after its output, "OUTPUT_nchwc":
// a convolution with the normalisation, addition and activation after it. Pools, which are windows, are left out. Called by
// onnx_windows.c.
#include "frameworks/onnxruntime/onnx.h"

#include "base/interner.h"
#include "base/slice.h"
#include "base/vector.h"

#include <string.h>

enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, VALUE_NAME = 1, GRAPH_OUTPUT = 12 };
#define NODES_MOST 65536u
#define CHAIN_MOST 8u // nodes in one layer

struct node {
  struct slice type, name, output, inputs[2];
};
struct graph {
  VECTOR(struct node) nodes;
  struct interner tensors;
  VECTOR(uint32_t) makers, users; // of each tensor: its node, from 1; how many take it
};

static uint32_t tensor(struct graph *graph, const char *name, size_t length)
{
  uint32_t id = interner_at(&graph->tensors, name, length);
  while (graph->makers.count <= id) {
    *vector_add(&graph->makers) = 0;
    *vector_add(&graph->users) = 0;
  }
  return id;
}

static void read_node(struct graph *graph, struct wire wire)
{
  struct node node = {0};
  struct wire_field field;
  size_t inputs = 0;
  while (wire_next(&wire, &field)) {
    if (field.type != WIRE_BYTES)
      continue;
    const struct slice text = {field.bytes, field.length};
    if (field.number == NODE_TYPE)
      node.type = text;
    else if (field.number == NODE_NAME)
      node.name = text;
    else if (field.number == NODE_OUTPUT && node.output.length == 0)
      node.output = text;
    if (field.number != NODE_INPUT || text.length == 0)
      continue;
    if (inputs < 2)
      node.inputs[inputs] = text;
    inputs++;
    uint32_t id = tensor(graph, text.data, text.length);
    graph->users.items[id]++;
  }
  if (node.output.length == 0)
    return;
  *vector_add(&graph->nodes) = node;
  uint32_t id = tensor(graph, node.output.data, node.output.length);
  graph->makers.items[id] = (uint32_t)graph->nodes.count;
}

static void read_graph(struct graph *graph, struct wire wire)
{
  struct wire_field field, name;
  while (graph->nodes.count < NODES_MOST && wire_next(&wire, &field)) {
    if (wire_is(&field, ONNX_GRAPH_NODE, WIRE_BYTES))
      read_node(graph, wire_inside(&field));
    struct wire value = wire_inside(&field);
    if (wire_is(&field, GRAPH_OUTPUT, WIRE_BYTES) && wire_find(&value, VALUE_NAME, WIRE_BYTES, &name)) {
      uint32_t id = tensor(graph, name.bytes, name.length);
      graph->users.items[id]++;
    }
  }
}

static bool is_one_of(struct slice type, const char *const *types)
{
  for (size_t i = 0; types[i] != NULL; i++)
    if (slice_is(type, types[i]))
      return true;
  return false;
}

// The node that makes an input which nothing else takes; NULL: none.
static const struct node *only_maker(struct graph *graph, struct slice input)
{
  uint32_t id;
  if (input.length == 0 || !interner_find(&graph->tensors, input.data, input.length, &id) ||
      graph->makers.items[id] == 0 || graph->users.items[id] != 1)
    return NULL;
  return &graph->nodes.items[graph->makers.items[id] - 1];
}

static bool begins_at_convolution(struct graph *graph, const struct node *node)
{
  for (size_t i = 0; node != NULL && i < CHAIN_MOST; i++) {
    if (slice_is(node->type, "Conv"))
      return true;
    if (!slice_is(node->type, "BatchNormalization"))
      return false;
    node = only_maker(graph, node->inputs[0]);
  }
  return false;
}

// The node that is computed with this one, before it; NULL: none, or two that could be.
static const struct node *before(struct graph *graph, const struct node *node)
{
  static const char *const after[] = {"BatchNormalization", "Relu", "LeakyRelu", "Sigmoid", "Tanh",
                                      "HardSigmoid",        "Clip", NULL},
                           *const sums[] = {"Add", "Sum", NULL};
  const struct node *first = only_maker(graph, node->inputs[0]), *second = only_maker(graph, node->inputs[1]);
  if (is_one_of(node->type, after))
    return first != NULL && (is_one_of(first->type, sums) || begins_at_convolution(graph, first)) ? first : NULL;
  if (!is_one_of(node->type, sums))
    return NULL;
  bool can_first = begins_at_convolution(graph, first), can_second = begins_at_convolution(graph, second);
  return can_first && !can_second ? first : can_second && !can_first ? second : NULL;
}

// "conv1, bn1, relu1". NULL: what became of the node is not known.
static const char *sources_of(struct graph *graph, const struct node *last, struct arena *arena)
{
  static const char *const firsts[] = {"Conv", "BatchNormalization", NULL};
  const char *text = NULL;
  const struct node *node = last, *first = last;
  for (size_t i = 0; node != NULL && i < CHAIN_MOST; i++) {
    const struct slice name = node->name.length > 0 ? node->name : node->output;
    text = arena_format(arena, "%.*s%s%s", (int)name.length, name.data, text != NULL ? ", " : "",
                        text != NULL ? text : "");
    first = node;
    node = before(graph, node);
  }
  return is_one_of(first->type, firsts) ? text : NULL;
}

void onnx_sources(struct wire wire, struct arena *arena, onnx_source_fn visit, void *context)
{
  struct graph graph = {0};
  read_graph(&graph, wire);
  for (size_t i = 0; i < graph.nodes.count; i++) {
    const struct node *node = &graph.nodes.items[i];
    const char *sources = sources_of(&graph, node, arena);
    if (sources != NULL)
      visit(context, arena_format(arena, "%.*s_nchwc", (int)node->output.length, node->output.data), sources);
  }
  vector_done(&graph.nodes);
  vector_done(&graph.makers);
  vector_done(&graph.users);
  interner_done(&graph.tensors);
}
