// SPDX-License-Identifier: Apache-2.0
// Fuzzes guest/frameworks/onnxruntime/onnx_windows: any bytes give windows whose parts are within bounds.
#include "frameworks/onnxruntime/onnx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct operator_window *windows;
  size_t count;
  (void)onnx_windows(data, size, &arena, &windows, &count);
  for (size_t i = 0; i < count; i++)
    if (windows[i].kernel_rank > OPERATOR_WINDOW_RANK || strlen(windows[i].layer_names[0]) > size ||
        strlen(windows[i].layer_names[1]) > size + strlen("_nchwc"))
      abort();
  arena_done(&arena);
  return 0;
}
