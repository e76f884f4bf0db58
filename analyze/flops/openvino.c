// SPDX-License-Identifier: Apache-2.0
// What OpenVINO's operators cost, by the names of its opsets: the tag `operator` has them, where the layer's type is that
// of the CPU plug-in's node (Eltwise, Pooling). Weights are [outputs, inputs, places], with the groups in front.
#include "analyze/flops/rules.h"

static bool convolution(struct flop_work *work)
{
  return flops_convolution(work, 1, 1, 0);
}

static bool group_convolution(struct flop_work *work)
{
  return flops_convolution(work, 1, 2, 0);
}

static bool transposed_convolution(struct flop_work *work) // weights of [inputs, outputs, places]
{
  return flops_transposed_convolution(work, 0, 1, 1, 0);
}

static bool transposed_group_convolution(struct flop_work *work)
{
  return flops_transposed_convolution(work, 0, 1, 2, 0);
}

// Query, key, value of [batch, heads, length, size]; only the products.
static bool attention(struct flop_work *work)
{
  const struct shape *query = flop_tensor(work->operation, 0), *key = flop_tensor(work->operation, 1);
  const struct shape *value = flop_tensor(work->operation, 2);
  if (query == NULL || key == NULL || value == NULL || query->rank < 3 || key->rank != query->rank ||
      value->rank != query->rank)
    return false;
  int last = query->rank - 1;
  double rows = flop_product(query, 0, last), keys = key->dims[last - 1];
  flop_set(work, rows * keys * (query->dims[last] + value->dims[last]), 0, 0, 0);
  return true;
}

const struct flop_rule flop_rules_openvino[] = {
    FLOP_COUNTS("Convolution", convolution),
    FLOP_COUNTS("GroupConvolution", group_convolution),
    FLOP_COUNTS("ConvolutionBackpropData", transposed_convolution),
    FLOP_COUNTS("GroupConvolutionBackpropData", transposed_group_convolution),
    FLOP_COUNTS("FullyConnected", flops_matrix_product),
    FLOP_COUNTS("MatMul", flops_matrix_product),
    FLOP_COUNTS("ScaledDotProductAttention", attention),
    FLOP_COUNTS("MaxPool", flops_max_pool),
    FLOP_COUNTS("AvgPool", flops_average_pool),
    FLOP_COUNTS("Interpolate", flops_resize),
    FLOP_COUNTS("ReduceMean", flops_mean_of_inputs),
    FLOP_EACH_INPUT("ReduceSum", 1, 0),
    FLOP_EACH_INPUT("ReduceProd", 1, 0),
    FLOP_EACH_INPUT("ReduceMax", 0, 1),
    FLOP_EACH_INPUT("ReduceMin", 0, 1),
    FLOP_EACH_INPUT("CumSum", 1, 0),
    FLOP_EACH("BatchNormInference", 1, 0, 0, 0),
    FLOP_EACH("MVN", 1, 3, 0, 1), // without scale and shift, which are nodes of their own
    FLOP_EACH("GroupNormalization", 2, 3, 0, 1),
    FLOP_EACH("RMS", 1, 1, 0, 1),
    FLOP_EACH("Softmax", 0, 2, 1, 2),
    FLOP_EACH("SoftMax", 0, 2, 1, 2),
    FLOP_EACH("LogSoftmax", 0, 3, 1, 1),
    // Element by element.
    FLOP_EACH("Add", 0, 1, 0, 0),
    FLOP_EACH("Subtract", 0, 1, 0, 0),
    FLOP_EACH("Multiply", 0, 1, 0, 0),
    FLOP_EACH("Negative", 0, 1, 0, 0),
    FLOP_EACH("SquaredDifference", 0, 2, 0, 0),
    FLOP_EACH("Divide", 0, 0, 0, 1),
    FLOP_EACH("FloorMod", 0, 0, 0, 1),
    FLOP_EACH("Power", 0, 0, 0, 1),
    FLOP_EACH("PowerStatic", 0, 0, 0, 1),
    FLOP_EACH("ScaleShift", 1, 0, 0, 0), // PowerStatic without a power
    FLOP_EACH("Sqrt", 0, 0, 0, 1),
    FLOP_EACH("Exp", 0, 0, 0, 1),
    FLOP_EACH("Log", 0, 0, 0, 1),
    FLOP_EACH("Erf", 0, 0, 0, 1),
    FLOP_EACH("Tanh", 0, 0, 0, 1),
    FLOP_EACH("Sin", 0, 0, 0, 1),
    FLOP_EACH("Cos", 0, 0, 0, 1),
    FLOP_EACH("Abs", 0, 0, 1, 0),
    FLOP_EACH("Sign", 0, 0, 1, 0),
    FLOP_EACH("Floor", 0, 0, 1, 0),
    FLOP_EACH("Ceiling", 0, 0, 1, 0),
    FLOP_EACH("Round", 0, 0, 1, 0),
    FLOP_EACH("Maximum", 0, 0, 1, 0),
    FLOP_EACH("Minimum", 0, 0, 1, 0),
    FLOP_EACH("Equal", 0, 0, 1, 0),
    FLOP_EACH("NotEqual", 0, 0, 1, 0),
    FLOP_EACH("Greater", 0, 0, 1, 0),
    FLOP_EACH("GreaterEqual", 0, 0, 1, 0),
    FLOP_EACH("Less", 0, 0, 1, 0),
    FLOP_EACH("LessEqual", 0, 0, 1, 0),
    FLOP_EACH("LogicalAnd", 0, 0, 1, 0),
    FLOP_EACH("LogicalOr", 0, 0, 1, 0),
    FLOP_EACH("LogicalNot", 0, 0, 1, 0),
    FLOP_EACH("Select", 0, 0, 1, 0),
    // Activations, by what they are made of.
    FLOP_EACH("Relu", 0, 0, 1, 0),
    FLOP_EACH("ReLU", 0, 0, 1, 0),
    FLOP_EACH("PRelu", 0, 1, 1, 0),
    FLOP_EACH("LeakyRelu", 0, 1, 1, 0),
    FLOP_EACH("Clamp", 0, 0, 2, 0),
    FLOP_EACH("Elu", 0, 2, 1, 1),
    FLOP_EACH("Selu", 0, 3, 1, 1),
    FLOP_EACH("Sigmoid", 0, 1, 0, 2),
    FLOP_EACH("HSwish", 1, 1, 2, 0),
    FLOP_EACH("HardSigmoid", 1, 0, 2, 0),
    FLOP_EACH("HSigmoid", 1, 0, 2, 0),
    FLOP_EACH("Swish", 0, 2, 0, 2),
    FLOP_EACH("SwishCPU", 0, 2, 0, 2),
    FLOP_EACH("Mish", 0, 2, 0, 3),
    FLOP_EACH("SoftPlus", 0, 1, 0, 2),
    FLOP_EACH("SoftSign", 0, 1, 1, 1),
    FLOP_EACH("Gelu", 0, 4, 0, 1),
    FLOP_EACH("FakeQuantize", 1, 1, 3, 1),
    // No arithmetic.
    FLOP_MOVES("Broadcast", MOVES_ALL),
    FLOP_MOVES("Concat", MOVES_ALL),
    FLOP_MOVES("Convert", MOVES_ALL),
    FLOP_MOVES("ConvertLike", MOVES_ALL),
    FLOP_MOVES("DepthToSpace", MOVES_ALL),
    FLOP_MOVES("Pad", MOVES_ALL),
    FLOP_MOVES("Reorder", MOVES_ALL), // what the CPU plug-in puts between layouts
    FLOP_MOVES("ShuffleChannels", MOVES_ALL),
    FLOP_MOVES("SpaceToDepth", MOVES_ALL),
    FLOP_MOVES("Split", MOVES_ALL),
    FLOP_MOVES("Tile", MOVES_ALL),
    FLOP_MOVES("Transpose", MOVES_ALL),
    FLOP_MOVES("VariadicSplit", MOVES_ALL),
    FLOP_MOVES("Gather", MOVES_PICKED),
    FLOP_MOVES("GatherElements", MOVES_PICKED),
    FLOP_MOVES("GatherND", MOVES_PICKED),
    FLOP_MOVES("Slice", MOVES_PICKED),
    FLOP_MOVES("StridedSlice", MOVES_PICKED),
    FLOP_MOVES("Range", MOVES_RESULT),
    FLOP_MOVES("Constant", MOVES_NOTHING),
    FLOP_MOVES("Parameter", MOVES_NOTHING),
    FLOP_MOVES("Reshape", MOVES_NOTHING),
    FLOP_MOVES("Result", MOVES_NOTHING),
    FLOP_MOVES("ShapeOf", MOVES_NOTHING),
    FLOP_MOVES("Squeeze", MOVES_NOTHING),
    FLOP_MOVES("Unsqueeze", MOVES_NOTHING),
    FLOP_RULES_END,
};
