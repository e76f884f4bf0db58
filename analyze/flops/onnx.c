// SPDX-License-Identifier: Apache-2.0
// What ONNX operators cost, those that ONNX Runtime makes of them included (fused ones, com.microsoft). Shapes are those
// of what was executed: channels padded to a vector's width count. ONNX Runtime takes weights that it has repacked out of
// its lists; where they follow from the other shapes they are put back.
#include "analyze/flops/rules.h"

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
    each = output->dims[1] / groups * flops_kernel_elements(work);
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

// Weights of a few bits, packed: their bytes are only known where the framework says them.
static bool packed_matrix_product(struct flop_work *work)
{
  bool is_counted = flops_matrix_product(work);
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

// ---- the table -------------------------------------------------------------------------------------------------------
const struct flop_rule flop_rules_onnx[] = {
    FLOP_COUNTS("Conv", convolution),
    FLOP_COUNTS("FusedConv", convolution),
    FLOP_COUNTS("NhwcFusedConv", convolution),
    FLOP_COUNTS("NhwcConv", convolution),
    FLOP_COUNTS("ConvInteger", convolution),
    FLOP_COUNTS("QLinearConv", quantized_convolution),
    FLOP_COUNTS("ConvTranspose", transposed_convolution),
    FLOP_COUNTS("Gemm", gemm),
    FLOP_COUNTS("FusedGemm", gemm),
    FLOP_COUNTS("MatMul", flops_matrix_product),
    FLOP_COUNTS("FusedMatMul", flops_matrix_product),
    FLOP_COUNTS("TransposeMatMul", flops_matrix_product),
    FLOP_COUNTS("MatMulInteger", flops_matrix_product),
    FLOP_COUNTS("MatMulIntegerToFloat", flops_matrix_product),
    FLOP_COUNTS("DynamicQuantizeMatMul", flops_matrix_product),
    FLOP_COUNTS("MatMulNBits", packed_matrix_product),
    FLOP_COUNTS("Attention", attention),
    FLOP_COUNTS("MultiHeadAttention", attention),
    FLOP_COUNTS("MaxPool", flops_max_pool),
    FLOP_COUNTS("AveragePool", flops_average_pool),
    FLOP_COUNTS("GlobalAveragePool", flops_mean_of_inputs),
    FLOP_EACH_INPUT("GlobalMaxPool", 0, 1),
    FLOP_COUNTS("ReduceMean", flops_mean_of_inputs),
    FLOP_EACH_INPUT("ReduceSum", 1, 0),
    FLOP_EACH_INPUT("ReduceMax", 0, 1),
    FLOP_EACH_INPUT("ReduceMin", 0, 1),
    FLOP_EACH_INPUT("ReduceProd", 1, 0),
    FLOP_COUNTS("ReduceL2", root_of_squares),
    FLOP_EACH_INPUT("ArgMax", 0, 1),
    FLOP_EACH_INPUT("ArgMin", 0, 1),
    FLOP_EACH_INPUT("CumSum", 1, 0),
    FLOP_COUNTS("LRN", local_response),
    FLOP_COUNTS("Resize", flops_resize),
    FLOP_COUNTS("Upsample", flops_resize),
    // Norms: scale and shift; where mean and deviation come from the data: two sums, two differences and a square for
    // them, and a division.
    FLOP_EACH("BatchNormalization", 1, 0, 0, 0),
    FLOP_EACH("LayerNormalization", 2, 3, 0, 1),
    FLOP_EACH("InstanceNormalization", 2, 3, 0, 1),
    FLOP_EACH("GroupNormalization", 2, 3, 0, 1),
    FLOP_EACH("GroupNorm", 2, 3, 0, 1),
    FLOP_EACH("SkipLayerNormalization", 2, 4, 0, 1),
    FLOP_EACH("EmbedLayerNormalization", 2, 5, 0, 1),
    FLOP_EACH("SimplifiedLayerNormalization", 1, 1, 0, 1), // without a mean: square and sum, divide, scale
    FLOP_EACH("RMSNormalization", 1, 1, 0, 1),
    FLOP_EACH("SkipSimplifiedLayerNormalization", 1, 2, 0, 1),
    // Largest, difference to it, exponential, sum, division.
    FLOP_EACH("Softmax", 0, 2, 1, 2),
    FLOP_EACH("LogSoftmax", 0, 3, 1, 1),
    // Element by element.
    FLOP_EACH("Add", 0, 1, 0, 0),
    FLOP_EACH("Sub", 0, 1, 0, 0),
    FLOP_EACH("Mul", 0, 1, 0, 0),
    FLOP_EACH("Neg", 0, 1, 0, 0),
    FLOP_EACH("Div", 0, 0, 0, 1),
    FLOP_EACH("Mod", 0, 0, 0, 1),
    FLOP_EACH("Pow", 0, 0, 0, 1),
    FLOP_EACH("Sqrt", 0, 0, 0, 1),
    FLOP_EACH("Reciprocal", 0, 0, 0, 1),
    FLOP_EACH("Exp", 0, 0, 0, 1),
    FLOP_EACH("Log", 0, 0, 0, 1),
    FLOP_EACH("Erf", 0, 0, 0, 1),
    FLOP_EACH("Tanh", 0, 0, 0, 1),
    FLOP_EACH("Sin", 0, 0, 0, 1),
    FLOP_EACH("Cos", 0, 0, 0, 1),
    FLOP_EACH("Abs", 0, 0, 1, 0),
    FLOP_EACH("Sign", 0, 0, 1, 0),
    FLOP_EACH("Floor", 0, 0, 1, 0),
    FLOP_EACH("Ceil", 0, 0, 1, 0),
    FLOP_EACH("Round", 0, 0, 1, 0),
    FLOP_EACH("Equal", 0, 0, 1, 0),
    FLOP_EACH("Greater", 0, 0, 1, 0),
    FLOP_EACH("GreaterOrEqual", 0, 0, 1, 0),
    FLOP_EACH("Less", 0, 0, 1, 0),
    FLOP_EACH("LessOrEqual", 0, 0, 1, 0),
    FLOP_EACH("Not", 0, 0, 1, 0),
    FLOP_EACH("And", 0, 0, 1, 0),
    FLOP_EACH("Or", 0, 0, 1, 0),
    FLOP_EACH("Xor", 0, 0, 1, 0),
    FLOP_EACH("Where", 0, 0, 1, 0),
    FLOP_EACH("IsNaN", 0, 0, 1, 0),
    FLOP_EACH("IsInf", 0, 0, 1, 0),
    FLOP_EACH("Dropout", 0, 0, 1, 0),
    FLOP_EACH_FURTHER("Sum", 1, 0),
    FLOP_EACH_FURTHER("Max", 0, 1),
    FLOP_EACH_FURTHER("Min", 0, 1),
    // Activations, by what they are made of.
    FLOP_EACH("Relu", 0, 0, 1, 0),
    FLOP_EACH("LeakyRelu", 0, 1, 1, 0),
    FLOP_EACH("PRelu", 0, 1, 1, 0),
    FLOP_EACH("ThresholdedRelu", 0, 0, 1, 0),
    FLOP_EACH("Clip", 0, 0, 2, 0),
    FLOP_EACH("Sigmoid", 0, 1, 0, 2),
    FLOP_EACH("HardSigmoid", 1, 0, 2, 0),
    FLOP_EACH("HardSwish", 1, 1, 2, 0),
    FLOP_EACH("Swish", 0, 2, 0, 2),
    FLOP_EACH("QuickGelu", 0, 3, 0, 2),
    FLOP_EACH("Elu", 0, 2, 1, 1),
    FLOP_EACH("Selu", 0, 3, 1, 1),
    FLOP_EACH("Celu", 0, 2, 1, 2),
    FLOP_EACH("Softplus", 0, 1, 0, 2),
    FLOP_EACH("Softsign", 0, 1, 1, 1),
    FLOP_EACH("Mish", 0, 2, 0, 3),
    FLOP_EACH("Gelu", 0, 4, 0, 1),
    FLOP_EACH("BiasGelu", 0, 5, 0, 1),
    FLOP_EACH("FastGelu", 1, 6, 0, 1),
    FLOP_EACH("QuantizeLinear", 0, 1, 3, 1), // divide, round, shift, two limits
    FLOP_EACH("DequantizeLinear", 0, 2, 0, 0),
    // No arithmetic.
    FLOP_MOVES("Cast", MOVES_ALL),
    FLOP_MOVES("Concat", MOVES_ALL),
    FLOP_MOVES("DepthToSpace", MOVES_ALL),
    FLOP_MOVES("Expand", MOVES_ALL),
    FLOP_MOVES("MemcpyFromHost", MOVES_ALL),
    FLOP_MOVES("MemcpyToHost", MOVES_ALL),
    FLOP_MOVES("Pad", MOVES_ALL),
    FLOP_MOVES("ReorderInput", MOVES_ALL),
    FLOP_MOVES("ReorderOutput", MOVES_ALL),
    FLOP_MOVES("SpaceToDepth", MOVES_ALL),
    FLOP_MOVES("Split", MOVES_ALL),
    FLOP_MOVES("Tile", MOVES_ALL),
    FLOP_MOVES("Transpose", MOVES_ALL),
    FLOP_MOVES("Gather", MOVES_PICKED),
    FLOP_MOVES("GatherElements", MOVES_PICKED),
    FLOP_MOVES("GatherND", MOVES_PICKED),
    FLOP_MOVES("Slice", MOVES_PICKED),
    FLOP_MOVES("ConstantOfShape", MOVES_RESULT),
    FLOP_MOVES("Range", MOVES_RESULT),
    FLOP_MOVES("Constant", MOVES_NOTHING),
    FLOP_MOVES("Flatten", MOVES_NOTHING),
    FLOP_MOVES("Identity", MOVES_NOTHING),
    FLOP_MOVES("Reshape", MOVES_NOTHING),
    FLOP_MOVES("Shape", MOVES_NOTHING),
    FLOP_MOVES("Size", MOVES_NOTHING),
    FLOP_MOVES("Squeeze", MOVES_NOTHING),
    FLOP_MOVES("Unsqueeze", MOVES_NOTHING),
    FLOP_RULES_END,
};
