// SPDX-License-Identifier: Apache-2.0
// Sums and differences of numbers that may come from anybody: beyond int64 they stay at its end.
#ifndef XSP_BASE_SATURATE_H
#define XSP_BASE_SATURATE_H

#include <stdint.h>

static inline int64_t saturate_add(int64_t a, int64_t b)
{
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline int64_t saturate_subtract(int64_t a, int64_t b)
{
  int64_t difference;
  return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}

#endif
