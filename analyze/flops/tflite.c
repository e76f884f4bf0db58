// SPDX-License-Identifier: Apache-2.0
// What TFLite's operators cost, by the names of its schema; LiteRT's layers have them as their type, or as tag `operator`
// where XNNPACK computes them. Weights are [outputs, places, inputs in a group]; the activation that an operator has among
// its options is what is fused.
#include "analyze/flops/rules.h"

static bool convolution(struct flop_work *work)
{
  bool is_counted = flops_convolution(work, 1, 1, 0);
  flops_add_bias(work, 2);
  return is_counted;
}

static bool depthwise(struct flop_work *work) // weights of [1, height, width, outputs]
{
  bool is_counted = flops_convolution(work, 1, 1, -1);
  flops_add_bias(work, 2);
  return is_counted;
}

static bool transposed_convolution(struct flop_work *work) // sizes, weights of [outputs, height, width, inputs], data
{
  bool is_counted = flops_transposed_convolution(work, 2, 1, 0, -1);
  flops_add_bias(work, 3);
  return is_counted;
}

const struct flop_rule flop_rules_tflite[] = {
    FLOP_COUNTS("CONV_2D", convolution),
    FLOP_COUNTS("DEPTHWISE_CONV_2D", depthwise),
    FLOP_COUNTS("TRANSPOSE_CONV", transposed_convolution),
    FLOP_COUNTS("FULLY_CONNECTED", flops_dense),
    FLOP_COUNTS("BATCH_MATMUL", flops_matrix_product),
    FLOP_COUNTS("MAX_POOL_2D", flops_max_pool),
    FLOP_COUNTS("AVERAGE_POOL_2D", flops_average_pool),
    FLOP_COUNTS("MEAN", flops_mean_of_inputs),
    FLOP_EACH_INPUT("SUM", 1, 0),
    FLOP_EACH_INPUT("REDUCE_PROD", 1, 0),
    FLOP_EACH_INPUT("REDUCE_MAX", 0, 1),
    FLOP_EACH_INPUT("REDUCE_MIN", 0, 1),
    FLOP_EACH_INPUT("ARG_MAX", 0, 1),
    FLOP_EACH_INPUT("ARG_MIN", 0, 1),
    FLOP_EACH_INPUT("CUMSUM", 1, 0),
    FLOP_EACH("SOFTMAX", 0, 2, 1, 2),
    FLOP_EACH("LOG_SOFTMAX", 0, 3, 1, 1),
    // Element by element.
    FLOP_EACH("ADD", 0, 1, 0, 0),
    FLOP_EACH("SUB", 0, 1, 0, 0),
    FLOP_EACH("MUL", 0, 1, 0, 0),
    FLOP_EACH("NEG", 0, 1, 0, 0),
    FLOP_EACH("SQUARE", 0, 1, 0, 0),
    FLOP_EACH("SQUARED_DIFFERENCE", 0, 2, 0, 0),
    FLOP_EACH("DIV", 0, 0, 0, 1),
    FLOP_EACH("FLOOR_DIV", 0, 0, 0, 1),
    FLOP_EACH("FLOOR_MOD", 0, 0, 0, 1),
    FLOP_EACH("POW", 0, 0, 0, 1),
    FLOP_EACH("SQRT", 0, 0, 0, 1),
    FLOP_EACH("RSQRT", 0, 0, 0, 1),
    FLOP_EACH("EXP", 0, 0, 0, 1),
    FLOP_EACH("LOG", 0, 0, 0, 1),
    FLOP_EACH("SIN", 0, 0, 0, 1),
    FLOP_EACH("COS", 0, 0, 0, 1),
    FLOP_EACH("ABS", 0, 0, 1, 0),
    FLOP_EACH("SIGN", 0, 0, 1, 0),
    FLOP_EACH("FLOOR", 0, 0, 1, 0),
    FLOP_EACH("CEIL", 0, 0, 1, 0),
    FLOP_EACH("ROUND", 0, 0, 1, 0),
    FLOP_EACH("MAXIMUM", 0, 0, 1, 0),
    FLOP_EACH("MINIMUM", 0, 0, 1, 0),
    FLOP_EACH("EQUAL", 0, 0, 1, 0),
    FLOP_EACH("NOT_EQUAL", 0, 0, 1, 0),
    FLOP_EACH("GREATER", 0, 0, 1, 0),
    FLOP_EACH("GREATER_EQUAL", 0, 0, 1, 0),
    FLOP_EACH("LESS", 0, 0, 1, 0),
    FLOP_EACH("LESS_EQUAL", 0, 0, 1, 0),
    FLOP_EACH("LOGICAL_AND", 0, 0, 1, 0),
    FLOP_EACH("LOGICAL_OR", 0, 0, 1, 0),
    FLOP_EACH("LOGICAL_NOT", 0, 0, 1, 0),
    FLOP_EACH("SELECT", 0, 0, 1, 0),
    FLOP_EACH("SELECT_V2", 0, 0, 1, 0),
    FLOP_EACH_FURTHER("ADD_N", 1, 0),
    // Activations, by what they are made of.
    FLOP_EACH("RELU", 0, 0, 1, 0),
    FLOP_EACH("RELU6", 0, 0, 2, 0),
    FLOP_EACH("RELU_N1_TO_1", 0, 0, 2, 0),
    FLOP_EACH("RELU_0_TO_1", 0, 0, 2, 0),
    FLOP_EACH("LEAKY_RELU", 0, 1, 1, 0),
    FLOP_EACH("PRELU", 0, 1, 1, 0),
    FLOP_EACH("ELU", 0, 2, 1, 1),
    FLOP_EACH("LOGISTIC", 0, 1, 0, 2),
    FLOP_EACH("HARD_SWISH", 1, 1, 2, 0),
    FLOP_EACH("TANH", 0, 0, 0, 1),
    FLOP_EACH("GELU", 0, 4, 0, 1),
    FLOP_EACH("QUANTIZE", 0, 1, 3, 1), // divide, round, shift, two limits
    FLOP_EACH("DEQUANTIZE", 0, 2, 0, 0),
    // No arithmetic.
    FLOP_MOVES("BROADCAST_TO", MOVES_ALL),
    FLOP_MOVES("CAST", MOVES_ALL),
    FLOP_MOVES("CONCATENATION", MOVES_ALL),
    FLOP_MOVES("COPY", MOVES_ALL), // none of the schema's: what XNNPACK puts in
    FLOP_MOVES("DEPTH_TO_SPACE", MOVES_ALL),
    FLOP_MOVES("MIRROR_PAD", MOVES_ALL),
    FLOP_MOVES("PACK", MOVES_ALL),
    FLOP_MOVES("PAD", MOVES_ALL),
    FLOP_MOVES("PADV2", MOVES_ALL),
    FLOP_MOVES("RESIZE_NEAREST_NEIGHBOR", MOVES_ALL),
    FLOP_MOVES("SPACE_TO_DEPTH", MOVES_ALL),
    FLOP_MOVES("SPLIT", MOVES_ALL),
    FLOP_MOVES("SPLIT_V", MOVES_ALL),
    FLOP_MOVES("TILE", MOVES_ALL),
    FLOP_MOVES("TRANSPOSE", MOVES_ALL),
    FLOP_MOVES("UNPACK", MOVES_ALL),
    FLOP_MOVES("GATHER", MOVES_PICKED),
    FLOP_MOVES("GATHER_ND", MOVES_PICKED),
    FLOP_MOVES("SLICE", MOVES_PICKED),
    FLOP_MOVES("STRIDED_SLICE", MOVES_PICKED),
    FLOP_MOVES("FILL", MOVES_RESULT),
    FLOP_MOVES("RANGE", MOVES_RESULT),
    FLOP_MOVES("EXPAND_DIMS", MOVES_NOTHING),
    FLOP_MOVES("RANK", MOVES_NOTHING),
    FLOP_MOVES("RESHAPE", MOVES_NOTHING),
    FLOP_MOVES("SHAPE", MOVES_NOTHING),
    FLOP_MOVES("SQUEEZE", MOVES_NOTHING),
    FLOP_RULES_END,
};
