// SPDX-License-Identifier: Apache-2.0
// Fuzzes the importer of rocpd, the database of rocprofv3.
#include "fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[64];
  fuzz_name_path(path);
  fuzz_write(path, data, size);
  fuzz_import_path(&importer_rocpd, NULL, path);
  unlink(path);
  return 0;
}
