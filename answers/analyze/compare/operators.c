// SPDX-License-Identifier: Apache-2.0
// Recognises operators by the spellings of all frameworks, and shapes whatever the order of their dimensions. Called by pairs.c.
#include "analyze/compare/align.h"

#include "analyze/flops/shapes.h"
#include "base/slice.h"
#include "base/sorted.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_MOST 64 // characters that are looked at

// Parts of types, in small letters and without underscores, in the order in which they are looked for.
static const struct {
  enum operator_family family;
  const char *const parts[24];
} families[] = {
    {OPERATOR_TRANSPOSED_CONVOLUTION,
     {"convtranspose", "deconv", "transposeconv", "conv2dbackpropinput", "conv3dbackpropinput",
      "convolutionbackpropdata"}},
    {OPERATOR_LAYOUT, {"convert"}},
    {OPERATOR_CONVOLUTION, {"conv"}}, // with what is fused into it
    {OPERATOR_LAYOUT,
     {"reorder", "transpose", "permute", "reshape", "flatten", "squeeze", "expanddims", "identity", "cast",
      "contiguous", "copy", "dequantize", "quantizelinear", "pad", "view", "layout", "dropout"}},
    {OPERATOR_ATTENTION, {"attention"}},
    {OPERATOR_RECURRENT, {"lstm", "gru", "rnn"}},
    {OPERATOR_PRODUCT,
     {"gemm", "matmul", "fullyconnected", "fully connected", "linear", "dense", "addmm", "bmm", "batchdot"}},
    {OPERATOR_NORMALISATION, {"norm", "lrn"}},
    {OPERATOR_MAXIMUM_POOL, {"maxpool", "poolmax"}},
    {OPERATOR_AVERAGE_POOL, {"avgpool", "averagepool", "adaptiveavg", "mean", "globalpool"}},
    {OPERATOR_SOFTMAX, {"softmax"}},
    {OPERATOR_CONCATENATION, {"concat"}},
    {OPERATOR_RESIZE, {"resize", "upsample", "interpolate"}},
    {OPERATOR_GATHER, {"gather", "embedding", "indexselect"}},
    {OPERATOR_ACTIVATION,
     {"relu", "clip", "clamp", "hardtanh", "sigmoid", "tanh", "gelu", "elu", "swish", "silu", "mish", "softplus",
      "hardswish", "activation"}},
};
// Whole types: as parts they are in others.
static const struct {
  enum operator_family family;
  const char *const types[32];
} whole[] = {
    {OPERATOR_ARITHMETIC,
     {"add",          "addv2",        "addn",        "biasadd",     "biassemanticadd", "sub",
      "mul",          "div",          "sum",         "subtract",    "multiply",        "divide",
      "elemwiseadd",  "elemwisesub",  "elemwisemul", "elemwisediv", "broadcastadd",    "broadcastsub",
      "broadcastmul", "broadcastdiv", "eltwise",     "realdiv",     "binary",          "plusscalar"}},
    {OPERATOR_PRODUCT, {"mm", "dot"}},
    {OPERATOR_CONCATENATION, {"cat"}},
};

// Without what frameworks put around the operator's name: "aten::_conv2d_" is "conv2d".
static void plain_type(const char *type, char text[TYPE_MOST])
{
  const char *at = type, *colons;
  size_t length = 0;
  while ((colons = strstr(at, "::")) != NULL)
    at = colons + 2;
  for (; *at != 0 && length < TYPE_MOST - 1; at++)
    if (*at != '_')
      text[length++] = (char)tolower((unsigned char)*at);
  text[length] = 0;
}

uint32_t flops_operator_family(const char *type)
{
  char text[TYPE_MOST];
  if (type == NULL || type[0] == 0)
    return OPERATOR_NONE;
  plain_type(type, text);
  for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
    if (text_is_in(text, whole[i].types))
      return whole[i].family;
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
    for (const char *const *part = families[i].parts; *part != NULL; part++)
      if (strstr(text, *part) != NULL)
        return families[i].family;
  return OPERATOR_FAMILIES;
}

uint64_t shape_number(const char *text)
{
  struct shapes shapes;
  uint64_t number = 0;
  if (text == NULL || !shapes_read(text, strlen(text), &shapes) || shapes.count == 0 || shapes.items[0].rank <= 0)
    return 0;
  struct shape *first = &shapes.items[0];
  qsort(first->dims, (size_t)first->rank, sizeof *first->dims, sorted_compare_double);
  for (int i = 0; i < first->rank; i++)
    if (first->dims[i] > 1 && first->dims[i] < 1e15) // sizes of 1 come and go
      number = (number + (uint64_t)first->dims[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return number;
}
