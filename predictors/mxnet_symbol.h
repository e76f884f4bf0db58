// SPDX-License-Identifier: Apache-2.0
// A symbol of MXNet as JSON (NAME-symbol.json, or what the library makes of it): its nodes, and what they say of the shapes
// of the model's inputs, which the format itself does not hold. Pure.
#ifndef XSP_PREDICTORS_MXNET_SYMBOL_H
#define XSP_PREDICTORS_MXNET_SYMBOL_H

#include "base/arena.h"
#include "base/error.h"
#include "predictors/predictor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MXNET_NO_NODE SIZE_MAX
struct mxnet_node {
  const char *op, *name; // op "null": a variable. Never NULL
  const char *fused;     // names of the operators that a fused one was made of, comma-separated; NULL: none
  // Attributes; NULL: not there
  const char *shape;  // of a variable, "(0, 3, 224, 224)"
  const char *layout; // "NCHW"
  const char *groups; // num_group
  size_t inputs[2];   // the first two, by node
};
struct mxnet_symbol {
  struct mxnet_node *nodes; // in the arena, as all texts
  size_t count;
};

// Errors: STATUS_INPUT with the offset.
enum status mxnet_symbol_read(const char *text, size_t length, const char *path, struct arena *arena,
                              struct mxnet_symbol *ret_symbol, struct error *err) MUST_CHECK;
static inline bool mxnet_is_variable(const struct mxnet_node *node)
{
  return node->op[0] == 'n' && node->op[1] == 'u' && node->op[2] == 'l' && node->op[3] == 'l' && node->op[4] == 0;
}

struct mxnet_parameter { // of the .params file
  const char *name;      // without "arg:" or "aux:"
  const uint32_t *shape;
  uint32_t rank;
};
// Fills rank, shape and names of dimensions of the input `variable` (a node): from its own attribute, or from the first
// operator it goes into, whose weights are known. False: neither says it.
bool mxnet_input_shape(const struct mxnet_symbol *symbol, size_t variable, const struct mxnet_parameter *parameters,
                       size_t parameter_count, struct tensor_info *info);
// "(0, 3, 224, 224)"; 0 and negative numbers are free dimensions. False: no shape, or too many dimensions.
bool mxnet_read_shape(const char *text, struct tensor_info *info);

// A signature file (NAME-signature.json, as MXNet Model Server reads it): the shape of the input `name`.
//   {"inputs": [{"data_name": "data", "data_shape": [0, 3, 224, 224]}]}
// *ret_found false: it says nothing of it. Errors: STATUS_INPUT with the offset.
enum status mxnet_signature_read(const char *text, size_t length, const char *path, const char *name,
                                 struct tensor_info *info, bool *ret_found, struct error *err) MUST_CHECK;

#endif
