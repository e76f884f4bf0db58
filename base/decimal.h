// SPDX-License-Identifier: Apache-2.0
// Whole numbers in decimal into a buffer, many times faster than buf_format: exports write millions. Same result as buf_put.
#ifndef XSP_BASE_DECIMAL_H
#define XSP_BASE_DECIMAL_H

#include "base/buf.h"

#include <stdint.h>

static inline bool decimal_put(struct buf *buf, uint64_t rest, bool is_negative)
{
  char digits[20];
  size_t at = sizeof digits;
  do
    digits[--at] = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (is_negative)
    digits[--at] = '-';
  return buf_put(buf, digits + at, sizeof digits - at);
}

static inline bool decimal_int(struct buf *buf, int64_t value)
{
  return decimal_put(buf, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
}

static inline bool decimal_unsigned(struct buf *buf, uint64_t value)
{
  return decimal_put(buf, value, false);
}

#endif
