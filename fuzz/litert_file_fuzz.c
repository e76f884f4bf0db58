// SPDX-License-Identifier: Apache-2.0
// Fuzzes predictors/litert_file: any bytes as a TFLite model.
#include "predictors/litert_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char place[64];
  bool is_cut = litert_file_is_cut(data, size, place, sizeof place);
  if (is_cut != (place[0] != 0) || strlen(place) >= sizeof place)
    abort();
  return 0;
}
