// SPDX-License-Identifier: Apache-2.0
// The difference of two tensors of numbers, of any types, also where one has its channels last.
#ifndef XSP_EXPERIMENT_EVALUATION_TENSOR_COMPARE_H
#define XSP_EXPERIMENT_EVALUATION_TENSOR_COMPARE_H

#include "launch/launch.h"

struct tensor_difference {
  double largest, mean; // absolute; infinite where one of two values is not finite and the other is another
  double relative;      // largest ÷ largest absolute value of the first; 0: they are equal
};

// NULL: *ret_difference is filled. Else why they cannot be compared, in `arena`.
const char *tensor_compare(const struct runner_tensor *first, const struct runner_tensor *other, struct arena *arena,
                           struct tensor_difference *ret_difference);
const char *tensor_shape(const struct runner_tensor *tensor, struct arena *arena); // "1,64,56,56"

#endif
