// SPDX-License-Identifier: Apache-2.0
// See tensor_values.h. Called by outputs.c and layer_differences.c.
#include "experiment/evaluation/tensor_values.h"

#include <math.h>
#include <string.h>

static double from_float16(uint16_t bits)
{
  int exponent = bits >> 10 & 0x1f;
  double fraction = bits & 0x3ff, sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 0x1f)
    return fraction != 0 ? (double)NAN : sign * HUGE_VAL;
  return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25));
}

static double from_bfloat16(uint16_t bits)
{
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

#define EACH(kind, convert)                                                                                            \
  for (size_t i = 0; i < count; i++) {                                                                                 \
    kind element;                                                                                                      \
    memcpy(&element, (const char *)data + i * sizeof element, sizeof element);                                         \
    ret_values[i] = convert(element);                                                                                  \
  }                                                                                                                    \
  return true

bool tensor_values(enum tensor_type type, const void *data, size_t count, double *ret_values)
{
  switch (type) {
  case TENSOR_FLOAT:
    EACH(float, (double));
  case TENSOR_DOUBLE:
    EACH(double, (double));
  case TENSOR_FLOAT16:
    EACH(uint16_t, from_float16);
  case TENSOR_BFLOAT16:
    EACH(uint16_t, from_bfloat16);
  case TENSOR_UINT8:
  case TENSOR_BOOL:
    EACH(uint8_t, (double));
  case TENSOR_INT8:
    EACH(int8_t, (double));
  case TENSOR_UINT16:
    EACH(uint16_t, (double));
  case TENSOR_INT16:
    EACH(int16_t, (double));
  case TENSOR_INT32:
    EACH(int32_t, (double));
  case TENSOR_UINT32:
    EACH(uint32_t, (double));
  case TENSOR_INT64:
    EACH(int64_t, (double));
  case TENSOR_UINT64:
    EACH(uint64_t, (double));
  case TENSOR_STRING:
  case TENSOR_TYPES:
    break;
  }
  return false;
}
