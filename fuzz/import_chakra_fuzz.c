// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of PyTorch's execution traces, next to a Kineto file.
#include "fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char trace[] =
      "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 1, \"ts\": 1, "
      "\"dur\": 5, \"args\": {\"Record function id\": 5}}, {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": "
      "\"aten::t\", \"pid\": 1, \"tid\": 1, \"ts\": 9, \"dur\": 5, \"args\": {\"Record function id\": 6}}]";
  (void)importer_chakra.recognize((struct slice){(const char *)data, size}, true);
  fuzz_import_described(&importer_kineto, trace, data, size);
  return 0;
}
