// SPDX-License-Identifier: Apache-2.0
// Fuzzes the importer of OpenTelemetry's protobuf.
#define FUZZ_ANY_NUMBER
#include "fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_import(&importer_otlp_proto, "predict*", data, size);
  return 0;
}
