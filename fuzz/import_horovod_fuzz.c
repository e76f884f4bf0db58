// SPDX-License-Identifier: Apache-2.0
// Fuzzes the importer of timelines of Horovod.
#include "fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_import(&importer_horovod, NULL, data, size);
  return 0;
}
