// SPDX-License-Identifier: Apache-2.0
// ATen operators that move a window over their input: convolutions, their gradients, pools. How far the window moves is in
// arguments that are no tensors; a trace without those ("Concrete Inputs") leaves most of them uncounted. Called through
// catalog.c's table.
#include "analyze/flops/rules.h"

#include <math.h>
#include <string.h>

#define ABSENT 99u // no such argument

struct window_form { // where an operator has its arguments
  const char *type;
  unsigned bias, stride, padding, dilation, transposed, output_padding, groups;
  bool is_transposed;
};
static const struct window_form forms[] = {
    {"conv1d", 2, 3, 4, 5, ABSENT, ABSENT, 6, false},
    {"conv2d", 2, 3, 4, 5, ABSENT, ABSENT, 6, false},
    {"conv3d", 2, 3, 4, 5, ABSENT, ABSENT, 6, false},
    {"convolution", 2, 3, 4, 5, 6, 7, 8, false},
    {"_convolution", 2, 3, 4, 5, 6, 7, 8, false},
    {"convolution_overrideable", 2, 3, 4, 5, 6, 7, 8, false},
    {"cudnn_convolution", ABSENT, 3, 2, 4, ABSENT, ABSENT, 5, false},
    {"cudnn_convolution_relu", 2, 3, 4, 5, ABSENT, ABSENT, 6, false},
    {"miopen_convolution", 2, 4, 3, 5, ABSENT, ABSENT, 6, false},
    {"mkldnn_convolution", 2, 4, 3, 5, ABSENT, ABSENT, 6, false},
    {"thnn_conv2d", 3, 4, 5, ABSENT, ABSENT, ABSENT, ABSENT, false},
    {"_slow_conv2d_forward", 3, 4, 5, ABSENT, ABSENT, ABSENT, ABSENT, false},
    {"conv_transpose1d", 2, 3, 4, 7, ABSENT, 5, 6, true},
    {"conv_transpose2d", 2, 3, 4, 7, ABSENT, 5, 6, true},
    {"conv_transpose3d", 2, 3, 4, 7, ABSENT, 5, 6, true},
    {"cudnn_convolution_transpose", ABSENT, 4, 2, 5, ABSENT, 3, 6, true},
};

static const char *name_of(const struct flop_work *work)
{
  return work->operation->type + sizeof "aten::" - 1;
}

// Number `at` of a list that may be one number for all dimensions. `otherwise` where the argument does not exist in this
// operator; NaN where it was not recorded.
static double number_at(const struct flop_work *work, unsigned argument, size_t at, double otherwise)
{
  if (argument == ABSENT)
    return otherwise;
  const struct shape_value *value = flop_value(work->operation, argument);
  if (value == NULL || value->kind != VALUE_NUMBERS || value->count == 0)
    return NAN;
  if (value->count == 1)
    return value->numbers[0];
  return at < value->count ? value->numbers[at] : NAN;
}

static bool is_truth(const struct flop_work *work, unsigned argument, bool *ret_truth)
{
  *ret_truth = false;
  return argument == ABSENT || flop_truth(work->operation, argument, ret_truth);
}

// Positions of a window along one dimension; NaN where it does not fit or is not known.
static double positions(double size, double kernel, double stride, double padding, double dilation, bool rounds_up)
{
  double room = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (!(room >= 0) || !(stride >= 1) || !(dilation >= 1) || !(padding >= 0))
    return NAN;
  double steps = rounds_up ? ceil(room / stride) : floor(room / stride);
  if (rounds_up && steps * stride >= size + padding) // the last window starts inside
    steps--;
  return steps + 1;
}

static bool is_word(const struct shape_value *value, const char *word)
{
  return value != NULL && value->kind == VALUE_TEXT && strcmp(value->text, word) == 0;
}

static double output_size(const struct flop_work *work, const struct window_form *form, bool is_transposed, double size,
                          double kernel, size_t at)
{
  double stride = number_at(work, form->stride, at, 1);
  double dilation = number_at(work, form->dilation, at, 1);
  const struct shape_value *padding_word = form->padding == ABSENT ? NULL : flop_value(work->operation, form->padding);
  if (is_word(padding_word, "same"))
    return size;
  double padding = is_word(padding_word, "valid") ? 0 : number_at(work, form->padding, at, 0);
  if (!is_transposed)
    return positions(size, kernel, stride, padding, dilation, false);
  double further = number_at(work, form->output_padding, at, 0);
  return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + further + 1;
}

// input [N, C, …] (N may be missing), weight [out, C / groups, …]; turned: [C, out / groups, …].
bool flops_aten_convolution(struct flop_work *work)
{
  const struct window_form *form = NULL;
  for (size_t i = 0; i < sizeof forms / sizeof forms[0] && form == NULL; i++)
    if (strcmp(forms[i].type, name_of(work)) == 0)
      form = &forms[i];
  const struct shape *input = flop_tensor(work->operation, 0);
  const struct shape *weight = flop_tensor(work->operation, 1);
  bool is_transposed;
  if (form == NULL || input == NULL || weight == NULL || weight->rank < 3 ||
      !is_truth(work, form->transposed, &is_transposed))
    return false;
  is_transposed |= form->is_transposed;
  bool has_batch = input->rank == weight->rank;
  if (!has_batch && input->rank != weight->rank - 1)
    return false;
  double channels = is_transposed ? weight->dims[1] * number_at(work, form->groups, 0, 1) : weight->dims[0];
  double outputs = (has_batch ? input->dims[0] : 1) * channels;
  int first = has_batch ? 2 : 1;
  for (int i = 0; i < weight->rank - 2; i++)
    outputs *= output_size(work, form, is_transposed, input->dims[first + i], weight->dims[2 + i], (size_t)i);
  double moved = is_transposed ? shape_elements(input) : outputs;
  bool has_bias = form->bias != ABSENT && flop_tensor(work->operation, form->bias) != NULL;
  bool has_relu = strcmp(form->type, "cudnn_convolution_relu") == 0;
  work->output_elements = outputs;
  flop_set(work, moved * flop_product(weight, 1, weight->rank), has_bias ? outputs : 0, has_relu ? outputs : 0, 0);
  return outputs >= 0;
}

// ---- gradients ------------------------------------------------------------------------------------------------------
struct backward_form {
  const char *type;
  unsigned gradient, input, weight, transposed, mask;
  bool has_sizes_for_weight; // argument `weight` is a list of sizes, and only the weight's gradient is computed
  bool has_sizes_for_input;  // only the input's
};
static const struct backward_form backward_forms[] = {
    {"convolution_backward", 0, 1, 2, 7, 10, false, false},
    {"cudnn_convolution_backward", 1, 0, 2, ABSENT, 10, false, false},
    {"miopen_convolution_backward", 1, 0, 2, ABSENT, 9, false, false},
    {"mkldnn_convolution_backward", 1, 0, 2, ABSENT, 7, false, false},
    {"cudnn_convolution_backward_input", 1, ABSENT, 2, ABSENT, ABSENT, false, true},
    {"cudnn_convolution_backward_weight", 1, 2, 0, ABSENT, ABSENT, true, false},
};

// Products of channel and window sizes: what one element of the gradient takes part in. NaN: unknown.
static double window_elements(const struct flop_work *work, const struct backward_form *form, double *ret_weights)
{
  *ret_weights = NAN;
  if (!form->has_sizes_for_weight) {
    const struct shape *weight = flop_tensor(work->operation, form->weight);
    if (weight == NULL || weight->rank < 3)
      return NAN;
    *ret_weights = shape_elements(weight);
    return flop_product(weight, 1, weight->rank);
  }
  const struct shape_value *sizes = flop_value(work->operation, form->weight);
  if (sizes == NULL || sizes->kind != VALUE_NUMBERS || sizes->count < 3)
    return NAN;
  double product = 1;
  for (size_t i = 1; i < sizes->count; i++)
    product *= sizes->numbers[i];
  *ret_weights = product * sizes->numbers[0];
  return product;
}

// Which gradients are asked for: of the input, the weight, the bias.
static bool read_mask(const struct flop_work *work, const struct backward_form *form, bool mask[3])
{
  mask[0] = !form->has_sizes_for_weight;
  mask[1] = !form->has_sizes_for_input;
  mask[2] = false;
  if (form->mask == ABSENT)
    return true;
  const struct shape_value *value = flop_value(work->operation, form->mask);
  if (value == NULL || value->kind != VALUE_NUMBERS || value->count < 2)
    return false;
  for (size_t i = 0; i < 3; i++)
    mask[i] = i < value->count && value->numbers[i] != 0;
  return true;
}

bool flops_aten_convolution_backward(struct flop_work *work)
{
  const struct backward_form *form = NULL;
  for (size_t i = 0; i < sizeof backward_forms / sizeof backward_forms[0] && form == NULL; i++)
    if (strcmp(backward_forms[i].type, name_of(work)) == 0)
      form = &backward_forms[i];
  const struct shape *gradient = form == NULL ? NULL : flop_tensor(work->operation, form->gradient);
  bool mask[3];
  bool is_transposed;
  double weights;
  if (gradient == NULL || !read_mask(work, form, mask) || !is_truth(work, form->transposed, &is_transposed))
    return false;
  const struct shape *input = form->input == ABSENT ? NULL : flop_tensor(work->operation, form->input);
  double window = window_elements(work, form, &weights);
  if (isnan(window) || (is_transposed && input == NULL))
    return false;
  double each = (is_transposed ? shape_elements(input) : shape_elements(gradient)) * window;
  double input_elements = input == NULL ? NAN : shape_elements(input);
  flop_set(work, each * (mask[0] + mask[1]), mask[2] ? shape_elements(gradient) : 0, 0, 0);
  work->output_elements = (mask[0] ? input_elements : 0) + (mask[1] ? weights : 0);
  return true;
}

// ---- pools ----------------------------------------------------------------------------------------------------------
// (input, kernel, stride, padding, then dilation and ceil_mode, or ceil_mode alone)
static bool pool(struct flop_work *work, unsigned dilation_at, unsigned ceil_at)
{
  const struct flop_rule *rule = work->rule;
  const struct shape *input = flop_tensor(work->operation, 0);
  const char *name = name_of(work);
  int dims = strstr(name, "1d") != NULL ? 1 : strstr(name, "2d") != NULL ? 2 : 3;
  bool rounds_up;
  if (input == NULL || input->rank < dims || !is_truth(work, ceil_at, &rounds_up))
    return false;
  const struct shape_value *stride = flop_value(work->operation, 2);
  bool has_stride = stride != NULL && stride->kind == VALUE_NUMBERS && stride->count > 0;
  double outputs = flop_product(input, 0, input->rank - dims);
  double window = 1;
  for (int i = 0; i < dims; i++) {
    double kernel = number_at(work, 1, (size_t)i, 1);
    double step = has_stride ? number_at(work, 2, (size_t)i, 1) : kernel; // an empty list: as wide as the window
    outputs *= positions(input->dims[input->rank - dims + i], kernel, step, number_at(work, 3, (size_t)i, 0),
                         number_at(work, dilation_at, (size_t)i, 1), rounds_up);
    window *= kernel;
  }
  work->output_elements = outputs;
  flop_set(work, 0, rule->adds * outputs * window, rule->compares * outputs * window, rule->specials * outputs);
  return outputs >= 0;
}

bool flops_aten_max_pool(struct flop_work *work)
{
  return pool(work, 4, 5);
}

bool flops_aten_average_pool(struct flop_work *work)
{
  return pool(work, ABSENT, 4);
}

bool flops_aten_adaptive_pool(struct flop_work *work) // (input, output size)
{
  const struct shape *input = flop_tensor(work->operation, 0);
  int dims = strstr(name_of(work), "1d") != NULL ? 1 : 2;
  if (input == NULL || input->rank < dims)
    return false;
  double outputs = flop_product(input, 0, input->rank - dims);
  for (int i = 0; i < dims; i++)
    outputs *= number_at(work, 1, (size_t)i, 1);
  work->output_elements = outputs;
  flop_set(work, 0, shape_elements(input), 0, outputs);
  return outputs >= 0;
}
