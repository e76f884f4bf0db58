// SPDX-License-Identifier: Apache-2.0
// What operators do, by their names alone: for files without shapes. Called by the rules of findings.
#include "analyze/flops/rules.h"

#include <math.h>
#include <string.h>

static enum flop_class class_of(const struct flop_rule *rule)
{
  static flop_count *const products[] = {flops_convolution,
                                         flops_transposed_convolution,
                                         flops_onnx_transposed_convolution,
                                         flops_onnx_gemm,
                                         flops_matrix_product,
                                         flops_onnx_packed_product,
                                         flops_onnx_attention,
                                         flops_dense,
                                         flops_attention,
                                         flops_aten_convolution,
                                         flops_aten_convolution_backward,
                                         flops_aten_attention,
                                         flops_aten_product,
                                         flops_aten_linear};
  if (rule == NULL)
    return FLOPS_UNKNOWN;
  for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
    if (rule->count == products[i])
      return FLOPS_PRODUCTS;
  bool has_arithmetic = rule->multiply_adds + rule->adds + rule->compares + rule->specials > 0;
  if (rule->count == NULL)
    return has_arithmetic ? FLOPS_ELEMENTWISE : FLOPS_MOVES;
  bool copies = rule->count == flops_aten_copy || rule->count == flops_aten_concatenation;
  return copies ? FLOPS_MOVES : FLOPS_OTHERS;
}

enum flop_class flops_class(const char *name)
{
  const char *last = strrchr(name, '/');
  const char *plain = last != NULL && last[1] != 0 ? last + 1 : name;
  struct flop_match match = {0};
  for (int dialect = FLOPS_ONNX; dialect <= FLOPS_TFLITE && match.rule == NULL && !match.is_aten; dialect++)
    match = flops_find((enum flop_dialect)dialect, plain); // ATen's names are those of one dialect
  return class_of(match.rule);
}

bool flops_moves_nothing(const char *name)
{
  const struct flop_rule *rule = flops_find(FLOPS_ONNX, name).rule;
  return rule != NULL && rule->traffic == MOVES_NOTHING;
}

double flops_gradients(const char *name)
{
  static const struct {
    const char *names; // without "aten::"
    double times;
  } others[] = {
      {"mul div where lerp addcmul addcdiv prelu batch_norm native_batch_norm layer_norm native_layer_norm group_norm "
       "native_group_norm rms_norm _fused_rms_norm",
       2}, // of both factors; of the input, the scale and the shift
      {"mkldnn_rnn_layer lstm gru rnn_tanh rnn_relu _thnn_fused_lstm_cell _thnn_fused_gru_cell",
       3},                                                       // products, gates again
      {"pow gelu silu mish softplus norm", 3},                   // computed again, and multiplied
      {"_scaled_dot_product_flash_attention_for_cpu", INFINITY}, // 3; in bfloat16 up to 15, of the library's own doing
      // They read a part of a tensor, and their gradient is as large as all of it. F26 and F28 are about lookups.
      {"embedding _embedding_bag _embedding_bag_forward_only nll_loss nll_loss_forward nll_loss2d_forward nll_loss_nd "
       "cross_entropy_loss gather max min amax "
       "amin topk sort",
       INFINITY},
  };
  const char *plain = strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (flops_lists(others[i].names, plain, strlen(plain)))
      return others[i].times;
  return flops_class(name) == FLOPS_PRODUCTS ? 2 : 1; // of attention 2.5, with the scores that it computes again
}
