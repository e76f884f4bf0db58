// SPDX-License-Identifier: Apache-2.0
// What ATen operators cost. Only their inputs are recorded, so the output is worked out here too. Convolutions, attention
// and pools, which need arguments that are no tensors, are in files of their own.
#include "analyze/flops/rules.h"

#include <math.h>
#include <string.h>

// ---- products of matrices --------------------------------------------------------------------------------------------
static bool product(struct flop_work *work, const struct shape *a, const struct shape *b, bool has_addend)
{
  if (a == NULL || b == NULL || a->rank < 2 || a->rank != b->rank || a->dims[a->rank - 1] != b->dims[b->rank - 2])
    return false;
  for (int i = 0; i < a->rank - 2; i++)
    if (a->dims[i] != b->dims[i])
      return false;
  work->output_elements = flop_product(a, 0, a->rank - 1) * b->dims[b->rank - 1];
  flop_set(work, work->output_elements * a->dims[a->rank - 1], has_addend ? work->output_elements : 0, 0, 0);
  return true;
}

static bool matrix_product(struct flop_work *work) // mm, bmm
{
  return product(work, flop_tensor(work->operation, 0), flop_tensor(work->operation, 1), false);
}

static bool matrix_product_and_sum(struct flop_work *work) // addmm, baddbmm
{
  return product(work, flop_tensor(work->operation, 1), flop_tensor(work->operation, 2), true);
}

static bool vector_product(struct flop_work *work, unsigned matrix_at, bool has_addend)
{
  const struct shape *matrix = flop_tensor(work->operation, matrix_at);
  const struct shape *vector = flop_tensor(work->operation, matrix_at + 1);
  if (matrix == NULL || vector == NULL || matrix->rank != 2 || vector->rank != 1 || matrix->dims[1] != vector->dims[0])
    return false;
  work->output_elements = matrix->dims[0];
  flop_set(work, shape_elements(matrix), has_addend ? matrix->dims[0] : 0, 0, 0);
  return true;
}

static bool matrix_by_vector(struct flop_work *work)
{
  return vector_product(work, 0, false);
}

static bool matrix_by_vector_and_sum(struct flop_work *work)
{
  return vector_product(work, 1, true);
}

static bool dot(struct flop_work *work)
{
  const struct shape *a = flop_tensor(work->operation, 0);
  const struct shape *b = flop_tensor(work->operation, 1);
  if (a == NULL || b == NULL || a->rank != 1 || b->rank != 1 || a->dims[0] != b->dims[0])
    return false;
  work->output_elements = 1;
  flop_set(work, a->dims[0], 0, 0, 0);
  return true;
}

// input [..., K], weight [N, K], bias [N]
static bool linear(struct flop_work *work)
{
  const struct shape *input = flop_tensor(work->operation, 0);
  const struct shape *weight = flop_tensor(work->operation, 1);
  if (input == NULL || weight == NULL || weight->rank != 2 || input->dims[input->rank - 1] != weight->dims[1])
    return false;
  work->output_elements = flop_product(input, 0, input->rank - 1) * weight->dims[0];
  bool has_bias = flop_tensor(work->operation, 2) != NULL;
  flop_set(work, work->output_elements * weight->dims[1], has_bias ? work->output_elements : 0, 0, 0);
  return true;
}

// As Python's @: vectors are widened, batches broadcast.
static bool general_product(struct flop_work *work)
{
  const struct shape *a = flop_tensor(work->operation, 0);
  const struct shape *b = flop_tensor(work->operation, 1);
  if (a == NULL || b == NULL)
    return false;
  double depth = a->dims[a->rank - 1];
  if (depth != (b->rank == 1 ? b->dims[0] : b->dims[b->rank - 2]))
    return false;
  double elements = (a->rank >= 2 ? a->dims[a->rank - 2] : 1) * (b->rank >= 2 ? b->dims[b->rank - 1] : 1);
  for (int i = 3; i <= a->rank || i <= b->rank; i++) {
    double of_a = i <= a->rank ? a->dims[a->rank - i] : 1;
    double of_b = i <= b->rank ? b->dims[b->rank - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1)
      return false;
    elements *= of_a == 1 ? of_b : of_a;
  }
  work->output_elements = elements;
  flop_set(work, elements * depth, 0, 0, 0);
  return true;
}

// ---- norms, reductions -----------------------------------------------------------------------------------------------
static double first_elements(const struct flop_work *work)
{
  const struct shape *first = flop_tensor(work->operation, 0);
  return first == NULL ? NAN : shape_elements(first);
}

static bool is_true(const struct flop_work *work, unsigned argument, bool *ret_truth)
{
  const struct value *value = flop_value(work->operation, argument);
  if (value == NULL || (value->kind != VALUE_TRUTH && (value->kind != VALUE_NUMBERS || value->count != 1)))
    return false;
  *ret_truth = value->kind == VALUE_TRUTH ? value->truth : value->numbers[0] != 0;
  return true;
}

// (input, weight, bias, mean, variance, training, …): in training, mean and deviation come from the data.
static bool batch_norm(struct flop_work *work)
{
  double elements = first_elements(work);
  bool is_training;
  if (isnan(elements) || !is_true(work, 5, &is_training))
    return false;
  if (is_training)
    flop_set(work, 2 * elements, 3 * elements, 0, elements);
  else
    flop_set(work, elements, 0, 0, 0);
  return true;
}

static bool dropout(struct flop_work *work) // (input, p, train): draws, compares, multiplies
{
  double elements = first_elements(work);
  bool is_training;
  if (isnan(elements) || !is_true(work, 2, &is_training))
    return false;
  flop_set(work, 0, is_training ? elements : 0, is_training ? elements : 0, 0);
  return true;
}

// What is left of the elements when the dimensions of argument 1 are summed away; 1 where there are none.
static double reduced_elements(const struct flop_work *work)
{
  const struct shape *first = flop_tensor(work->operation, 0);
  const struct value *dims = flop_value(work->operation, 1);
  if (first == NULL || work->operation->values == NULL)
    return NAN;
  if (dims == NULL || dims->kind != VALUE_NUMBERS || dims->count == 0)
    return 1;
  double elements = shape_elements(first);
  for (size_t i = 0; i < dims->count; i++) {
    double at = dims->numbers[i] < 0 ? dims->numbers[i] + first->rank : dims->numbers[i];
    if (!(at >= 0 && at < first->rank) || first->dims[(int)at] == 0)
      return NAN;
    elements /= first->dims[(int)at];
  }
  return elements;
}

static bool sum(struct flop_work *work)
{
  work->output_elements = reduced_elements(work);
  flop_set(work, 0, first_elements(work), 0, 0);
  return !isnan(first_elements(work));
}

static bool extreme(struct flop_work *work) // amax, amin
{
  work->output_elements = reduced_elements(work);
  flop_set(work, 0, 0, first_elements(work), 0);
  return !isnan(first_elements(work));
}

static bool mean(struct flop_work *work)
{
  work->output_elements = reduced_elements(work);
  flop_set(work, 0, first_elements(work), 0, work->output_elements);
  return !isnan(work->output_elements);
}

// ---- moves -----------------------------------------------------------------------------------------------------------
static bool copy(struct flop_work *work) // (self, source): what is read and written are both inputs
{
  work->output_elements = 0;
  flop_set(work, 0, 0, 0, 0);
  return true;
}

static bool concatenation(struct flop_work *work) // (tensors, dim)
{
  const struct shapes *inputs = work->operation->inputs;
  flop_set(work, 0, 0, 0, 0);
  work->output_elements = inputs == NULL || inputs->is_cut ? NAN : 0;
  for (size_t i = 0; inputs != NULL && i < inputs->count; i++)
    if (inputs->items[i].argument == 0)
      work->output_elements += shape_elements(&inputs->items[i]);
  return true;
}

static bool embedding(struct flop_work *work) // (weight, indices): one row an index
{
  const struct shape *weight = flop_tensor(work->operation, 0);
  const struct shape *indices = flop_tensor(work->operation, 1);
  flop_set(work, 0, 0, 0, 0);
  if (weight == NULL || indices == NULL)
    return false;
  work->output_elements = shape_elements(indices) * flop_product(weight, 1, weight->rank);
  return true;
}

static bool selection(struct flop_work *work) // index_select(self, dim, index)
{
  const struct shape *self = flop_tensor(work->operation, 0);
  const struct shape *index = flop_tensor(work->operation, 2);
  const struct value *dim = flop_value(work->operation, 1);
  flop_set(work, 0, 0, 0, 0);
  work->output_elements = NAN;
  if (self == NULL || index == NULL || dim == NULL || dim->kind != VALUE_NUMBERS || dim->count != 1)
    return true;
  double at = dim->numbers[0] < 0 ? dim->numbers[0] + self->rank : dim->numbers[0];
  if (at >= 0 && at < self->rank && self->dims[(int)at] > 0)
    work->output_elements = shape_elements(self) / self->dims[(int)at] * shape_elements(index);
  return true;
}

static bool gather(struct flop_work *work) // (self, dim, index): as the index
{
  const struct shape *index = flop_tensor(work->operation, 2);
  flop_set(work, 0, 0, 0, 0);
  work->output_elements = index == NULL ? NAN : shape_elements(index);
  return true;
}

// ---- the table -------------------------------------------------------------------------------------------------------
// Per element of the output: multiply-adds, adds, compares, specials. Trailing underscores (in place) are left out.
#define EACH_OF(operands, type, multiply_adds, adds, compares, specials, result)                                       \
  {                                                                                                                    \
    type, PER_OUTPUT, multiply_adds, adds, compares, specials, MOVES_ALL, result, NULL, false, operands                \
  }
#define UNARY(type, multiply_adds, adds, compares, specials)                                                           \
  EACH_OF(1, type, multiply_adds, adds, compares, specials, RESULT_BROADCAST)
#define BINARY(type, multiply_adds, adds, compares, specials)                                                          \
  EACH_OF(2, type, multiply_adds, adds, compares, specials, RESULT_BROADCAST)
#define TERNARY(type, multiply_adds, adds, compares, specials)                                                         \
  EACH_OF(3, type, multiply_adds, adds, compares, specials, RESULT_BROADCAST)
#define EACH_OF_FIRST(type, multiply_adds, adds, compares, specials)                                                   \
  EACH_OF(0, type, multiply_adds, adds, compares, specials, RESULT_FIRST)
#define COMPARES(type) EACH_OF(2, type, 0, 0, 1, 0, RESULT_TRUTHS)
#define MOVES(type, traffic, result)                                                                                   \
  {                                                                                                                    \
    type, PER_OUTPUT, 0, 0, 0, 0, traffic, result, NULL, false, 0                                                      \
  }
#define VIEW(type) MOVES(type, MOVES_NOTHING, RESULT_FIRST)
#define COMPOSITE(type)                                                                                                \
  {                                                                                                                    \
    type, PER_OUTPUT, 0, 0, 0, 0, MOVES_NOTHING, RESULT_FIRST, NULL, true, 0                                           \
  }
#define COUNTS_OF(operands, type, function)                                                                            \
  {                                                                                                                    \
    type, PER_OUTPUT, 0, 0, 0, 0, MOVES_ALL, RESULT_FIRST, function, false, operands                                   \
  }
#define COUNTS(type, function) COUNTS_OF(0, type, function)
#define PICKS(type, function)                                                                                          \
  {                                                                                                                    \
    type, PER_OUTPUT, 0, 0, 0, 0, MOVES_PICKED, RESULT_UNKNOWN, function, false, 0                                     \
  }

const struct flop_rule flop_rules_aten[] = {
    COUNTS("conv1d", flops_aten_convolution),
    COUNTS("conv2d", flops_aten_convolution),
    COUNTS("conv3d", flops_aten_convolution),
    COUNTS("convolution", flops_aten_convolution),
    COUNTS("_convolution", flops_aten_convolution),
    COUNTS("convolution_overrideable", flops_aten_convolution),
    COUNTS("cudnn_convolution", flops_aten_convolution),
    COUNTS("cudnn_convolution_relu", flops_aten_convolution),
    COUNTS("miopen_convolution", flops_aten_convolution),
    COUNTS("mkldnn_convolution", flops_aten_convolution),
    COUNTS("thnn_conv2d", flops_aten_convolution),
    COUNTS("_slow_conv2d_forward", flops_aten_convolution),
    COUNTS("conv_transpose1d", flops_aten_convolution),
    COUNTS("conv_transpose2d", flops_aten_convolution),
    COUNTS("conv_transpose3d", flops_aten_convolution),
    COUNTS("cudnn_convolution_transpose", flops_aten_convolution),
    COUNTS("convolution_backward", flops_aten_convolution_backward),
    COUNTS("cudnn_convolution_backward", flops_aten_convolution_backward),
    COUNTS("cudnn_convolution_backward_input", flops_aten_convolution_backward),
    COUNTS("cudnn_convolution_backward_weight", flops_aten_convolution_backward),
    COUNTS("mkldnn_convolution_backward", flops_aten_convolution_backward),
    COUNTS("miopen_convolution_backward", flops_aten_convolution_backward),
    COUNTS("scaled_dot_product_attention", flops_aten_attention),
    COUNTS("_scaled_dot_product_attention_math", flops_aten_attention),
    COUNTS("_scaled_dot_product_flash_attention", flops_aten_attention),
    COUNTS("_scaled_dot_product_flash_attention_for_cpu", flops_aten_attention),
    COUNTS("_scaled_dot_product_efficient_attention", flops_aten_attention),
    COUNTS("_scaled_dot_product_cudnn_attention", flops_aten_attention),
    COUNTS("_scaled_dot_product_flash_attention_backward", flops_aten_attention),
    COUNTS("_scaled_dot_product_efficient_attention_backward", flops_aten_attention),
    COUNTS("_flash_attention_forward", flops_aten_attention),
    COUNTS("_flash_attention_backward", flops_aten_attention),
    COUNTS("_efficient_attention_forward", flops_aten_attention),
    COUNTS("_efficient_attention_backward", flops_aten_attention),
    COUNTS("max_pool1d", flops_aten_max_pool),
    COUNTS("max_pool2d", flops_aten_max_pool),
    COUNTS("max_pool2d_with_indices", flops_aten_max_pool),
    COUNTS("max_pool3d", flops_aten_max_pool),
    COUNTS("avg_pool1d", flops_aten_average_pool),
    COUNTS("avg_pool2d", flops_aten_average_pool),
    COUNTS("avg_pool3d", flops_aten_average_pool),
    COUNTS("adaptive_avg_pool1d", flops_aten_adaptive_pool),
    COUNTS("adaptive_avg_pool2d", flops_aten_adaptive_pool),
    COUNTS("_adaptive_avg_pool2d", flops_aten_adaptive_pool),
    COUNTS_OF(2, "mm", matrix_product),
    COUNTS_OF(2, "bmm", matrix_product),
    COUNTS_OF(2, "_int_mm", matrix_product),
    COUNTS_OF(3, "addmm", matrix_product_and_sum),
    COUNTS_OF(3, "_addmm_activation", matrix_product_and_sum),
    COUNTS_OF(3, "baddbmm", matrix_product_and_sum),
    COUNTS_OF(2, "mv", matrix_by_vector),
    COUNTS_OF(3, "addmv", matrix_by_vector_and_sum),
    COUNTS_OF(2, "dot", dot),
    COUNTS_OF(2, "vdot", dot),
    COUNTS("linear", linear),
    COUNTS("mkldnn_linear", linear),
    COUNTS_OF(2, "matmul", general_product),
    COUNTS("batch_norm", batch_norm),
    COUNTS("_batch_norm_impl_index", batch_norm),
    COUNTS("native_batch_norm", batch_norm),
    COUNTS("cudnn_batch_norm", batch_norm),
    COUNTS("miopen_batch_norm", batch_norm),
    COUNTS("instance_norm", batch_norm),
    EACH_OF_FIRST("layer_norm", 2, 3, 0, 1),
    EACH_OF_FIRST("native_layer_norm", 2, 3, 0, 1),
    EACH_OF_FIRST("group_norm", 2, 3, 0, 1),
    EACH_OF_FIRST("native_group_norm", 2, 3, 0, 1),
    EACH_OF_FIRST("rms_norm", 1, 1, 0, 1),
    EACH_OF_FIRST("_fused_rms_norm", 1, 1, 0, 1),
    EACH_OF_FIRST("softmax", 0, 2, 1, 2),
    EACH_OF_FIRST("_softmax", 0, 2, 1, 2),
    EACH_OF_FIRST("log_softmax", 0, 3, 1, 1),
    EACH_OF_FIRST("_log_softmax", 0, 3, 1, 1),
    EACH_OF_FIRST("_softmax_backward_data", 1, 2, 0, 0),
    EACH_OF_FIRST("_log_softmax_backward_data", 1, 1, 0, 1),
    COUNTS("native_dropout", dropout),
    COUNTS_OF(1, "sum", sum),
    COUNTS_OF(1, "mean", mean),
    COUNTS_OF(1, "amax", extreme),
    COUNTS_OF(1, "amin", extreme),
    // Element by element.
    BINARY("add", 0, 1, 0, 0),
    BINARY("sub", 0, 1, 0, 0),
    BINARY("rsub", 0, 1, 0, 0),
    BINARY("mul", 0, 1, 0, 0),
    UNARY("neg", 0, 1, 0, 0),
    UNARY("square", 0, 1, 0, 0),
    TERNARY("lerp", 1, 1, 0, 0),
    TERNARY("addcmul", 1, 1, 0, 0),
    TERNARY("addcdiv", 1, 0, 0, 1),
    BINARY("div", 0, 0, 0, 1),
    BINARY("true_divide", 0, 0, 0, 1),
    BINARY("floor_divide", 0, 0, 1, 1),
    BINARY("remainder", 0, 0, 0, 1),
    BINARY("pow", 0, 0, 0, 1),
    UNARY("sqrt", 0, 0, 0, 1),
    UNARY("rsqrt", 0, 0, 0, 2),
    UNARY("reciprocal", 0, 0, 0, 1),
    UNARY("exp", 0, 0, 0, 1),
    UNARY("log", 0, 0, 0, 1),
    UNARY("log2", 0, 0, 0, 1),
    UNARY("log1p", 0, 1, 0, 1),
    UNARY("erf", 0, 0, 0, 1),
    UNARY("sin", 0, 0, 0, 1),
    UNARY("cos", 0, 0, 0, 1),
    UNARY("tanh", 0, 0, 0, 1),
    UNARY("abs", 0, 0, 1, 0),
    UNARY("sign", 0, 0, 1, 0),
    UNARY("floor", 0, 0, 1, 0),
    UNARY("ceil", 0, 0, 1, 0),
    UNARY("round", 0, 0, 1, 0),
    BINARY("maximum", 0, 0, 1, 0),
    BINARY("minimum", 0, 0, 1, 0),
    TERNARY("clamp", 0, 0, 2, 0),
    UNARY("clamp_min", 0, 0, 1, 0),
    UNARY("clamp_max", 0, 0, 1, 0),
    TERNARY("masked_fill", 0, 0, 1, 0),
    TERNARY("where", 0, 0, 1, 0),
    COMPARES("eq"),
    COMPARES("ne"),
    COMPARES("lt"),
    COMPARES("le"),
    COMPARES("gt"),
    COMPARES("ge"),
    COMPARES("isnan"),
    COMPARES("isinf"),
    COMPARES("logical_and"),
    COMPARES("logical_or"),
    COMPARES("logical_not"),
    // Activations, by what they are made of.
    UNARY("relu", 0, 0, 1, 0),
    UNARY("relu6", 0, 0, 2, 0),
    UNARY("hardtanh", 0, 0, 2, 0),
    UNARY("leaky_relu", 0, 1, 1, 0),
    BINARY("threshold_backward", 0, 0, 1, 0),
    UNARY("sigmoid", 0, 1, 0, 2),
    UNARY("silu", 0, 2, 0, 2),
    UNARY("hardsigmoid", 1, 0, 2, 0),
    UNARY("hardswish", 1, 1, 2, 0),
    UNARY("elu", 0, 2, 1, 1),
    UNARY("softplus", 0, 1, 0, 2),
    UNARY("mish", 0, 2, 0, 3),
    UNARY("gelu", 0, 4, 0, 1),
    BINARY("sigmoid_backward", 0, 3, 0, 0),
    BINARY("tanh_backward", 1, 1, 0, 0),
    // Moves.
    COUNTS("copy_", copy),
    COUNTS("cat", concatenation),
    COUNTS("_cat", concatenation),
    PICKS("embedding", embedding),
    PICKS("index_select", selection),
    PICKS("gather", gather),
    MOVES("fill_", MOVES_RESULT, RESULT_FIRST),
    MOVES("zero_", MOVES_RESULT, RESULT_FIRST),
    COMPOSITE("clone"),
    COMPOSITE("contiguous"),
    COMPOSITE("dropout"),
    COMPOSITE("flatten"),
    COMPOSITE("reshape"),
    COMPOSITE("to"),
    COMPOSITE("type_as"),
    COMPOSITE("_to_copy"),
    COMPOSITE("ones"),
    COMPOSITE("ones_like"),
    COMPOSITE("zeros"),
    COMPOSITE("zeros_like"),
    COMPOSITE("full"),
    VIEW("_reshape_alias"),
    VIEW("_unsafe_view"),
    VIEW("alias"),
    VIEW("as_strided"),
    VIEW("chunk"),
    VIEW("detach"),
    VIEW("empty"),
    VIEW("empty_like"),
    VIEW("empty_strided"),
    VIEW("expand"),
    VIEW("expand_as"),
    VIEW("movedim"),
    VIEW("narrow"),
    VIEW("numpy_T"),
    VIEW("permute"),
    VIEW("resize_"),
    VIEW("resolve_conj"),
    VIEW("resolve_neg"),
    VIEW("select"),
    VIEW("set_"),
    VIEW("slice"),
    VIEW("split"),
    VIEW("split_with_sizes"),
    VIEW("squeeze"),
    VIEW("t"),
    VIEW("transpose"),
    VIEW("unbind"),
    VIEW("unflatten"),
    VIEW("unsafe_split"),
    VIEW("unsqueeze"),
    VIEW("view"),
    VIEW("view_as"),
    {NULL, PER_OUTPUT, 0, 0, 0, 0, MOVES_NOTHING, RESULT_UNKNOWN, NULL, false, 0},
};
