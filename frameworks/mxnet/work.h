// SPDX-License-Identifier: Apache-2.0
// The work of each operator of the graph that MXNet executes, as tags: its own inference of shapes gives what they read and
// write.
#ifndef XSP_FRAMEWORKS_MXNET_WORK_H
#define XSP_FRAMEWORKS_MXNET_WORK_H

#include "frameworks/common/predictor.h"
#include "frameworks/mxnet/abi.h"
#include "frameworks/mxnet/layers.h"

// By node of `graph`, which was read from `symbol`, for inputs of these shapes. What MXNet cannot infer has no tags.
struct mxnet_work *mxnet_work_read(const struct mxnet_api *api, mxnet_handle symbol, const struct mxnet_symbol *graph,
                                   const struct tensor *inputs, size_t input_count, struct arena *arena);

#endif
