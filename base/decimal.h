// SPDX-License-Identifier: Apache-2.0
// Whole numbers in decimal into a buffer, many times faster than buf_format: exports write millions. Same result as buf_put.
#ifndef XSP_BASE_DECIMAL_H
#define XSP_BASE_DECIMAL_H

#include "base/buf.h"

#include <stdint.h>

#define DECIMAL_BYTES 20 // of a number at most, with its sign

static const char decimal_pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static inline bool decimal_put(struct buf *buf, uint64_t rest, bool is_negative)
{
  char digits[DECIMAL_BYTES];
  size_t at = sizeof digits;
  for (; rest >= 100; rest /= 100)
    memcpy(digits + (at -= 2), decimal_pairs + 2 * (rest % 100), 2);
  if (rest >= 10)
    digits[--at] = decimal_pairs[2 * rest + 1];
  digits[--at] = decimal_pairs[rest >= 10 ? 2 * rest : 2 * rest + 1];
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
