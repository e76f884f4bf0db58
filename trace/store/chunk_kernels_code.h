// SPDX-License-Identifier: Apache-2.0
// Body of chunk_kernels.c, included once for each instruction set: KERNEL(name) and KERNEL_TARGET say which. Plain loops
// that a compiler vectorises, over blocks that stay in the first-level cache, so that a column is read twice at most.

// Widened values of one block, after the value before it: wide[0] is values[from - 1], or `before` at the beginning.
KERNEL_TARGET static inline void KERNEL(load_block)(enum chunk_type type, const void *values, uint32_t from,
                                                    uint32_t rows, uint64_t before, uint64_t *restrict wide)
{
  if (type == CHUNK_INT64) {
    const uint64_t *restrict value = (const uint64_t *)values + from;
    memcpy(wide + 1, value, rows * sizeof *wide);
    wide[0] = from == 0 ? before : value[-1];
  } else {
    const uint32_t *restrict value = (const uint32_t *)values + from;
    for (uint32_t i = 0; i < rows; i++)
      wide[i + 1] = value[i];
    wide[0] = from == 0 ? before : value[-1];
  }
}

KERNEL_TARGET static void KERNEL(survey)(enum chunk_type type, const void *values, uint32_t count,
                                         struct chunk_survey *ret_survey)
{
  uint64_t wide[BLOCK + 1];
  int64_t first = type == CHUNK_INT64 ? *(const int64_t *)values : (int64_t) * (const uint32_t *)values;
  int64_t minimum = first, maximum = first;
  uint64_t bits = 0;
  for (uint32_t from = 0; from < count; from += BLOCK) {
    uint32_t rows = count - from < BLOCK ? count - from : BLOCK;
    KERNEL(load_block)(type, values, from, rows, (uint64_t)first, wide);
    for (uint32_t i = 1; i <= rows; i++) {
      int64_t value = (int64_t)wide[i];
      minimum = value < minimum ? value : minimum;
      maximum = value > maximum ? value : maximum;
      bits |= chunk_zigzag(wide[i] - wide[i - 1]);
    }
  }
  *ret_survey = (struct chunk_survey){minimum, maximum, bits};
}

KERNEL_TARGET static void KERNEL(split)(enum chunk_type type, const void *values, uint32_t count, bool delta,
                                        uint64_t base, unsigned plane_count, uint8_t *planes)
{
  uint64_t wide[BLOCK + 1], residual[BLOCK];
  uint32_t narrow[BLOCK];
  for (uint32_t from = 0; from < count; from += BLOCK) {
    uint32_t rows = count - from < BLOCK ? count - from : BLOCK;
    KERNEL(load_block)(type, values, from, rows, base, wide);
    if (delta)
      for (uint32_t i = 0; i < rows; i++)
        residual[i] = chunk_zigzag(wide[i + 1] - wide[i]);
    else
      for (uint32_t i = 0; i < rows; i++)
        residual[i] = wide[i + 1] - base;
    for (uint32_t i = 0; i < rows; i++)
      narrow[i] = (uint32_t)residual[i];
    for (unsigned k = 0; k < plane_count; k++) {
      uint8_t *restrict plane = planes + (size_t)k * CHUNK_ROWS_MAXIMUM + from;
      if (k < 4)
        for (uint32_t i = 0; i < rows; i++)
          plane[i] = (uint8_t)(narrow[i] >> (8 * k));
      else
        for (uint32_t i = 0; i < rows; i++)
          plane[i] = (uint8_t)(residual[i] >> (8 * k));
    }
  }
}

// Residuals of one block from their planes.
KERNEL_TARGET static inline void KERNEL(join_block)(const uint8_t *planes, unsigned plane_count, unsigned used,
                                                    uint64_t constant, uint32_t rows, uint64_t *restrict residual)
{
  uint32_t narrow[BLOCK];
  for (uint32_t i = 0; i < rows; i++)
    narrow[i] = (uint32_t)constant;
  for (unsigned k = 0; k < plane_count && k < 4; k++) {
    const uint8_t *restrict plane = planes + (size_t)k * CHUNK_ROWS_MAXIMUM;
    if ((used >> k & 1) != 0)
      for (uint32_t i = 0; i < rows; i++)
        narrow[i] |= (uint32_t)plane[i] << (8 * k);
  }
  uint64_t upper = constant & ~(uint64_t)UINT32_MAX;
  for (uint32_t i = 0; i < rows; i++)
    residual[i] = narrow[i] | upper;
  for (unsigned k = 4; k < plane_count; k++) {
    const uint8_t *restrict plane = planes + (size_t)k * CHUNK_ROWS_MAXIMUM;
    if ((used >> k & 1) != 0)
      for (uint32_t i = 0; i < rows; i++)
        residual[i] |= (uint64_t)plane[i] << (8 * k);
  }
}

KERNEL_TARGET static inline uint64_t KERNEL(store_block)(enum chunk_type type, const uint64_t *restrict value,
                                                         uint32_t from, uint32_t rows, void *ret_values)
{
  uint64_t bits = 0;
  if (type == CHUNK_INT64) {
    memcpy((uint64_t *)ret_values + from, value, rows * sizeof *value);
  } else if (type == CHUNK_UINT32) {
    uint32_t *restrict to = (uint32_t *)ret_values + from;
    for (uint32_t i = 0; i < rows; i++) {
      to[i] = (uint32_t)value[i];
      bits |= value[i] >> 32;
    }
  } else {
    uint8_t *restrict to = (uint8_t *)ret_values + from;
    for (uint32_t i = 0; i < rows; i++) {
      to[i] = (uint8_t)value[i];
      bits |= value[i] >> 8;
    }
  }
  return bits;
}

KERNEL_TARGET static bool KERNEL(merge)(enum chunk_type type, const uint8_t *planes, unsigned plane_count,
                                        unsigned used, uint64_t constant, bool delta, uint64_t base, uint32_t count,
                                        void *ret_values)
{
  uint64_t residual[BLOCK];
  uint64_t last = base, too_large = 0;
  for (uint32_t from = 0; from < count; from += BLOCK) {
    uint32_t rows = count - from < BLOCK ? count - from : BLOCK;
    KERNEL(join_block)(planes + from, plane_count, used, constant, rows, residual);
    if (delta) {
      for (uint32_t i = 0; i < rows; i++)
        residual[i] = (residual[i] >> 1) ^ (~(residual[i] & 1) + 1);
      for (uint32_t i = 0; i < rows; i++) {
        last += residual[i];
        residual[i] = last;
      }
    } else {
      for (uint32_t i = 0; i < rows; i++)
        residual[i] += base;
    }
    too_large |= KERNEL(store_block)(type, residual, from, rows, ret_values);
  }
  return too_large == 0;
}
