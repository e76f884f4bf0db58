// SPDX-License-Identifier: Apache-2.0
// Fuzzes the importer of CNTK's detail files.
#include "fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_import(&importer_cntk, NULL, data, size);
  return 0;
}
