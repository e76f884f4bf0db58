// SPDX-License-Identifier: Apache-2.0
// What frameworks.so (guest/frameworks/common/doors.c) asks of onnxruntime.so in the same process. Found by dlsym: each works without
// the other.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_HOOKS_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_HOOKS_H

#include "frameworks/onnxruntime/abi.h"
#include <xsp/span.h>

struct ort_listener { // static; appended to only
  uint32_t size;
  // The runtime that registered the listener last from the calling thread; NULL: none did. A Python module's own copy of
  // ONNX Runtime exports nothing: this is the way to its functions.
  const struct ort_api_base *(*last_registered)(void);
  // The calling thread begins (or, all zero, has ended) an inference in this span: layers that the runtime computes on
  // other threads become its children.
  void (*set_model)(struct xsp_context model);
  // A line for the user, kept with the trace.
  void (*say)(const char *message);
};
#define ORT_LISTENER_SYMBOL "xsp_listener"
XSP_API const struct ort_listener *xsp_listener(void);

#endif
