// SPDX-License-Identifier: Apache-2.0
// ATen's fused attention: the two products (five in the gradient, which computes the scores anew), half of them where the
// mask is causal. The softmax in between is not counted. Called through catalog.c's table.
#include "analyze/flops/rules.h"

#include <string.h>

struct attention_form {
  const char *type;
  unsigned query;      // key and value follow
  unsigned causal;     // argument: whether the mask is causal
  bool heads_are_last; // [batch, length, heads, size] instead of [batch, heads, length, size]
  bool is_backward;
};
static const struct attention_form forms[] = {
    {"scaled_dot_product_attention", 0, 5, false, false},
    {"_scaled_dot_product_attention_math", 0, 5, false, false},
    {"_scaled_dot_product_flash_attention", 0, 4, false, false},
    {"_scaled_dot_product_flash_attention_for_cpu", 0, 4, false, false},
    {"_scaled_dot_product_efficient_attention", 0, 6, false, false},
    {"_scaled_dot_product_cudnn_attention", 0, 6, false, false},
    {"_scaled_dot_product_flash_attention_backward", 1, 11, false, true},
    {"_scaled_dot_product_efficient_attention_backward", 1, 11, false, true},
    {"_flash_attention_forward", 0, 8, true, false},
    {"_flash_attention_backward", 1, 11, true, true},
    {"_efficient_attention_forward", 0, 9, true, false},
    {"_efficient_attention_backward", 1, 14, true, true},
};

bool flops_aten_attention(struct flop_work *work)
{
  const struct attention_form *form = NULL;
  for (size_t i = 0; i < sizeof forms / sizeof forms[0] && form == NULL; i++)
    if (strcmp(forms[i].type, work->operation->type + sizeof "aten::" - 1) == 0)
      form = &forms[i];
  if (form == NULL)
    return false;
  const struct shape *query = flop_tensor(work->operation, form->query);
  const struct shape *key = flop_tensor(work->operation, form->query + 1);
  const struct shape *value = flop_tensor(work->operation, form->query + 2);
  if (query == NULL || key == NULL || value == NULL || query->rank != 4 || key->rank != 4 || value->rank != 4 ||
      query->dims[3] != key->dims[3])
    return false;
  int length_at = form->heads_are_last ? 1 : 2;
  double rows = flop_product(query, 0, 3); // batch, heads, length: in whichever order
  bool is_causal = false;                  // also where it is not recorded
  (void)flop_truth(work->operation, form->causal, &is_causal);
  double scores = rows * key->dims[length_at] * (is_causal ? 0.5 : 1);
  double to_scores = scores * query->dims[3];
  double to_values = scores * value->dims[3];
  if (!form->is_backward) {
    flop_set(work, to_scores + to_values, 0, 0, 0);
    work->output_elements = rows * value->dims[3];
  } else { // scores anew, gradients of query and key; of the weights, of the value
    flop_set(work, 3 * to_scores + 2 * to_values, 0, 0, 0);
    work->output_elements = shape_elements(query) + shape_elements(key) + shape_elements(value);
  }
  return true;
}
