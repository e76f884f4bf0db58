// SPDX-License-Identifier: Apache-2.0
// What MXNet's operators cost, those that its oneDNN backend makes included (_sg_mkldnn_conv). Shapes have channels before
// places, weights are [outputs, inputs in a group, places]. An operator that is several (Activation, Pooling) comes by the
// tag `operator`, which says which of them it is.
#include "analyze/flops/rules.h"

// The third input is a bias, or belongs to a batch norm that was folded into the weights, whose shift is one.
static bool convolution(struct flop_work *work)
{
  bool is_counted = flops_convolution(work, 1, 1, 0);
  flops_add_bias(work, 2);
  return is_counted;
}

static bool transposed_convolution(struct flop_work *work) // weights of [inputs, outputs in a group, places]
{
  bool is_counted = flops_transposed_convolution(work, 0, 1, 1, 0);
  flops_add_bias(work, 2);
  return is_counted;
}

#define NOTHING(type) FLOP_MOVES(type, MOVES_NOTHING)

const struct flop_rule flop_rules_mxnet[] = {
    FLOP_COUNTS("Convolution", convolution),
    FLOP_COUNTS("_sg_mkldnn_conv", convolution),
    FLOP_COUNTS("Deconvolution", transposed_convolution),
    FLOP_COUNTS("FullyConnected", flops_dense),
    FLOP_COUNTS("_sg_mkldnn_fully_connected", flops_dense),
    FLOP_COUNTS("dot", flops_matrix_product),
    FLOP_COUNTS("batch_dot", flops_matrix_product),
    FLOP_COUNTS("max_pool", flops_max_pool), // Pooling, by its pool_type
    FLOP_COUNTS("avg_pool", flops_average_pool),
    FLOP_COUNTS("sum_pool", flops_average_pool),
    FLOP_EACH_INPUT("global_max_pool", 0, 1),
    FLOP_COUNTS("global_avg_pool", flops_mean_of_inputs),
    FLOP_COUNTS("mean", flops_mean_of_inputs),
    FLOP_EACH_INPUT("sum", 1, 0),
    FLOP_EACH_INPUT("max", 0, 1),
    FLOP_EACH_INPUT("min", 0, 1),
    FLOP_EACH_INPUT("argmax", 0, 1),
    FLOP_EACH("BatchNorm", 1, 0, 0, 0),
    FLOP_EACH("LayerNorm", 2, 3, 0, 1),
    FLOP_EACH("InstanceNorm", 2, 3, 0, 1),
    FLOP_EACH("GroupNorm", 2, 3, 0, 1),
    FLOP_EACH("softmax", 0, 2, 1, 2),
    FLOP_EACH("SoftmaxOutput", 0, 2, 1, 2),
    FLOP_EACH("SoftmaxActivation", 0, 2, 1, 2),
    FLOP_EACH("log_softmax", 0, 3, 1, 1),
    // Element by element.
    FLOP_EACH("elemwise_add", 0, 1, 0, 0),
    FLOP_EACH("elemwise_sub", 0, 1, 0, 0),
    FLOP_EACH("elemwise_mul", 0, 1, 0, 0),
    FLOP_EACH("elemwise_div", 0, 0, 0, 1),
    FLOP_EACH("broadcast_add", 0, 1, 0, 0),
    FLOP_EACH("broadcast_sub", 0, 1, 0, 0),
    FLOP_EACH("broadcast_mul", 0, 1, 0, 0),
    FLOP_EACH("broadcast_div", 0, 0, 0, 1),
    FLOP_EACH("broadcast_maximum", 0, 0, 1, 0),
    FLOP_EACH("broadcast_minimum", 0, 0, 1, 0),
    FLOP_EACH("_plus_scalar", 0, 1, 0, 0),
    FLOP_EACH("_minus_scalar", 0, 1, 0, 0),
    FLOP_EACH("_rminus_scalar", 0, 1, 0, 0),
    FLOP_EACH("_mul_scalar", 0, 1, 0, 0),
    FLOP_EACH("_div_scalar", 0, 0, 0, 1),
    FLOP_EACH("_rdiv_scalar", 0, 0, 0, 1),
    FLOP_EACH("_power_scalar", 0, 0, 0, 1),
    FLOP_EACH("_maximum_scalar", 0, 0, 1, 0),
    FLOP_EACH("_minimum_scalar", 0, 0, 1, 0),
    FLOP_EACH("negative", 0, 1, 0, 0),
    FLOP_EACH("square", 0, 1, 0, 0),
    FLOP_EACH("sqrt", 0, 0, 0, 1),
    FLOP_EACH("rsqrt", 0, 0, 0, 1),
    FLOP_EACH("reciprocal", 0, 0, 0, 1),
    FLOP_EACH("exp", 0, 0, 0, 1),
    FLOP_EACH("log", 0, 0, 0, 1),
    FLOP_EACH("erf", 0, 0, 0, 1),
    FLOP_EACH("abs", 0, 0, 1, 0),
    FLOP_EACH("clip", 0, 0, 2, 0),
    FLOP_EACH_FURTHER("add_n", 1, 0),
    // Activations, by what they are made of: Activation's and LeakyReLU's act_type, or operators of their own.
    FLOP_EACH("relu", 0, 0, 1, 0),
    FLOP_EACH("leaky", 0, 1, 1, 0),
    FLOP_EACH("prelu", 0, 1, 1, 0),
    FLOP_EACH("elu", 0, 2, 1, 1),
    FLOP_EACH("selu", 0, 3, 1, 1),
    FLOP_EACH("gelu", 0, 4, 0, 1),
    FLOP_EACH("sigmoid", 0, 1, 0, 2),
    FLOP_EACH("hard_sigmoid", 1, 0, 2, 0),
    FLOP_EACH("tanh", 0, 0, 0, 1),
    FLOP_EACH("softrelu", 0, 1, 0, 2),
    FLOP_EACH("softsign", 0, 1, 1, 1),
    // No arithmetic.
    FLOP_MOVES("Cast", MOVES_ALL),
    FLOP_MOVES("Concat", MOVES_ALL),
    FLOP_MOVES("Pad", MOVES_ALL),
    FLOP_MOVES("SliceChannel", MOVES_ALL),
    FLOP_MOVES("SwapAxis", MOVES_ALL),
    FLOP_MOVES("depth_to_space", MOVES_ALL),
    FLOP_MOVES("repeat", MOVES_ALL),
    FLOP_MOVES("space_to_depth", MOVES_ALL),
    FLOP_MOVES("stack", MOVES_ALL),
    FLOP_MOVES("tile", MOVES_ALL),
    FLOP_MOVES("transpose", MOVES_ALL),
    FLOP_MOVES("Embedding", MOVES_PICKED),
    FLOP_MOVES("slice", MOVES_PICKED),
    FLOP_MOVES("slice_axis", MOVES_PICKED),
    FLOP_MOVES("slice_like", MOVES_PICKED),
    FLOP_MOVES("take", MOVES_PICKED),
    FLOP_MOVES("_arange", MOVES_RESULT),
    FLOP_MOVES("_ones", MOVES_RESULT),
    FLOP_MOVES("_zeros", MOVES_RESULT),
    NOTHING("Dropout"), // outside of training
    NOTHING("Flatten"),
    NOTHING("Reshape"),
    NOTHING("_copy"),
    NOTHING("BlockGrad"),
    NOTHING("expand_dims"),
    NOTHING("identity"),
    NOTHING("squeeze"),
    FLOP_RULES_END,
};
