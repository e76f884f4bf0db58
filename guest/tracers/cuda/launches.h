// SPDX-License-Identifier: Apache-2.0
// Runs with hardware metrics: what CUPTI calls back on the program's threads around launches. Instead of CUPTI's records, whose
// times are those of repetitions.
#ifndef XSP_TRACERS_CUDA_LAUNCHES_H
#define XSP_TRACERS_CUDA_LAUNCHES_H

#include "tracers/cuda/ranges.h"

// From now on all kernels are measured. `wish` is copied; what it points to stays.
void cuda_launches_start(const struct cupti *cupti, const struct ranges_wish *wish);
// CUPTI's callback, of calls and resources. Before cuda_launches_start it does nothing.
void cuda_launches_callback(uint32_t domain, uint32_t cbid, const void *details);
// Publishes what was measured: an observation is over, or the program. Any thread; may wait for a launch that goes on.
void cuda_launches_finish(void);

extern struct launch_counts { // stable after the program's end
  uint64_t cooperating;       // kernels that wait for others
  uint64_t unknown_graphs;    // launches of graphs whose kernels, or their order, are not known
  uint64_t in_capture;        // kernels launched while a stream was captured
} cuda_launch_counts;

#endif
