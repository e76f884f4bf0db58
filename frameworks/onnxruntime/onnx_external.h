// SPDX-License-Identifier: Apache-2.0
// Which files next to an ONNX model have its weights.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_EXTERNAL_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_EXTERNAL_H

#include "frameworks/common/predictor.h"

// Any bytes may be given: a damaged model has fewer files.
void onnx_external_files(const void *bytes, size_t size, model_file_fn visit, void *context);
// Of the model at `path`; none where it cannot be read.
void onnx_file_external(const char *path, model_file_fn visit, void *context);

#endif
