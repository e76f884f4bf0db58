// SPDX-License-Identifier: Apache-2.0
// Which ONNX Runtime `xsp check` finds here, and whether it is new enough for layers.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_TRACER_PROBE_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_TRACER_PROBE_H

#include <stddef.h>
#include <xsp/tracer.h>

int onnxruntime_probe(const struct xsp_host *host, char *why, size_t why_size);

#endif
