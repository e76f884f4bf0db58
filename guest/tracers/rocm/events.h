// SPDX-License-Identifier: Apache-2.0
// HIP's calls as events for clients of <xsp/monitor.h>, when they happen: rocprofiler-sdk's records come later.
#ifndef XSP_TRACERS_ROCM_EVENTS_H
#define XSP_TRACERS_ROCM_EVENTS_H

#include "tracers/rocm/calls.h"

// Whether a client has subscribed to GPUs' calls, and which are to be called back for, as rocm_calls_wanted has them.
bool rocm_events_wanted(const struct rocm *rocm, enum rocm_calls choice, uint32_t **ret_operations, size_t *ret_count);
// rocprofiler-sdk's callback. Data: struct rocm.
void rocm_events_note(const struct rocm_event *event, void *user_data, void *rocm);

#endif
