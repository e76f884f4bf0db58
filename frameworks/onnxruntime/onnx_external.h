// SPDX-License-Identifier: Apache-2.0
// Which files beside an ONNX model have its weights.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_EXTERNAL_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_EXTERNAL_H

#include <stddef.h>

// `name` is relative to the model's folder and leads nowhere out of it; not NUL-terminated. The same may come again.
typedef void (*onnx_external_fn)(void *context, const char *name, size_t length);
// Any bytes may be given: what is damaged has fewer files.
void onnx_external_files(const void *bytes, size_t size, onnx_external_fn visit, void *context);

#endif
