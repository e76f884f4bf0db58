// SPDX-License-Identifier: Apache-2.0
// Fuzzes base/npy: an accepted array must be inside the given bytes.
#include "base/npy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct npy npy;
  struct error err;
  if (npy_parse(data, size, "fuzz", &npy, &err) != STATUS_OK)
    return 0;
  if (npy.rank > NPY_MAXIMUM_RANK || npy.data + npy.data_bytes != data + size ||
      npy.count * npy.item_bytes != npy.data_bytes)
    abort();
  return 0;
}
