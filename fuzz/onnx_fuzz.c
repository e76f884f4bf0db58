// SPDX-License-Identifier: Apache-2.0
// Fuzzes predictors/onnx_file: any bytes are walked to an end, and damage is told in words.
#include "predictors/onnx_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char place[256] = "";
  bool damaged = onnx_damage(data, size, place, sizeof place);
  if (damaged != (strncmp(place, "byte ", 5) == 0))
    abort();
  return 0;
}
