// SPDX-License-Identifier: Apache-2.0
// What ONNX operators cost, those that ONNX Runtime makes of them included (fused ones, com.microsoft). Shapes are those
// of what was executed: channels padded to a vector's width count. ONNX Runtime takes weights that it has repacked out of
// its lists; where they follow from the other shapes they are put back.
#include "analyze/flops_rules.h"

#include <math.h>
#include <string.h>

// ---- convolutions ----------------------------------------------------------------------------------------------------
static bool count_convolution(struct flop_work *work, unsigned weights_at)
{
  const struct shape *weights = flop_tensor(work->operation, weights_at);
  const struct shape *output = flop_output(work->operation);
  if (weights == NULL || output == NULL || weights->rank < 3 || weights->rank != output->rank)
    return false;
  double outputs = shape_elements(output);
  double adds = 0;
  const struct shape *bias = flop_tensor(work->operation, weights_at + 1);
  const struct shape *sum = flop_tensor(work->operation, weights_at + 2);
  if (weights_at == 1 && bias != NULL && bias->rank == 1)
    adds += outputs;
  if (weights_at == 1 && sum != NULL && sum->rank == output->rank) // fused with the addition behind it
    adds += outputs;
  flop_set(work, outputs * flop_product(weights, 1, weights->rank), adds, 0, 0);
  return true;
}

static bool convolution(struct flop_work *work)
{
  return count_convolution(work, 1);
}

static bool quantized_convolution(struct flop_work *work) // x, its scale and zero point, w, …
{
  return count_convolution(work, 3);
}

static double kernel_elements(const struct flop_work *work)
{
  const struct value *kernel = flop_attribute(work->operation, "kernel_shape");
  double elements = kernel != NULL && kernel->kind == VALUE_NUMBERS && kernel->count > 0 ? 1 : NAN;
  for (size_t i = 0; !isnan(elements) && i < kernel->count; i++)
    elements *= kernel->numbers[i];
  return elements;
}

// Weights that were packed away follow from the window, where that is known.
static bool transposed_convolution(struct flop_work *work)
{
  const struct flop_operation *operation = work->operation;
  const struct shape *input = flop_tensor(operation, 0);
  const struct shape *weights = flop_tensor(operation, 1);
  const struct shape *output = flop_output(operation);
  work->missing_elements = NAN;
  if (input == NULL || output == NULL || input->rank < 3 || output->rank != input->rank)
    return false;
  bool has_weights = weights != NULL && weights->rank == input->rank;
  bool has_bias = flop_tensor(operation, has_weights ? 2 : 1) != NULL;
  double each = NAN; // multiply-adds of an element of the input
  if (has_weights) {
    each = flop_product(weights, 1, weights->rank);
  } else {
    const struct value *group = flop_attribute(operation, "group");
    double groups = group != NULL && group->kind == VALUE_NUMBERS && group->count == 1 ? group->numbers[0] : 1;
    each = output->dims[1] / groups * kernel_elements(work);
  }
  work->missing_elements = has_weights ? 0 : input->dims[1] * each;
  flop_set(work, shape_elements(input) * each, has_bias ? shape_elements(output) : 0, 0, 0);
  return !isnan(each);
}

// ---- products of matrices --------------------------------------------------------------------------------------------
// A (M x K, or turned) by B (K x N, or turned), plus C.
static bool gemm(struct flop_work *work)
{
  const struct shape *a = flop_tensor(work->operation, 0);
  const struct shape *output = flop_output(work->operation);
  if (a == NULL || output == NULL || output->rank != 2 || a->rank != 2)
    return false;
  double rows = output->dims[0];
  double columns = output->dims[1];
  if (a->dims[0] != rows && a->dims[1] != rows)
    return false;
  double depth = a->dims[0] == rows ? a->dims[1] : a->dims[0];
  const struct shape *b = flop_tensor(work->operation, 1);
  bool has_b = b != NULL && b->rank == 2 && shape_elements(b) == depth * columns;
  bool has_c = work->operation->inputs->count > (has_b ? 2u : 1u);
  work->missing_elements = has_b ? 0 : depth * columns;
  flop_set(work, rows * columns * depth, has_c ? rows * columns : 0, 0, 0);
  return true;
}

// How long the sums are: the dimension of A that the output lacks.
static double depth_of(const struct shape *a, const struct shape *output)
{
  if (a->rank == 1)
    return a->dims[0];
  double rows = output->rank >= 2 ? output->dims[output->rank - 2] : NAN;
  if (a->dims[a->rank - 2] != rows && a->dims[a->rank - 1] == rows) // A is turned
    return a->dims[a->rank - 2];
  return a->dims[a->rank - 1];
}

static bool matrix_product(struct flop_work *work)
{
  const struct shape *a = flop_tensor(work->operation, 0);
  const struct shape *output = flop_output(work->operation);
  if (a == NULL || output == NULL)
    return false;
  double depth = depth_of(a, output);
  if (work->operation->inputs->count < 2)
    work->missing_elements = output->rank >= 1 ? depth * output->dims[output->rank - 1] : NAN;
  flop_set(work, shape_elements(output) * depth, 0, 0, 0);
  return true;
}

// Weights of a few bits, packed: their bytes are only known where the framework says them.
static bool packed_matrix_product(struct flop_work *work)
{
  bool is_counted = matrix_product(work);
  work->missing_elements = !is_counted || work->operation->inputs->count < 3 ? NAN : 0;
  return is_counted;
}

// ---- attention: only its products count ------------------------------------------------------------------------------
// ONNX: query, key, value of [batch, heads, length, size] or [batch, length, heads * size].
// com.microsoft Attention: input [batch, length, size], weights [size, 3 * hidden].
static bool attention(struct flop_work *work)
{
  const struct shape *query = flop_tensor(work->operation, 0);
  const struct shape *key = flop_tensor(work->operation, 1);
  const struct shape *value = flop_tensor(work->operation, 2);
  if (query == NULL || key == NULL || value == NULL)
    return false;
  if (query->rank == 3 && key->rank == 2 && value->rank == 1 && key->dims[0] == query->dims[2]) {
    double tokens = query->dims[0] * query->dims[1];
    double hidden = key->dims[1] / 3;
    flop_set(work, tokens * (query->dims[2] * key->dims[1] + 2 * query->dims[1] * hidden), tokens * key->dims[1], 0, 0);
    return true;
  }
  int length_at = query->rank - 2;
  if (query->rank < 3 || query->rank > 4 || key->rank != query->rank || value->rank != query->rank)
    return false;
  if (query->rank == 3 && key->dims[2] != query->dims[2]) // heads that share keys: how many is not recorded
    return false;
  double value_size = query->rank == 3 ? value->dims[2] : query->dims[1] * value->dims[3];
  double scores = shape_elements(query) * key->dims[length_at];
  flop_set(work, scores + query->dims[0] * query->dims[length_at] * key->dims[length_at] * value_size, 0, 0, 0);
  return true;
}

// ---- pooling, norms, reductions --------------------------------------------------------------------------------------
static bool max_pool(struct flop_work *work)
{
  const struct shape *output = flop_output(work->operation);
  double kernel = kernel_elements(work);
  if (output == NULL || isnan(kernel))
    return false;
  flop_set(work, 0, 0, shape_elements(output) * kernel, 0);
  return true;
}

static bool average_pool(struct flop_work *work)
{
  const struct shape *output = flop_output(work->operation);
  double kernel = kernel_elements(work);
  if (output == NULL || isnan(kernel))
    return false;
  flop_set(work, 0, shape_elements(output) * kernel, 0, shape_elements(output));
  return true;
}

// Sums all it reads, divides all it writes.
static bool mean_of_inputs(struct flop_work *work)
{
  const struct shape *input = flop_tensor(work->operation, 0);
  const struct shape *output = flop_output(work->operation);
  if (input == NULL || output == NULL)
    return false;
  flop_set(work, 0, shape_elements(input), 0, shape_elements(output));
  return true;
}

static bool root_of_squares(struct flop_work *work) // ReduceL2
{
  const struct shape *input = flop_tensor(work->operation, 0);
  const struct shape *output = flop_output(work->operation);
  if (input == NULL || output == NULL)
    return false;
  flop_set(work, shape_elements(input), 0, 0, shape_elements(output));
  return true;
}

// Local response normalisation: squares over `size` neighbours, scaled, to a power, divided.
static bool local_response(struct flop_work *work)
{
  const struct shape *output = flop_output(work->operation);
  const struct value *size = flop_attribute(work->operation, "size");
  if (output == NULL || size == NULL || size->kind != VALUE_NUMBERS || size->count != 1)
    return false;
  double elements = shape_elements(output);
  flop_set(work, size->numbers[0] * elements, elements, 0, 3 * elements);
  return true;
}

static bool resize(struct flop_work *work)
{
  const struct value *mode = flop_attribute(work->operation, "mode");
  if (mode == NULL || mode->kind != VALUE_TEXT || strcmp(mode->text, "nearest") != 0)
    return false;
  flop_set(work, 0, 0, 0, 0);
  return true;
}

// ---- the table -------------------------------------------------------------------------------------------------------
// Per element of the output: multiply-adds, adds, compares, specials.
#define EACH(type, multiply_adds, adds, compares, specials)                                                            \
  {                                                                                                                    \
    type, PER_OUTPUT, multiply_adds, adds, compares, specials, MOVES_ALL, RESULT_UNKNOWN, NULL, false, 0               \
  }
#define EACH_INPUT(type, adds, compares)                                                                               \
  {                                                                                                                    \
    type, PER_INPUT, 0, adds, compares, 0, MOVES_ALL, RESULT_UNKNOWN, NULL, false, 0                                   \
  }
#define EACH_FURTHER(type, adds, compares)                                                                             \
  {                                                                                                                    \
    type, PER_FURTHER, 0, adds, compares, 0, MOVES_ALL, RESULT_UNKNOWN, NULL, false, 0                                 \
  }
#define MOVES(type, traffic)                                                                                           \
  {                                                                                                                    \
    type, PER_OUTPUT, 0, 0, 0, 0, traffic, RESULT_UNKNOWN, NULL, false, 0                                              \
  }
#define COUNTS(type, function)                                                                                         \
  {                                                                                                                    \
    type, PER_OUTPUT, 0, 0, 0, 0, MOVES_ALL, RESULT_UNKNOWN, function, false, 0                                        \
  }

const struct flop_rule flop_rules_onnx[] = {
    COUNTS("Conv", convolution),
    COUNTS("FusedConv", convolution),
    COUNTS("NhwcFusedConv", convolution),
    COUNTS("NhwcConv", convolution),
    COUNTS("ConvInteger", convolution),
    COUNTS("QLinearConv", quantized_convolution),
    COUNTS("ConvTranspose", transposed_convolution),
    COUNTS("Gemm", gemm),
    COUNTS("FusedGemm", gemm),
    COUNTS("MatMul", matrix_product),
    COUNTS("FusedMatMul", matrix_product),
    COUNTS("TransposeMatMul", matrix_product),
    COUNTS("MatMulInteger", matrix_product),
    COUNTS("MatMulIntegerToFloat", matrix_product),
    COUNTS("DynamicQuantizeMatMul", matrix_product),
    COUNTS("MatMulNBits", packed_matrix_product),
    COUNTS("Attention", attention),
    COUNTS("MultiHeadAttention", attention),
    COUNTS("MaxPool", max_pool),
    COUNTS("AveragePool", average_pool),
    COUNTS("GlobalAveragePool", mean_of_inputs),
    EACH_INPUT("GlobalMaxPool", 0, 1),
    COUNTS("ReduceMean", mean_of_inputs),
    EACH_INPUT("ReduceSum", 1, 0),
    EACH_INPUT("ReduceMax", 0, 1),
    EACH_INPUT("ReduceMin", 0, 1),
    EACH_INPUT("ReduceProd", 1, 0),
    COUNTS("ReduceL2", root_of_squares),
    EACH_INPUT("ArgMax", 0, 1),
    EACH_INPUT("ArgMin", 0, 1),
    EACH_INPUT("CumSum", 1, 0),
    COUNTS("LRN", local_response),
    COUNTS("Resize", resize),
    COUNTS("Upsample", resize),
    // Norms: scale and shift; where mean and deviation come from the data: two sums, two differences and a square for
    // them, and a division.
    EACH("BatchNormalization", 1, 0, 0, 0),
    EACH("LayerNormalization", 2, 3, 0, 1),
    EACH("InstanceNormalization", 2, 3, 0, 1),
    EACH("GroupNormalization", 2, 3, 0, 1),
    EACH("GroupNorm", 2, 3, 0, 1),
    EACH("SkipLayerNormalization", 2, 4, 0, 1),
    EACH("EmbedLayerNormalization", 2, 5, 0, 1),
    EACH("SimplifiedLayerNormalization", 1, 1, 0, 1), // without a mean: square and sum, divide, scale
    EACH("RMSNormalization", 1, 1, 0, 1),
    EACH("SkipSimplifiedLayerNormalization", 1, 2, 0, 1),
    // Largest, difference to it, exponential, sum, division.
    EACH("Softmax", 0, 2, 1, 2),
    EACH("LogSoftmax", 0, 3, 1, 1),
    // Element by element.
    EACH("Add", 0, 1, 0, 0),
    EACH("Sub", 0, 1, 0, 0),
    EACH("Mul", 0, 1, 0, 0),
    EACH("Neg", 0, 1, 0, 0),
    EACH("Div", 0, 0, 0, 1),
    EACH("Mod", 0, 0, 0, 1),
    EACH("Pow", 0, 0, 0, 1),
    EACH("Sqrt", 0, 0, 0, 1),
    EACH("Reciprocal", 0, 0, 0, 1),
    EACH("Exp", 0, 0, 0, 1),
    EACH("Log", 0, 0, 0, 1),
    EACH("Erf", 0, 0, 0, 1),
    EACH("Tanh", 0, 0, 0, 1),
    EACH("Sin", 0, 0, 0, 1),
    EACH("Cos", 0, 0, 0, 1),
    EACH("Abs", 0, 0, 1, 0),
    EACH("Sign", 0, 0, 1, 0),
    EACH("Floor", 0, 0, 1, 0),
    EACH("Ceil", 0, 0, 1, 0),
    EACH("Round", 0, 0, 1, 0),
    EACH("Equal", 0, 0, 1, 0),
    EACH("Greater", 0, 0, 1, 0),
    EACH("GreaterOrEqual", 0, 0, 1, 0),
    EACH("Less", 0, 0, 1, 0),
    EACH("LessOrEqual", 0, 0, 1, 0),
    EACH("Not", 0, 0, 1, 0),
    EACH("And", 0, 0, 1, 0),
    EACH("Or", 0, 0, 1, 0),
    EACH("Xor", 0, 0, 1, 0),
    EACH("Where", 0, 0, 1, 0),
    EACH("IsNaN", 0, 0, 1, 0),
    EACH("IsInf", 0, 0, 1, 0),
    EACH("Dropout", 0, 0, 1, 0),
    EACH_FURTHER("Sum", 1, 0),
    EACH_FURTHER("Max", 0, 1),
    EACH_FURTHER("Min", 0, 1),
    // Activations, by what they are made of.
    EACH("Relu", 0, 0, 1, 0),
    EACH("LeakyRelu", 0, 1, 1, 0),
    EACH("PRelu", 0, 1, 1, 0),
    EACH("ThresholdedRelu", 0, 0, 1, 0),
    EACH("Clip", 0, 0, 2, 0),
    EACH("Sigmoid", 0, 1, 0, 2),
    EACH("HardSigmoid", 1, 0, 2, 0),
    EACH("HardSwish", 1, 1, 2, 0),
    EACH("Swish", 0, 2, 0, 2),
    EACH("QuickGelu", 0, 3, 0, 2),
    EACH("Elu", 0, 2, 1, 1),
    EACH("Selu", 0, 3, 1, 1),
    EACH("Celu", 0, 2, 1, 2),
    EACH("Softplus", 0, 1, 0, 2),
    EACH("Softsign", 0, 1, 1, 1),
    EACH("Mish", 0, 2, 0, 3),
    EACH("Gelu", 0, 4, 0, 1),
    EACH("BiasGelu", 0, 5, 0, 1),
    EACH("FastGelu", 1, 6, 0, 1),
    EACH("QuantizeLinear", 0, 1, 3, 1), // divide, round, shift, two limits
    EACH("DequantizeLinear", 0, 2, 0, 0),
    // No arithmetic.
    MOVES("Cast", MOVES_ALL),
    MOVES("Concat", MOVES_ALL),
    MOVES("DepthToSpace", MOVES_ALL),
    MOVES("Expand", MOVES_ALL),
    MOVES("MemcpyFromHost", MOVES_ALL),
    MOVES("MemcpyToHost", MOVES_ALL),
    MOVES("Pad", MOVES_ALL),
    MOVES("ReorderInput", MOVES_ALL),
    MOVES("ReorderOutput", MOVES_ALL),
    MOVES("SpaceToDepth", MOVES_ALL),
    MOVES("Split", MOVES_ALL),
    MOVES("Tile", MOVES_ALL),
    MOVES("Transpose", MOVES_ALL),
    MOVES("Gather", MOVES_PICKED),
    MOVES("GatherElements", MOVES_PICKED),
    MOVES("GatherND", MOVES_PICKED),
    MOVES("Slice", MOVES_PICKED),
    MOVES("ConstantOfShape", MOVES_RESULT),
    MOVES("Range", MOVES_RESULT),
    MOVES("Constant", MOVES_NOTHING),
    MOVES("Flatten", MOVES_NOTHING),
    MOVES("Identity", MOVES_NOTHING),
    MOVES("Reshape", MOVES_NOTHING),
    MOVES("Shape", MOVES_NOTHING),
    MOVES("Size", MOVES_NOTHING),
    MOVES("Squeeze", MOVES_NOTHING),
    MOVES("Unsqueeze", MOVES_NOTHING),
    {NULL, PER_OUTPUT, 0, 0, 0, 0, MOVES_NOTHING, RESULT_UNKNOWN, NULL, false, 0},
};
