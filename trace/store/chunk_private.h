// SPDX-License-Identifier: Apache-2.0
// The loops over a column's values, in as many variants as there are instruction sets worth it. Private to chunk.c.
#ifndef XSP_STORE_CHUNK_PRIVATE_H
#define XSP_STORE_CHUNK_PRIVATE_H

#include "store/chunk.h"

#define CHUNK_PLANES_MAXIMUM 8u

struct chunk_survey {
  int64_t minimum, maximum;
  uint64_t step_bits; // all zigzagged differences of neighbours, ORed
};

// CHUNK_INT64 and CHUNK_UINT32 only. Planes are CHUNK_ROWS_MAXIMUM bytes apart.
struct chunk_kernels {
  const char *name;
  void (*survey)(enum chunk_type type, const void *values, uint32_t count, struct chunk_survey *ret_survey);
  // Byte k of each residual into plane k. Residuals: value - base; `delta`: zigzag(value - the one before); `base`
  // precedes the first.
  void (*split)(enum chunk_type type, const void *values, uint32_t count, bool delta, uint64_t base,
                unsigned plane_count, uint8_t *planes);
  // The way back; also into CHUNK_UINT8. A plane that `used` (a bit each) lacks is not looked at: `constant` has its bytes.
  // False: a value does not fit the type; then the values are of no use.
  bool (*merge)(enum chunk_type type, const uint8_t *planes, unsigned plane_count, unsigned used, uint64_t constant,
                bool delta, uint64_t base, uint32_t count, void *ret_values);
};

// Those that this machine can run, the fastest first; NULL after the last.
const struct chunk_kernels *chunk_kernels_at(unsigned i);

static inline uint64_t chunk_zigzag(uint64_t difference)
{
  return (difference << 1) ^ (uint64_t)((int64_t)difference >> 63);
}

#endif
