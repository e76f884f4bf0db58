// SPDX-License-Identifier: Apache-2.0
// The listener's profiler: ONNX Runtime calls it around every event; nodes become layer spans.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_TRACER_PROFILER_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_TRACER_PROFILER_H

#include "frameworks/onnxruntime/abi.h"

#include <xsp/span.h>

// A copy of ONNX Runtime in this process, and what it was given.
struct runtime {
  uint32_t state; // atomic: 0 free, 1 being filled, 2 in use
  const struct ort_api_base *base;
  struct ort_api api;
  struct ort_ep_functions functions;
  struct ort_ep_factory factory;
};

// When the library is registered, before any profiler is made. The first call counts.
void profiler_start_clock(void);
struct ort_status *profiler_create(const struct runtime *runtime, struct ort_profiler **ret_profiler);
// The model span of this thread: parent of layers that other threads compute.
void profiler_set_model(struct xsp_context model);

#endif
