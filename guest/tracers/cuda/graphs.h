// SPDX-License-Identifier: Apache-2.0
// Which code made the nodes of CUDA graphs. A graph is launched as a whole, far from the layers whose work was captured in it.
#ifndef XSP_TRACERS_CUDA_GRAPHS_H
#define XSP_TRACERS_CUDA_GRAPHS_H

#include "tracers/cuda/abi.h"

// CUPTI's callback of the subscription: notes the call path of each node on the thread that makes it,
// and publishes a span there.
void cuda_graphs_callback(void *cupti, uint32_t domain, uint32_t cbid, const void *details);
// Asks for these callbacks. A libcupti without them leaves the paths unknown.
void cuda_graphs_start(const struct cupti *cupti);
// The call path (xsp_call_path) of the code that made the node; 0: unknown. Any thread.
uint32_t cuda_graphs_path(uint64_t node_id);

#endif
