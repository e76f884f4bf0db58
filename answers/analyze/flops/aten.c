// SPDX-License-Identifier: Apache-2.0
// Costs of ATen operators that depend on shapes. Only inputs are recorded, so the output's size is computed here, too.
// Convolutions, attention and pools, which need arguments that are not tensors, are in files of their own.
#include "analyze/flops/rules.h"

#include <math.h>

// ---- products of matrices -------------------------------------------------------------------------------------------
// As Python's @: vectors are widened, batches broadcast.
bool flops_aten_product(struct flop_work *work)
{
  unsigned at = work->rule->factor_at;
  const struct shape *a = flop_tensor(work->operation, at);
  const struct shape *b = flop_tensor(work->operation, at + 1);
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
  flop_set(work, elements * depth, at > 0 ? elements : 0, 0, 0);
  return true;
}

// input [..., K], weight [N, K], bias [N]
bool flops_aten_linear(struct flop_work *work)
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

// ---- norms, reductions ----------------------------------------------------------------------------------------------
static double first_elements(const struct flop_work *work)
{
  const struct shape *first = flop_tensor(work->operation, 0);
  return first == NULL ? NAN : shape_elements(first);
}

// (input, weight, bias, mean, variance, training, …): in training, mean and deviation come from the data.
bool flops_aten_batch_norm(struct flop_work *work)
{
  double elements = first_elements(work);
  bool is_training;
  if (isnan(elements) || !flop_truth(work->operation, 5, &is_training))
    return false;
  if (is_training)
    flop_set(work, 2 * elements, 3 * elements, 0, elements);
  else
    flop_set(work, elements, 0, 0, 0);
  return true;
}

bool flops_aten_dropout(struct flop_work *work) // (input, p, train): draws, compares, multiplies
{
  double elements = first_elements(work);
  bool is_training;
  if (isnan(elements) || !flop_truth(work->operation, 2, &is_training))
    return false;
  flop_set(work, 0, is_training ? elements : 0, is_training ? elements : 0, 0);
  return true;
}

// Elements after the dimensions of argument 1 are summed away; 1 where there are none.
static double reduced_elements(const struct flop_work *work)
{
  const struct shape *first = flop_tensor(work->operation, 0);
  const struct shape_value *dims = flop_value(work->operation, 1);
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

bool flops_aten_reduction(struct flop_work *work)
{
  const struct flop_rule *rule = work->rule;
  double elements = first_elements(work);
  work->output_elements = reduced_elements(work);
  flop_set(work, 0, rule->adds * elements, rule->compares * elements,
           rule->specials == 0 ? 0 : rule->specials * work->output_elements);
  return !isnan(elements);
}

// ---- moves ----------------------------------------------------------------------------------------------------------
bool flops_aten_copy(struct flop_work *work) // (self, source): source and destination are both inputs
{
  work->output_elements = 0;
  flop_set(work, 0, 0, 0, 0);
  return true;
}

bool flops_aten_concatenation(struct flop_work *work) // (tensors, dim)
{
  const struct shapes *inputs = work->operation->inputs;
  flop_set(work, 0, 0, 0, 0);
  work->output_elements = inputs == NULL || inputs->is_cut ? NAN : 0;
  for (size_t i = 0; inputs != NULL && i < inputs->count; i++)
    if (inputs->items[i].argument == 0)
      work->output_elements += shape_elements(&inputs->items[i]);
  return true;
}

bool flops_aten_embedding(struct flop_work *work) // (weight, indices): one row an index
{
  const struct shape *weight = flop_tensor(work->operation, 0);
  const struct shape *indices = flop_tensor(work->operation, 1);
  flop_set(work, 0, 0, 0, 0);
  if (weight == NULL || indices == NULL)
    return false;
  work->output_elements = shape_elements(indices) * flop_product(weight, 1, weight->rank);
  return true;
}

bool flops_aten_selection(struct flop_work *work) // index_select(self, dim, index)
{
  const struct shape *self = flop_tensor(work->operation, 0);
  const struct shape *index = flop_tensor(work->operation, 2);
  const struct shape_value *dim = flop_value(work->operation, 1);
  flop_set(work, 0, 0, 0, 0);
  work->output_elements = NAN;
  if (self == NULL || index == NULL || dim == NULL || dim->kind != VALUE_NUMBERS || dim->count != 1)
    return true;
  double at = dim->numbers[0] < 0 ? dim->numbers[0] + self->rank : dim->numbers[0];
  if (at >= 0 && at < self->rank && self->dims[(int)at] > 0)
    work->output_elements = shape_elements(self) / self->dims[(int)at] * shape_elements(index);
  return true;
}

bool flops_aten_gather(struct flop_work *work) // (self, dim, index): as the index
{
  const struct shape *index = flop_tensor(work->operation, 2);
  flop_set(work, 0, 0, 0, 0);
  work->output_elements = index == NULL ? NAN : shape_elements(index);
  return true;
}
