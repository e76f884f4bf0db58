// SPDX-License-Identifier: Apache-2.0
// Fuzzes guest/frameworks/onnxruntime/onnx_layers: any bytes give tensors with names, each once.
#include "frameworks/onnxruntime/onnx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct onnx_layers layers;
  onnx_layers_read(data, size, &arena, &layers);
  for (size_t i = 0; i < layers.count; i++) {
    size_t length = strlen(layers.items[i].name);
    if (length == 0 || length > size || strlen(layers.items[i].type) > size)
      abort();
    for (size_t k = 0; k < i && i < 64; k++)
      if (strcmp(layers.items[k].name, layers.items[i].name) == 0)
        abort();
  }
  arena_done(&arena);
  return 0;
}
