// SPDX-License-Identifier: Apache-2.0
// What analyses count a layer's work from, as tags: the shapes of its inputs and the bytes that go in and out, in the form
// of ONNX Runtime's layers. Shared by the predictors whose framework reports shapes of tensors. Pure.
#ifndef XSP_FRAMEWORKS_COMMON_LAYER_WORK_H
#define XSP_FRAMEWORKS_COMMON_LAYER_WORK_H

#include "base/arena.h"
#include "frameworks/common/layer_publish.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYER_RANK_UNKNOWN SIZE_MAX

enum layer_tensor { LAYER_ACTIVATION, LAYER_PARAMETER, LAYER_OUTPUT };

struct layer_work {    // zero: nothing is known yet
  char inputs[512];    // "[1,230,230,3] [7,7,3,64]"; "[-1]": a shape that is not reported. Cut between two shapes
  int64_t bytes[3];    // by layer_tensor; negative: one of them is not known
  size_t input_length; // of `inputs`
  bool is_cut, has_outputs;
};

// Adds a tensor, inputs in the order of the operator's arguments. `element_bytes` 0: not reported. Outputs add their bytes only.
void layer_work_add(struct layer_work *work, enum layer_tensor kind, const int64_t *shape, size_t rank,
                    size_t element_bytes);
// Adds input_shape, activation_bytes, parameter_bytes, output_bytes, as far as they are known; their texts in `arena`.
void layer_work_tags(const struct layer_work *work, struct arena *arena, struct layer_tags *tags);
// framework_layer_shape_text in the arena.
const char *layer_work_shape(struct arena *arena, const int64_t *shape, size_t rank);

#endif
