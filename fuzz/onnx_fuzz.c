// SPDX-License-Identifier: Apache-2.0
// Fuzzes guest/frameworks/onnxruntime/onnx_file and onnx_external: any bytes are walked to an end or an error message, and no
// file outside the model's folder is named.
#include "frameworks/onnxruntime/onnx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(void *context, const char *name, size_t length)
{
  if (length == 0 || name[0] == '/' || (length >= 3 && memcmp(name, "../", 3) == 0))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char place[256] = "";
  bool damaged = onnx_damage(data, size, place, sizeof place);
  if (damaged != (strncmp(place, "byte ", 5) == 0))
    abort();
  onnx_external_files(data, size, check_name, NULL);
  return 0;
}
