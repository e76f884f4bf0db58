// SPDX-License-Identifier: Apache-2.0
// What TensorFlow's operators cost, those that its rewrites make included (_FusedConv2D, _MklNative…). Weights of
// convolutions are [height, width, inputs in a group, outputs]. What was fused comes from the node's attribute fused_ops.
#include "analyze/flops/rules.h"

#include <string.h>

const char *flops_tensorflow_plain(const char *type)
{
  static const char *const marks[] = {"_", "Mkl", "Native", "PadWith", "Fused"};
  const char *plain = type;
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
    if (strncmp(plain, marks[i], strlen(marks[i])) == 0 && plain[strlen(marks[i])] != 0)
      plain += strlen(marks[i]);
  return plain;
}

static bool convolution(struct flop_work *work)
{
  return flops_convolution(work, 1, 0, -1);
}

static bool convolution_with_bias(struct flop_work *work)
{
  bool is_counted = convolution(work);
  flops_add_bias(work, 2);
  return is_counted;
}

static bool depthwise(struct flop_work *work) // [height, width, inputs, outputs of each]
{
  return flops_convolution(work, 1, 0, -2);
}

static bool transposed_convolution(struct flop_work *work) // sizes, weights [height, width, outputs, inputs], data
{
  return flops_transposed_convolution(work, 2, 1, 0, -1);
}

const struct flop_rule flop_rules_tensorflow[] = {
    FLOP_COUNTS("Conv2D", convolution),
    FLOP_COUNTS("Conv3D", convolution),
    FLOP_COUNTS("Conv2DWithBias", convolution_with_bias),
    FLOP_COUNTS("DepthwiseConv2dNative", depthwise),
    FLOP_COUNTS("DepthwiseConv2dNativeWithBias", depthwise),
    FLOP_COUNTS("Conv2DBackpropInput", transposed_convolution),
    FLOP_COUNTS("Conv3DBackpropInputV2", transposed_convolution),
    FLOP_COUNTS("MatMul", flops_matrix_product),
    FLOP_COUNTS("BatchMatMul", flops_matrix_product),
    FLOP_COUNTS("BatchMatMulV2", flops_matrix_product),
    FLOP_COUNTS("BatchMatMulV3", flops_matrix_product),
    FLOP_COUNTS("MaxPool", flops_max_pool),
    FLOP_COUNTS("MaxPool3D", flops_max_pool),
    FLOP_COUNTS("AvgPool", flops_average_pool),
    FLOP_COUNTS("AvgPool3D", flops_average_pool),
    FLOP_COUNTS("Mean", flops_mean_of_inputs),
    FLOP_EACH_INPUT("Sum", 1, 0),
    FLOP_EACH_INPUT("Prod", 1, 0),
    FLOP_EACH_INPUT("Max", 0, 1),
    FLOP_EACH_INPUT("Min", 0, 1),
    FLOP_EACH_INPUT("All", 0, 1),
    FLOP_EACH_INPUT("Any", 0, 1),
    FLOP_EACH_INPUT("ArgMax", 0, 1),
    FLOP_EACH_INPUT("ArgMin", 0, 1),
    FLOP_EACH_INPUT("Cumsum", 1, 0),
    FLOP_EACH("FusedBatchNorm", 1, 0, 0, 0),
    FLOP_EACH("FusedBatchNormV2", 1, 0, 0, 0),
    FLOP_EACH("FusedBatchNormV3", 1, 0, 0, 0),
    FLOP_EACH("_FusedBatchNormEx", 1, 0, 0, 0),
    FLOP_EACH("_MklNativeFusedBatchNorm", 1, 0, 0, 0),
    FLOP_EACH("_MklNativeFusedBatchNormV3", 1, 0, 0, 0),
    FLOP_EACH("_MklNativeFusedBatchNormEx", 1, 0, 0, 0),
    FLOP_EACH("FusedBatchNormTraining", 2, 3, 0, 1), // by tag `operator`
    FLOP_EACH("LayerNorm", 2, 3, 0, 1),
    FLOP_EACH("Softmax", 0, 2, 1, 2),
    FLOP_EACH("LogSoftmax", 0, 3, 1, 1),
    // Element by element.
    FLOP_EACH("Add", 0, 1, 0, 0),
    FLOP_EACH("AddV2", 0, 1, 0, 0),
    FLOP_EACH("BiasAdd", 0, 1, 0, 0),
    FLOP_EACH("BiasSemanticAdd", 0, 1, 0, 0),
    FLOP_EACH("Sub", 0, 1, 0, 0),
    FLOP_EACH("Mul", 0, 1, 0, 0),
    FLOP_EACH("Neg", 0, 1, 0, 0),
    FLOP_EACH("Square", 0, 1, 0, 0),
    FLOP_EACH("SquaredDifference", 0, 2, 0, 0),
    FLOP_EACH("RealDiv", 0, 0, 0, 1),
    FLOP_EACH("Div", 0, 0, 0, 1),
    FLOP_EACH("DivNoNan", 0, 0, 0, 1),
    FLOP_EACH("FloorDiv", 0, 0, 0, 1),
    FLOP_EACH("FloorMod", 0, 0, 0, 1),
    FLOP_EACH("Pow", 0, 0, 0, 1),
    FLOP_EACH("Sqrt", 0, 0, 0, 1),
    FLOP_EACH("Rsqrt", 0, 0, 0, 1),
    FLOP_EACH("Reciprocal", 0, 0, 0, 1),
    FLOP_EACH("Exp", 0, 0, 0, 1),
    FLOP_EACH("Log", 0, 0, 0, 1),
    FLOP_EACH("Log1p", 0, 0, 0, 1),
    FLOP_EACH("Erf", 0, 0, 0, 1),
    FLOP_EACH("Erfc", 0, 0, 0, 1),
    FLOP_EACH("Tanh", 0, 0, 0, 1),
    FLOP_EACH("Sin", 0, 0, 0, 1),
    FLOP_EACH("Cos", 0, 0, 0, 1),
    FLOP_EACH("Abs", 0, 0, 1, 0),
    FLOP_EACH("Sign", 0, 0, 1, 0),
    FLOP_EACH("Floor", 0, 0, 1, 0),
    FLOP_EACH("Ceil", 0, 0, 1, 0),
    FLOP_EACH("Round", 0, 0, 1, 0),
    FLOP_EACH("Maximum", 0, 0, 1, 0),
    FLOP_EACH("Minimum", 0, 0, 1, 0),
    FLOP_EACH("ClipByValue", 0, 0, 2, 0),
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
    FLOP_EACH("SelectV2", 0, 0, 1, 0),
    FLOP_EACH_FURTHER("AddN", 1, 0),
    // Activations, by what they are made of.
    FLOP_EACH("Relu", 0, 0, 1, 0),
    FLOP_EACH("Relu6", 0, 0, 2, 0),
    FLOP_EACH("LeakyRelu", 0, 1, 1, 0),
    FLOP_EACH("Elu", 0, 2, 1, 1),
    FLOP_EACH("Selu", 0, 3, 1, 1),
    FLOP_EACH("Sigmoid", 0, 1, 0, 2),
    FLOP_EACH("Swish", 0, 2, 0, 2),
    FLOP_EACH("_FusedHardSwish", 1, 1, 2, 0),
    FLOP_EACH("Mish", 0, 2, 0, 3),
    FLOP_EACH("Softplus", 0, 1, 0, 2),
    FLOP_EACH("Softsign", 0, 1, 1, 1),
    FLOP_EACH("GeluExact", 0, 4, 0, 1),
    FLOP_EACH("GeluApproximate", 1, 6, 0, 1),
    // No arithmetic.
    FLOP_MOVES("Cast", MOVES_ALL),
    FLOP_MOVES("BatchToSpaceND", MOVES_ALL),
    FLOP_MOVES("BroadcastTo", MOVES_ALL),
    FLOP_MOVES("ConcatV2", MOVES_ALL),
    FLOP_MOVES("DepthToSpace", MOVES_ALL),
    FLOP_MOVES("MirrorPad", MOVES_ALL),
    FLOP_MOVES("Pack", MOVES_ALL),
    FLOP_MOVES("Pad", MOVES_ALL),
    FLOP_MOVES("PadV2", MOVES_ALL),
    FLOP_MOVES("ResizeNearestNeighbor", MOVES_ALL),
    FLOP_MOVES("SpaceToBatchND", MOVES_ALL),
    FLOP_MOVES("SpaceToDepth", MOVES_ALL),
    FLOP_MOVES("Split", MOVES_ALL),
    FLOP_MOVES("SplitV", MOVES_ALL),
    FLOP_MOVES("Tile", MOVES_ALL),
    FLOP_MOVES("Transpose", MOVES_ALL),
    FLOP_MOVES("Unpack", MOVES_ALL),
    FLOP_MOVES("Gather", MOVES_PICKED),
    FLOP_MOVES("GatherNd", MOVES_PICKED),
    FLOP_MOVES("GatherV2", MOVES_PICKED),
    FLOP_MOVES("ResourceGather", MOVES_PICKED),
    FLOP_MOVES("Slice", MOVES_PICKED),
    FLOP_MOVES("StridedSlice", MOVES_PICKED),
    FLOP_MOVES("Fill", MOVES_RESULT),
    FLOP_MOVES("OnesLike", MOVES_RESULT),
    FLOP_MOVES("Range", MOVES_RESULT),
    FLOP_MOVES("ZerosLike", MOVES_RESULT),
    FLOP_MOVES("Assert", MOVES_NOTHING),
    FLOP_MOVES("BroadcastArgs", MOVES_NOTHING),
    FLOP_MOVES("Const", MOVES_NOTHING),
    FLOP_MOVES("ControlTrigger", MOVES_NOTHING),
    FLOP_MOVES("Enter", MOVES_NOTHING),
    FLOP_MOVES("Exit", MOVES_NOTHING),
    FLOP_MOVES("ExpandDims", MOVES_NOTHING),
    FLOP_MOVES("HostConst", MOVES_NOTHING),
    FLOP_MOVES("Identity", MOVES_NOTHING),
    FLOP_MOVES("IdentityN", MOVES_NOTHING),
    FLOP_MOVES("LoopCond", MOVES_NOTHING),
    FLOP_MOVES("Merge", MOVES_NOTHING),
    FLOP_MOVES("NextIteration", MOVES_NOTHING),
    FLOP_MOVES("NoOp", MOVES_NOTHING),
    FLOP_MOVES("Placeholder", MOVES_NOTHING),
    FLOP_MOVES("PreventGradient", MOVES_NOTHING),
    FLOP_MOVES("Rank", MOVES_NOTHING),
    FLOP_MOVES("ReadVariableOp", MOVES_NOTHING),
    FLOP_MOVES("Reshape", MOVES_NOTHING),
    FLOP_MOVES("Shape", MOVES_NOTHING),
    FLOP_MOVES("ShapeN", MOVES_NOTHING),
    FLOP_MOVES("Size", MOVES_NOTHING),
    FLOP_MOVES("Squeeze", MOVES_NOTHING),
    FLOP_MOVES("StopGradient", MOVES_NOTHING),
    FLOP_MOVES("Switch", MOVES_NOTHING),
    FLOP_MOVES("VarHandleOp", MOVES_NOTHING),
    FLOP_MOVES("VariableV2", MOVES_NOTHING),
    FLOP_MOVES("_Arg", MOVES_NOTHING),
    FLOP_MOVES("_DeviceArg", MOVES_NOTHING),
    FLOP_MOVES("_DeviceRetval", MOVES_NOTHING),
    FLOP_MOVES("_HostConst", MOVES_NOTHING),
    FLOP_MOVES("_HostRecv", MOVES_NOTHING),
    FLOP_MOVES("_HostSend", MOVES_NOTHING),
    FLOP_MOVES("_ReadVariablesOp", MOVES_NOTHING),
    FLOP_MOVES("_Recv", MOVES_NOTHING),
    FLOP_MOVES("_Retval", MOVES_NOTHING),
    FLOP_MOVES("_Send", MOVES_NOTHING),
    FLOP_RULES_END,
};
