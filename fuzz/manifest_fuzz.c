// SPDX-License-Identifier: Apache-2.0
// Fuzzes lab/manifests/manifest.c: any bytes become a complete manifest, or one error with a line.
#include "manifests/manifest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct manifest manifest;
  struct error err = {0};
  enum status status = manifest_parse((const char *)data, size, "fuzz.yml", &arena, &manifest, &err);
  if (status == STATUS_OK) {
    if (manifest.name == NULL || manifest.version == NULL || manifest.task == NULL || manifest.framework == NULL)
      abort();
    for (size_t i = 0; i < manifest.input_count; i++)
      if (manifest.inputs[i].expectation.info.name == NULL ||
          manifest.inputs[i].expectation.info.rank > TENSOR_MAXIMUM_RANK)
        abort();
  } else if (status != STATUS_INPUT || strncmp(err.where, "fuzz.yml", 8) != 0 || err.why[0] == 0) {
    abort();
  }
  arena_done(&arena);
  return 0;
}
