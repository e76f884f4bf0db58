// SPDX-License-Identifier: Apache-2.0
// Which operator an event of XNNPACK is, and the work of operators; see graph.h. Called by layers.c.
#include "frameworks/litert/graph.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- events ----------------------------------------------------------------------------------------------------------

// What operators a node of XNNPACK may have been, by the beginning of its name.
static const struct {
  const char *event, *types; // with spaces between and around
} becomes[] = {
    {"Convolution", " CONV_2D DEPTHWISE_CONV_2D "},
    {"Deconvolution", " TRANSPOSE_CONV "},
    {"Fully Connected", " FULLY_CONNECTED CONV_2D "}, // convolutions of 1 by 1, too
    {"Dynamic Fully Connected", " FULLY_CONNECTED "},
    {"Batch Matrix Multiply", " BATCH_MATMUL "},
    {"Max Pooling", " MAX_POOL_2D "},
    {"Average Pooling", " AVERAGE_POOL_2D MEAN "},
    {"Global Average Pooling", " MEAN AVERAGE_POOL_2D "},
    {"Mean", " MEAN "},
    {"Sum", " SUM "},
    {"Add", " ADD "},
    {"Subtract", " SUB "},
    {"Multiply", " MUL "},
    {"Divide", " DIV "},
    {"Maximum", " MAXIMUM "},
    {"Minimum", " MINIMUM "},
    {"Squared Difference", " SQUARED_DIFFERENCE "},
    {"Softmax", " SOFTMAX "},
    {"Sigmoid", " LOGISTIC "},
    {"Clamp", " RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 "},
    {"ReLU", " RELU "},
    {"HardSwish", " HARD_SWISH "},
    {"Leaky ReLU", " LEAKY_RELU "},
    {"PReLU", " PRELU "},
    {"ELU", " ELU "},
    {"GELU", " GELU "},
    {"Tanh", " TANH "},
    {"Exp", " EXP "},
    {"Log", " LOG "},
    {"Square Root", " SQRT "},
    {"Reciprocal Square Root", " RSQRT "},
    {"Square", " SQUARE "},
    {"Negate", " NEG "},
    {"Abs", " ABS "},
    {"Constant Pad", " PAD PADV2 "},
    {"Concatenate", " CONCATENATION "},
    {"Depth To Space", " DEPTH_TO_SPACE "},
    {"Space To Depth", " SPACE_TO_DEPTH "},
    {"Resize Bilinear", " RESIZE_BILINEAR "},
    {"Static Slice", " SLICE STRIDED_SLICE "},
    {"Even Split", " SPLIT "},
    {"Static Reshape", " RESHAPE SQUEEZE EXPAND_DIMS "},
    {"Copy", " RESHAPE SQUEEZE EXPAND_DIMS "},
    {"Transpose", " TRANSPOSE "},
    {"Convert", " QUANTIZE DEQUANTIZE CAST "},
};

static bool is_listed(const char *list, const char *type)
{
  char wanted[64];
  snprintf(wanted, sizeof wanted, " %s ", type != NULL ? type : "?");
  return strstr(list, wanted) != NULL;
}

// The longest beginning counts: "Square Root" is not "Square".
static const char *types_of(const char *event)
{
  const char *types = "";
  size_t longest = 0;
  for (size_t i = 0; i < sizeof becomes / sizeof becomes[0]; i++) {
    size_t length = strlen(becomes[i].event);
    if (length > longest && strncmp(event, becomes[i].event, length) == 0) {
      longest = length;
      types = becomes[i].types;
    }
  }
  return types;
}

// What XNNPACK may do without a node of its own: fused into a neighbour, or nothing to do.
static bool may_be_gone(const struct litert_node *node)
{
  return is_listed(" PAD RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 RESHAPE SQUEEZE EXPAND_DIMS QUANTIZE DEQUANTIZE ",
                   node->type);
}

// What XNNPACK puts in by itself.
static bool may_be_put_in(const char *event)
{
  return strncmp(event, "Copy", 4) == 0 || strncmp(event, "Static Reshape", 14) == 0 ||
         strncmp(event, "Convert", 7) == 0 || strncmp(event, "Transpose", 9) == 0;
}

// Skips matched and fusable nodes to the next candidate.
static size_t skip(const struct litert_graph *graph, const bool *is_matched, size_t node, const char *types)
{
  while (node < graph->node_count &&
         (is_matched[node] || (!is_listed(types, graph->nodes[node].type) && may_be_gone(&graph->nodes[node]))))
    node++;
  return node;
}

// "Clamp" after an operator with an activation.
static bool is_activation_of(const struct litert_graph *graph, const struct litert_match *before, const char *types)
{
  return before != NULL && before->part == LITERT_WHOLE && graph->nodes[before->node].activation != NULL &&
         is_listed(types, graph->nodes[before->node].activation);
}

static bool match_delegated(const struct litert_graph *graph, const struct litert_event *events, size_t count,
                            const bool *is_matched, struct litert_match *matches)
{
  size_t node = 0;
  struct litert_match *before = NULL;
  for (size_t i = 0; i < count; i++) {
    if (!events[i].is_delegated)
      continue;
    const char *types = types_of(events[i].tag);
    size_t next = skip(graph, is_matched, node, types);
    if (next < graph->node_count && is_listed(types, graph->nodes[next].type)) {
      matches[i] = (struct litert_match){LITERT_WHOLE, next};
      node = next + 1;
      before = &matches[i];
    } else if (is_activation_of(graph, before, types)) {
      matches[i] = (struct litert_match){LITERT_ACTIVATION, before->node};
      before->part = LITERT_MAIN;
    } else if (may_be_put_in(events[i].tag)) {
      matches[i] = (struct litert_match){LITERT_PUT_IN, 0};
    } else {
      return false;
    }
  }
  return skip(graph, is_matched, node, "") == graph->node_count;
}

bool litert_graph_match(const struct litert_graph *graph, const struct litert_event *events, size_t count,
                        struct litert_match *ret_matches)
{
  bool *is_matched = memory_new(graph->node_count + 1, sizeof *is_matched);
  for (size_t i = 0; i < count; i++) {
    ret_matches[i] = (struct litert_match){LITERT_UNKNOWN, 0};
    if (events[i].is_delegated || (uint64_t)events[i].node >= graph->node_count)
      continue;
    ret_matches[i] = (struct litert_match){LITERT_WHOLE, (size_t)events[i].node};
    is_matched[events[i].node] = true;
  }
  bool is_match = match_delegated(graph, events, count, is_matched, ret_matches);
  for (size_t i = 0; i < count && !is_match; i++)
    if (events[i].is_delegated)
      ret_matches[i] = (struct litert_match){LITERT_UNKNOWN, 0};
  free(is_matched);
  return is_match;
}

// ---- work ------------------------------------------------------------------------------------------------------------

// False: the sizes are not known.
static bool sizes_of(const struct litert_tensor *tensor, int64_t batch, int64_t sizes[LITERT_GRAPH_RANK_MOST])
{
  for (size_t i = 0; i < tensor->rank; i++)
    sizes[i] = tensor->sizes[i];
  bool is_known = !tensor->has_free_others && (batch > 0 || !tensor->has_free_batch);
  if (is_known && tensor->has_free_batch && __builtin_mul_overflow(sizes[0], batch, &sizes[0]))
    return false;
  return is_known;
}

static void add_tensor(const struct litert_graph *graph, int32_t number, bool is_output, int64_t batch,
                       struct layer_work *work)
{
  int64_t sizes[LITERT_GRAPH_RANK_MOST];
  const struct litert_tensor *tensor =
      number >= 0 && (size_t)number < graph->tensor_count ? &graph->tensors[number] : NULL;
  bool is_known = tensor != NULL && sizes_of(tensor, batch, sizes);
  enum layer_tensor kind = is_output                               ? LAYER_OUTPUT
                           : tensor != NULL && tensor->is_constant ? LAYER_PARAMETER
                                                                   : LAYER_ACTIVATION;
  if (number == -1) // an argument that is left out, as a bias may be
    layer_work_add(work, LAYER_PARAMETER, NULL, 0, 0);
  else
    layer_work_add(work, kind, sizes, is_known ? tensor->rank : LAYER_RANK_UNKNOWN,
                   is_known ? tensor->element_bytes : 0);
}

static void read_work(const struct litert_graph *graph, const struct litert_node *node, int64_t batch,
                      struct arena *arena, struct litert_work *work)
{
  struct layer_work tensors = {0};
  for (size_t i = 0; i < node->input_count; i++)
    add_tensor(graph, node->inputs[i], false, batch, &tensors);
  for (size_t i = 0; i < node->output_count; i++)
    add_tensor(graph, node->outputs[i], true, batch, &tensors);
  layer_work_tags(&tensors, arena, &work->tags);
  layer_tags_add_text(&work->tags, "operator", node->type);
  if (node->window[0] > 0 && node->window[1] > 0)
    layer_tags_add_text(&work->tags, "kernel_shape", arena_format(arena, "[%d,%d]", node->window[0], node->window[1]));
  int64_t sizes[LITERT_GRAPH_RANK_MOST];
  bool has_output = node->output_count > 0 && node->outputs[0] >= 0 && (size_t)node->outputs[0] < graph->tensor_count;
  const struct litert_tensor *output = has_output ? &graph->tensors[node->outputs[0]] : NULL;
  if (has_output && sizes_of(output, batch, sizes))
    work->shape = layer_work_shape(arena, sizes, output->rank);
  if (has_output && output->name[0] != 0)
    work->name = output->name;
  layer_tags_add_text(&work->tags, "fused_ops", node->activation); // the last
  work->activation = node->activation;
  if (node->activation != NULL && work->name != NULL)
    work->activation_name = arena_format(arena, "%s (%s)", work->name, node->activation);
}

struct litert_work *litert_work_read(const struct litert_graph *graph, int64_t batch, struct arena *arena)
{
  struct litert_work *works = arena_alloc_array(arena, graph->node_count + 1, sizeof *works);
  for (size_t i = 0; i < graph->node_count; i++)
    read_work(graph, &graph->nodes[i], batch, arena, &works[i]);
  return works;
}
