// SPDX-License-Identifier: Apache-2.0
// Costs of ONNX operators that depend on shapes, including ONNX Runtime's fused ones. Shapes are those of what was executed:
// channels padded to a vector's width count. ONNX Runtime removes repacked weights from its lists; they are added back where
// they follow from the other shapes.
#include "analyze/flops/rules.h"

#include <math.h>
#include <string.h>

// ---- convolutions ---------------------------------------------------------------------------------------------------
// Weights that were packed away follow from the window, where that is known.
bool flops_onnx_transposed_convolution(struct flop_work *work)
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
    const struct shape_value *group = flop_attribute(operation, "group");
    double groups = group != NULL && group->kind == VALUE_NUMBERS && group->count == 1 ? group->numbers[0] : 1;
    each = output->dims[1] / groups * flops_kernel_elements(work);
  }
  work->missing_elements = has_weights ? 0 : input->dims[1] * each;
  flop_set(work, shape_elements(input) * each, has_bias ? shape_elements(output) : 0, 0, 0);
  return !isnan(each);
}

// ---- products of matrices -------------------------------------------------------------------------------------------
// A (M x K, or turned) by B (K x N, or turned), plus C.
bool flops_onnx_gemm(struct flop_work *work)
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

// Weights of a few bits, packed: their bytes are known only where the framework recorded them.
bool flops_onnx_packed_product(struct flop_work *work)
{
  bool is_counted = flops_matrix_product(work);
  work->missing_elements = !is_counted || work->operation->inputs->count < 3 ? NAN : 0;
  return is_counted;
}

// ---- attention: only its products count -----------------------------------------------------------------------------
// ONNX: query, key, value of [batch, heads, length, size] or [batch, length, heads * size].
// com.microsoft Attention: input [batch, length, size], weights [size, 3 * hidden].
// Where the mask is causal, half of the products are needed.
static double attention_part(const struct flop_work *work)
{
  const struct shape_value *mode = flop_attribute(work->operation, "mode");
  return mode != NULL && mode->kind == VALUE_TEXT && strcmp(mode->text, "causal") == 0 ? 0.5 : 1;
}

bool flops_onnx_attention(struct flop_work *work)
{
  const double part = attention_part(work);
  const struct shape *query = flop_tensor(work->operation, 0);
  const struct shape *key = flop_tensor(work->operation, 1);
  const struct shape *value = flop_tensor(work->operation, 2);
  if (query == NULL || key == NULL || value == NULL)
    return false;
  if (query->rank == 3 && key->rank == 2 && value->rank == 1 && key->dims[0] == query->dims[2]) {
    double tokens = query->dims[0] * query->dims[1];
    double hidden = key->dims[1] / 3;
    flop_set(work, tokens * (query->dims[2] * key->dims[1] + 2 * part * query->dims[1] * hidden), tokens * key->dims[1],
             0, 0);
    return true;
  }
  int length_at = query->rank - 2;
  if (query->rank < 3 || query->rank > 4 || key->rank != query->rank || value->rank != query->rank)
    return false;
  // Heads of queries share heads of keys and values; a head of a query is as large as one of a key.
  double shared = query->rank == 3 ? query->dims[2] / key->dims[2] : 1;
  if (!(shared >= 1 && shared == floor(shared)))
    return false;
  double value_size = query->rank == 3 ? shared * value->dims[2] : query->dims[1] * value->dims[3];
  double scores = shape_elements(query) * key->dims[length_at];
  double to_values = query->dims[0] * query->dims[length_at] * key->dims[length_at] * value_size;
  flop_set(work, part * (scores + to_values), 0, 0, 0);
  return true;
}

// ---- norms ---------------------------------------------------------------------------------------------------------
// Local response normalisation: squares over `size` neighbours, scaled, to a power, divided.
bool flops_onnx_local_response(struct flop_work *work)
{
  const struct shape *output = flop_output(work->operation);
  const struct shape_value *size = flop_attribute(work->operation, "size");
  if (output == NULL || size == NULL || size->kind != VALUE_NUMBERS || size->count != 1)
    return false;
  double elements = shape_elements(output);
  flop_set(work, size->numbers[0] * elements, elements, 0, 3 * elements);
  return true;
}
