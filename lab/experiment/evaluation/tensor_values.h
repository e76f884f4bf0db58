// SPDX-License-Identifier: Apache-2.0
// Elements of tensors as double: every type that frameworks hand out.
#ifndef XSP_EXPERIMENT_EVALUATION_TENSOR_VALUES_H
#define XSP_EXPERIMENT_EVALUATION_TENSOR_VALUES_H

#include "frameworks/frameworks.h"

// `count` elements of `type` at `data`, which need not be aligned. Whole numbers beyond 2^53 are rounded. False: texts, or a type
// without values.
bool tensor_values(enum tensor_type type, const void *data, size_t count, double *ret_values);

#endif
