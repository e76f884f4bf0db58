// SPDX-License-Identifier: Apache-2.0
// Fuzzes the importer of rocpd, the database of rocprofv3.
#include "fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_import(&importer_rocpd, NULL, data, size);
  return 0;
}
