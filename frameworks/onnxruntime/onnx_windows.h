// SPDX-License-Identifier: Apache-2.0
// What an .onnx file says of its operators that no profile does and that counting their work needs: windows of pools and
// of transposed convolutions, and the like.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_WINDOWS_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_WINDOWS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONNX_WINDOW_RANK 8

struct onnx_window {
  const char *name, *output; // of the node, of its first output: ONNX Runtime names nodes it makes after either
  int64_t kernel[ONNX_WINDOW_RANK];
  size_t kernel_rank;  // 0: not known
  int64_t group, size; // -1: not said
  const char *mode;    // of a Resize; NULL: not said
};

// Nodes of the model's own graph (not of its If and Loop bodies) of the types that are wanted. False: damaged or out of
// memory; what was found until then stands.
bool onnx_windows(const uint8_t *bytes, size_t size, struct arena *arena, struct onnx_window **ret_windows,
                  size_t *ret_count);
bool onnx_file_windows(const char *path, struct arena *arena, struct onnx_window **ret_windows, size_t *ret_count);

#endif
