// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of TensorRT's layer information, next to a profile.
#include "fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char profile[] =
      "[{\"count\": 1}, {\"name\": \"a\", \"averageMs\": 0.5}, {\"name\": \"a\", \"averageMs\": 1}, "
      "{\"name\": \"b\", \"averageMs\": 1e-3}]";
  (void)importer_tensorrt_layers.recognize((struct slice){(const char *)data, size}, true);
  fuzz_import_described(&importer_tensorrt, profile, data, size);
  return 0;
}
