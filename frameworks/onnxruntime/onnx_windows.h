// SPDX-License-Identifier: Apache-2.0
// Attributes of an .onnx file's operators that no profile has and that counting their work needs: windows of pools and of
// transposed convolutions, and the like.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_WINDOWS_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_WINDOWS_H

#include "frameworks/common/predictor.h"

// Nodes of the model's own graph (not of its If and Loop bodies) of the types that have windows. False: damaged; what was
// found before the damage is valid. ONNX Runtime names a node's layer after the node, or, laid out anew in blocks of
// channels, "OUTPUT_nchwc".
bool onnx_windows(const uint8_t *bytes, size_t size, struct arena *arena, struct operator_window **ret_windows,
                  size_t *ret_count);
bool onnx_file_windows(const char *path, struct arena *arena, struct operator_window **ret_windows, size_t *ret_count);

#endif
