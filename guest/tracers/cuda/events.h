// SPDX-License-Identifier: Apache-2.0
// The driver's calls as events for clients of <xsp/monitor.h>, when they happen: CUPTI's records come later.
#ifndef XSP_TRACERS_CUDA_EVENTS_H
#define XSP_TRACERS_CUDA_EVENTS_H

#include "tracers/cuda/abi.h"

#include <stdbool.h>

// Before the first record. Without a client that has subscribed to GPUs' calls there are no callbacks.
void cuda_events_start(const struct cupti *cupti);
bool cuda_events_has(uint32_t cbid); // this call of the driver is called back for
// CUPTI's callback.
void cuda_events_callback(uint32_t domain, uint32_t cbid, const void *details);

#endif
