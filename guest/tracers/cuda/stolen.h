// SPDX-License-Identifier: Apache-2.0
// Another tool may take CUPTI's records while the program runs: CUPTI's first interface has one pair of functions for buffers, and
// who registers last has them. torch.profiler does so since 2026, without subscribing.
#ifndef XSP_TRACERS_CUDA_STOLEN_H
#define XSP_TRACERS_CUDA_STOLEN_H

#include "tracers/cuda/abi.h"

// Where kernels are recorded. `used` stays the caller's.
void cuda_stolen_start(const struct cupti *used);
// CUPTI's callback, of calls of the driver. On the program's threads.
void cuda_stolen_callback(uint32_t domain, uint32_t cbid, const void *details);
// On the tracer's thread, after each flush. `buffer_uses`: how often CUPTI has asked for a buffer or filled one.
void cuda_stolen_look(uint64_t buffer_uses, bool is_ending);
bool cuda_records_are_stolen(void);

#endif
