// SPDX-License-Identifier: Apache-2.0
// Reads tensors and operators of a TFLite flatbuffer; see graph.h. Every offset is checked before it is followed; the
// weights themselves are never touched.
#include "frameworks/litert/graph.h"

#include "base/flatbuffer.h"
#include "base/mapped.h"

#include <string.h>

// ---- the schema ------------------------------------------------------------------------------------------------------

enum { MODEL_CODES = 1, MODEL_GRAPHS = 2, MODEL_BUFFERS = 4, MODEL_SIGNATURES = 7 };
enum { GRAPH_TENSORS = 0, GRAPH_OPERATORS = 3, SIGNATURE_GRAPH = 4 };
enum { TENSOR_SHAPE = 0, TENSOR_TYPE = 1, TENSOR_BUFFER = 2, TENSOR_NAME = 3, TENSOR_SIGNATURE = 7 };
enum { OPERATOR_CODE = 0, OPERATOR_INPUTS = 1, OPERATOR_OUTPUTS = 2, OPERATOR_KIND = 3, OPERATOR_OPTIONS = 4 };
enum { CODE_OLD = 0, CODE_NEW = 3, BUFFER_DATA = 0, BUFFER_OFFSET = 1 };

static const char *type_of(int32_t code)
{
  static const char *const types[] = {
      [0] = "ADD",
      [1] = "AVERAGE_POOL_2D",
      [2] = "CONCATENATION",
      [3] = "CONV_2D",
      [4] = "DEPTHWISE_CONV_2D",
      [5] = "DEPTH_TO_SPACE",
      [6] = "DEQUANTIZE",
      [8] = "FLOOR",
      [9] = "FULLY_CONNECTED",
      [14] = "LOGISTIC",
      [17] = "MAX_POOL_2D",
      [18] = "MUL",
      [19] = "RELU",
      [20] = "RELU_N1_TO_1",
      [21] = "RELU6",
      [22] = "RESHAPE",
      [23] = "RESIZE_BILINEAR",
      [25] = "SOFTMAX",
      [26] = "SPACE_TO_DEPTH",
      [28] = "TANH",
      [34] = "PAD",
      [36] = "GATHER",
      [39] = "TRANSPOSE",
      [40] = "MEAN",
      [41] = "SUB",
      [42] = "DIV",
      [43] = "SQUEEZE",
      [45] = "STRIDED_SLICE",
      [47] = "EXP",
      [49] = "SPLIT",
      [50] = "LOG_SOFTMAX",
      [53] = "CAST",
      [54] = "PRELU",
      [55] = "MAXIMUM",
      [57] = "MINIMUM",
      [59] = "NEG",
      [60] = "PADV2",
      [65] = "SLICE",
      [67] = "TRANSPOSE_CONV",
      [69] = "TILE",
      [70] = "EXPAND_DIMS",
      [73] = "LOG",
      [74] = "SUM",
      [75] = "SQRT",
      [76] = "RSQRT",
      [77] = "SHAPE",
      [78] = "POW",
      [82] = "REDUCE_MAX",
      [83] = "PACK",
      [89] = "REDUCE_MIN",
      [92] = "SQUARE",
      [97] = "RESIZE_NEAREST_NEIGHBOR",
      [98] = "LEAKY_RELU",
      [99] = "SQUARED_DIFFERENCE",
      [100] = "MIRROR_PAD",
      [101] = "ABS",
      [102] = "SPLIT_V",
      [104] = "CEIL",
      [106] = "ADD_N",
      [111] = "ELU",
      [114] = "QUANTIZE",
      [116] = "ROUND",
      [117] = "HARD_SWISH",
      [126] = "BATCH_MATMUL",
      [130] = "BROADCAST_TO",
      [150] = "GELU",
      [152] = "RELU_0_TO_1",
  };
  return code >= 0 && (size_t)code < sizeof types / sizeof types[0] ? types[code] : NULL;
}

static size_t element_bytes(int type)
{
  static const uint8_t bytes[] = {4, 2, 4, 1, 8, 0, 1, 2, 8, 1, 8, 16, 8, 0, 0, 4, 2, 0, 2};
  return type >= 0 && (size_t)type < sizeof bytes ? bytes[type] : 0;
}

static const char *activation_of(int number)
{
  static const char *const activations[] = {NULL, "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN"};
  bool is_known = number >= 0 && (size_t)number < sizeof activations / sizeof activations[0];
  return is_known ? activations[number] : "?"; // which makes the work unknown
}

// Options by their kind: where the fused activation is, and a pool's window.
static void read_options(struct flatbuffer *flat, size_t operation, struct litert_node *node)
{
  static const struct {
    int kind;
    unsigned activation;
  } known[] = {{1, 3}, {2, 4}, {5, 5}, {8, 0}, {10, 1}, {11, 0}, {12, 0}, {21, 0}, {28, 0}, {29, 0}, {49, 3}};
  int kind = flatbuffer_int8(flat, operation, OPERATOR_KIND);
  size_t options = flatbuffer_follow(flat, flatbuffer_field(flat, operation, OPERATOR_OPTIONS));
  for (size_t i = 0; options != 0 && i < sizeof known / sizeof known[0]; i++)
    if (kind == known[i].kind)
      node->activation = activation_of(flatbuffer_int8(flat, options, known[i].activation));
  if (options != 0 && kind == 5) { // Pool2DOptions
    node->window[0] = flatbuffer_int32(flat, options, 4);
    node->window[1] = flatbuffer_int32(flat, options, 3);
  }
}

// ---- the graph -------------------------------------------------------------------------------------------------------

static void read_tensor(struct flatbuffer *flat, size_t table, struct flatbuffer_vector buffers, struct arena *arena,
                        struct litert_tensor *tensor)
{
  struct flatbuffer_vector shape = flatbuffer_vector_of(flat, table, TENSOR_SHAPE, 4),
                           free = flatbuffer_vector_of(flat, table, TENSOR_SIGNATURE, 4);
  struct flatbuffer_vector name = flatbuffer_vector_of(flat, table, TENSOR_NAME, 1);
  tensor->name = name.count > 0 ? arena_copy(arena, (const char *)flat->bytes + name.first, name.count) : "";
  tensor->rank = (uint8_t)(shape.count <= LITERT_GRAPH_RANK_MOST ? shape.count : 0);
  tensor->has_free_others = shape.count > LITERT_GRAPH_RANK_MOST; // unknown, like a size that is not known
  for (size_t i = 0; i < tensor->rank; i++)
    tensor->sizes[i] = (int32_t)flatbuffer_word(flat, shape.first + 4 * i);
  for (size_t i = 0; i < free.count && i < tensor->rank; i++) {
    bool is_free = (int32_t)flatbuffer_word(flat, free.first + 4 * i) < 0;
    tensor->has_free_batch = tensor->has_free_batch || (is_free && i == 0);
    tensor->has_free_others = tensor->has_free_others || (is_free && i > 0);
  }
  tensor->element_bytes = (uint8_t)element_bytes(flatbuffer_int8(flat, table, TENSOR_TYPE));
  size_t buffer = flatbuffer_table_in(flat, buffers, (uint32_t)flatbuffer_int32(flat, table, TENSOR_BUFFER));
  tensor->is_constant = buffer != 0 && (flatbuffer_vector_of(flat, buffer, BUFFER_DATA, 1).count > 0 ||
                                        flatbuffer_field(flat, buffer, BUFFER_OFFSET) != 0);
}

static const int32_t *read_numbers(struct flatbuffer *flat, struct flatbuffer_vector numbers, struct arena *arena)
{
  int32_t *copy = arena_alloc_array(arena, numbers.count + 1, sizeof *copy);
  for (size_t i = 0; i < numbers.count; i++)
    copy[i] = (int32_t)flatbuffer_word(flat, numbers.first + 4 * i);
  return copy;
}

static void read_node(struct flatbuffer *flat, size_t table, struct flatbuffer_vector codes, struct arena *arena,
                      struct litert_node *node)
{
  size_t code = flatbuffer_table_in(flat, codes, (uint32_t)flatbuffer_int32(flat, table, OPERATOR_CODE));
  int32_t old = flatbuffer_int8(flat, code, CODE_OLD), new = flatbuffer_int32(flat, code, CODE_NEW);
  node->code = code == 0 ? -1 : old > new ? old : new;
  node->type = type_of(node->code);
  struct flatbuffer_vector inputs = flatbuffer_vector_of(flat, table, OPERATOR_INPUTS, 4);
  struct flatbuffer_vector outputs = flatbuffer_vector_of(flat, table, OPERATOR_OUTPUTS, 4);
  node->inputs = read_numbers(flat, inputs, arena);
  node->outputs = read_numbers(flat, outputs, arena);
  node->input_count = inputs.count;
  node->output_count = outputs.count;
  read_options(flat, table, node);
}

bool litert_graph_read(const unsigned char *bytes, size_t size, struct arena *arena, struct litert_graph *ret_graph)
{
  *ret_graph = (struct litert_graph){0};
  struct flatbuffer flat = {bytes, size, false};
  if (size < 8 || memcmp(bytes + 4, "TFL3", 4) != 0)
    return false;
  size_t model = flatbuffer_word(&flat, 0);
  struct flatbuffer_vector codes = flatbuffer_vector_of(&flat, model, MODEL_CODES, 4),
                           graphs = flatbuffer_vector_of(&flat, model, MODEL_GRAPHS, 4);
  struct flatbuffer_vector buffers = flatbuffer_vector_of(&flat, model, MODEL_BUFFERS, 4);
  size_t signature = flatbuffer_table_in(&flat, flatbuffer_vector_of(&flat, model, MODEL_SIGNATURES, 4), 0);
  size_t graph = flatbuffer_table_in(
      &flat, graphs, signature == 0 ? 0 : (uint32_t)flatbuffer_int32(&flat, signature, SIGNATURE_GRAPH));
  struct flatbuffer_vector tensors = flatbuffer_vector_of(&flat, graph, GRAPH_TENSORS, 4);
  struct flatbuffer_vector nodes = flatbuffer_vector_of(&flat, graph, GRAPH_OPERATORS, 4);
  ret_graph->tensors = arena_alloc_array(arena, tensors.count + 1, sizeof *ret_graph->tensors);
  ret_graph->nodes = arena_alloc_array(arena, nodes.count + 1, sizeof *ret_graph->nodes);
  if (graph == 0)
    return false;
  for (size_t i = 0; i < tensors.count && !flat.is_broken; i++)
    read_tensor(&flat, flatbuffer_table_in(&flat, tensors, i), buffers, arena,
                &ret_graph->tensors[ret_graph->tensor_count++]);
  for (size_t i = 0; i < nodes.count && !flat.is_broken; i++)
    read_node(&flat, flatbuffer_table_in(&flat, nodes, i), codes, arena, &ret_graph->nodes[ret_graph->node_count++]);
  return !flat.is_broken;
}

bool litert_graph_open(const char *path, struct arena *arena, struct litert_graph *ret_graph)
{
  *ret_graph = (struct litert_graph){0};
  struct mapped file;
  if (!mapped_open(path, &file))
    return false;
  bool is_read = litert_graph_read(file.bytes, file.size, arena, ret_graph);
  mapped_close(&file);
  return is_read;
}
