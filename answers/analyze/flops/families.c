// SPDX-License-Identifier: Apache-2.0
// Costs that depend on shapes in the same way in several frameworks: convolutions, products, pools, means.
#include "analyze/flops/rules.h"

#include <math.h>
#include <string.h>

// ---- convolutions ---------------------------------------------------------------------------------------------------
static void add_bias(struct flop_work *work, unsigned bias_at)
{
  const struct shape *bias = flop_tensor(work->operation, bias_at);
  const struct shape *output = flop_output(work->operation);
  if (bias != NULL && bias->rank == 1 && output != NULL)
    work->counts.adds += shape_elements(output);
}

// The weights' window is multiplied with each element of `around`.
static bool convolve(struct flop_work *work, const struct shape *around)
{
  const struct flop_window *window = &work->rule->window;
  const struct shape *weights = flop_tensor(work->operation, window->weights_at == 0 ? 1 : window->weights_at);
  if (weights == NULL || around == NULL || weights->rank < 3)
    return false;
  if (work->operation->dialect == FLOPS_ONNX &&
      weights->rank != around->rank) // packed away, another tensor in their place
    return false;
  double each = flop_product(weights, window->first, weights->rank + window->end);
  flop_set(work, shape_elements(around) * each, 0, 0, 0);
  if (window->bias_at != 0)
    add_bias(work, window->bias_at);
  const struct shape *sum = window->sum_at == 0 ? NULL : flop_tensor(work->operation, window->sum_at);
  if (sum != NULL && sum->rank == around->rank)
    work->counts.adds += shape_elements(around);
  return true;
}

bool flops_convolution(struct flop_work *work)
{
  return convolve(work, flop_output(work->operation));
}

bool flops_transposed_convolution(struct flop_work *work)
{
  return convolve(work, flop_tensor(work->operation, work->rule->window.input_at));
}

// ---- products of matrices -------------------------------------------------------------------------------------------
bool flops_dense(struct flop_work *work)
{
  const struct shape *weights = flop_tensor(work->operation, 1);
  const struct shape *output = flop_output(work->operation);
  if (weights == NULL || output == NULL || weights->rank != 2)
    return false;
  flop_set(work, shape_elements(output) * weights->dims[1], 0, 0, 0);
  add_bias(work, 2);
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

bool flops_matrix_product(struct flop_work *work)
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

// Query, key, value of [batch, heads, length, size]; only the products.
bool flops_attention(struct flop_work *work)
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

// ---- pools and means ------------------------------------------------------------------------------------------------
double flops_kernel_elements(const struct flop_work *work)
{
  const struct shape_value *kernel = flop_attribute(work->operation, "kernel_shape");
  double elements = kernel != NULL && kernel->kind == VALUE_NUMBERS && kernel->count > 0 ? 1 : NAN;
  for (size_t i = 0; !isnan(elements) && i < kernel->count; i++)
    elements *= kernel->numbers[i];
  return elements;
}

bool flops_pool(struct flop_work *work)
{
  const struct flop_rule *rule = work->rule;
  const struct shape *output = flop_output(work->operation);
  double kernel = flops_kernel_elements(work);
  if (output == NULL || isnan(kernel))
    return false;
  double outputs = shape_elements(output);
  flop_set(work, 0, rule->adds * outputs * kernel, rule->compares * outputs * kernel, rule->specials * outputs);
  return true;
}

bool flops_reduction(struct flop_work *work)
{
  const struct flop_rule *rule = work->rule;
  const struct shape *input = flop_tensor(work->operation, 0);
  const struct shape *output = flop_output(work->operation);
  if (input == NULL || output == NULL)
    return false;
  double inputs = shape_elements(input);
  flop_set(work, rule->multiply_adds * inputs, rule->adds * inputs, rule->compares * inputs,
           rule->specials * shape_elements(output));
  return true;
}

bool flops_resize(struct flop_work *work)
{
  const struct shape_value *mode = flop_attribute(work->operation, "mode");
  if (mode == NULL || mode->kind != VALUE_TEXT || strcmp(mode->text, "nearest") != 0)
    return false;
  flop_set(work, 0, 0, 0, 0);
  return true;
}
