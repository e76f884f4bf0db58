// SPDX-License-Identifier: Apache-2.0
// Fuzzes the importer of oneDNN's verbose log.
#include "fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_import(&importer_onednn, NULL, data, size);
  return 0;
}
