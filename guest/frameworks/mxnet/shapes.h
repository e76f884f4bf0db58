// SPDX-License-Identifier: Apache-2.0
// Shapes of an MXNet model's inputs, which its format does not hold: from attributes of its nodes, its
// weights, or a signature next to it. Pure.
#ifndef XSP_FRAMEWORKS_MXNET_SHAPES_H
#define XSP_FRAMEWORKS_MXNET_SHAPES_H

#include "frameworks/common/predictor.h"
#include "frameworks/mxnet/symbol.h"

struct mxnet_parameter { // of the .params file
  const char *name;      // without "arg:" or "aux:"
  const uint32_t *shape;
  uint32_t rank;
};
// Fills rank, shape and names of dimensions of the input `variable` (a node): from its own attribute, or from the first
// operator it goes into, whose weights are known. False: neither has it.
bool mxnet_input_shape(const struct mxnet_symbol *symbol, size_t variable, const struct mxnet_parameter *parameters,
                       size_t parameter_count, struct tensor_info *info);
// "(0, 3, 224, 224)"; 0 and negative numbers are free dimensions. False: no shape, or too many dimensions.
bool mxnet_read_shape(const char *text, struct tensor_info *info);

// A signature file (NAME-signature.json, as MXNet Model Server reads it): the shape of the input `name`.
//   {"inputs": [{"data_name": "data", "data_shape": [0, 3, 224, 224]}]}
// *ret_found false: it does not have it. Errors: STATUS_INPUT with the offset.
enum status mxnet_signature_read(const char *text, size_t length, const char *path, const char *name,
                                 struct tensor_info *info, bool *ret_found, struct error *err) MUST_CHECK;

#endif
