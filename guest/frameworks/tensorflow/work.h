// SPDX-License-Identifier: Apache-2.0
// The work of a TensorFlow node as tags: its attributes, and the shapes of its inputs' outputs in
// the same step.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_WORK_H
#define XSP_FRAMEWORKS_TENSORFLOW_WORK_H

#include "frameworks/common/layer_work.h"
#include "frameworks/tensorflow/graph.h"
#include "frameworks/tensorflow/metadata.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSORFLOW_NO_LAYER UINT32_MAX

struct tensorflow_wire { // one input
  uint32_t from;         // the caller's number of the node that makes it; TENSORFLOW_NO_LAYER: not known
  uint32_t slot;         // of that node's outputs
  bool is_parameter;     // a constant or a variable
};

// kernel_shape, fused_ops, operator, as far as there are attributes; texts in `arena`.
void tensorflow_work_tags(const struct tensorflow_node *node, struct arena *arena, struct layer_tags *tags);
// Of one execution: `steps` are the latest executions before it by the caller's numbers, NULL where there is none.
void tensorflow_work_read(const struct tensorflow_step *step, const struct tensorflow_wire *inputs, size_t input_count,
                          const struct tensorflow_step *const *steps, struct layer_work *ret_work);

#endif
