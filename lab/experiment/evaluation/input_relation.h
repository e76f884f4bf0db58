// SPDX-License-Identifier: Apache-2.0
// What turns one prepared input into another, as far as that shows in their values: exchanged channels, another mean or scale,
// another place of the cut, another type or size.
#ifndef XSP_EXPERIMENT_EVALUATION_INPUT_RELATION_H
#define XSP_EXPERIMENT_EVALUATION_INPUT_RELATION_H

#include "launch/launch.h"

struct picture_values { // of a batch of pictures, as [items][channels][height][width]
  size_t items, channels, height, width;
  double *values; // owned
};

// A sentence without its end, in `arena`. The two differ.
const char *evaluation_input_relation(const struct runner_tensor *first, const struct runner_tensor *other,
                                      struct arena *arena);

#endif
