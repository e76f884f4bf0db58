// SPDX-License-Identifier: Apache-2.0
// Ranges and marks of ROCTx, as those of NVTX.
#ifndef XSP_TRACERS_ROCM_MARKERS_H
#define XSP_TRACERS_ROCM_MARKERS_H

#include "tracers/rocm/abi.h"

// rocprofiler-sdk's callback, on the program's threads; `rocm` is a struct rocm. After annotations_start.
void rocm_markers_note(const struct rocm_event *event, void *user_data, void *rocm);
extern uint64_t rocm_markers_lost; // atomic: ranges that were not recorded, as too many were open

#endif
