// SPDX-License-Identifier: Apache-2.0
// Layers out of an inference's part of MXNet's profile: events have types and times, their names follow from the position
// in the graph that was executed. For the predictor and for the tracer inside unmodified programs, whose profile may have
// more than the model.
#ifndef XSP_FRAMEWORKS_MXNET_LAYERS_H
#define XSP_FRAMEWORKS_MXNET_LAYERS_H

#include "frameworks/common/layer_work.h"
#include "frameworks/common/threads.h"
#include "frameworks/mxnet/profile.h"
#include "frameworks/mxnet/symbol.h"

#define MXNET_UNTOLD "name"

struct mxnet_work {  // of one node
  const char *shape; // of its first output; NULL: not known
  struct layer_tags tags;
};

// What MXNet's engine does for itself (frees memory, waits, copies between devices) is not a layer.
bool mxnet_is_housekeeping(const char *type);

// The operators of a graph, in its order: its nodes except variables. `ret_operators` has room for all of its nodes.
size_t mxnet_operators(const struct mxnet_symbol *graph, struct mxnet_node *ret_operators);

// Publishes `events`, in order of start, as layers of the inference `model`. Where all `operators` are found among them, in
// their order and by their types, these have their names (tag `name_by`) and their `work` (by operator; NULL: not known); else,
// and for other events, types are the names. `threads`: those of the process after the inference.
enum status mxnet_layers_publish(struct layer_publisher *publisher, const struct mxnet_event *events, size_t count,
                                 const struct thread_table *threads, const struct mxnet_node *operators,
                                 const struct mxnet_work *work, size_t operator_count, struct xsp_context model,
                                 struct error *err) MUST_CHECK;

#endif
