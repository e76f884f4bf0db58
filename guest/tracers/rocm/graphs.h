// SPDX-License-Identifier: Apache-2.0
// Which code captured the kernels of a HIP graph. rocprofiler-sdk has no events of nodes, so it follows from HIP's calls: kernels that
// were launched in one stream while it captured run in this order.
#ifndef XSP_TRACERS_ROCM_GRAPHS_H
#define XSP_TRACERS_ROCM_GRAPHS_H

#include "tracers/rocm/abi.h"

// The calls to be told of, to be freed; false: this version does not have them.
bool rocm_graphs_wanted(const struct rocm *rocm, uint32_t **ret_operations, size_t *ret_count);
// rocprofiler-sdk's callback, on the program's threads; `rocm` is a struct rocm. Allocates only while graphs are made.
void rocm_graphs_note(const struct rocm_event *event, void *user_data, void *rocm);
// The node of the next kernel of this launch; 0: of no graph, or not known. The tracer's thread, kernels in their order.
uint64_t rocm_graphs_node(uint64_t correlation_id, uint64_t kernel_id, const char *kernel_name);
uint32_t rocm_graphs_path(uint64_t node); // the call path that captured it

#endif
