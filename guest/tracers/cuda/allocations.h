// SPDX-License-Identifier: Apache-2.0
// Allocations, releases and pools of the device's memory. On the tracer's thread.
#ifndef XSP_TRACERS_CUDA_ALLOCATIONS_H
#define XSP_TRACERS_CUDA_ALLOCATIONS_H

#include "tracers/cuda/abi.h"

// Keep a record (struct cupti_memory, struct cupti_memory_pool) until its turn; they come from the buffers of several threads.
void cuda_allocations_keep(const struct cupti *cupti, const void *record);
void cuda_allocations_keep_pool(const struct cupti *cupti, const void *record);
// Publishes, in the order of time, what happened before `until_ns` (CLOCK_REALTIME).
void cuda_allocations_publish(uint64_t until_ns);

#endif
