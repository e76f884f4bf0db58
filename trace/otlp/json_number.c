// SPDX-License-Identifier: Apache-2.0
// Numbers of OTLP's JSON: 64-bit integers come as texts or as numbers, and neither may pass through a double. Called by
// the decoder (json.c) and by the model, for numbers in texts.
#include "otlp/json.h"

// The texts of "1.25e3": digits "125", exponent 1. False: not a number.
struct decimal {
  const char *at, *end; // what digits() walks over
  long exponent;        // of the last digit
  bool is_negative;
};

static bool take_apart(struct slice text, struct decimal *ret_decimal)
{
  const char *at = text.data;
  const char *end = text.data + text.length;
  struct decimal decimal = {.is_negative = text.length > 0 && *at == '-'};
  at += decimal.is_negative;
  decimal.at = at;
  bool has_point = false;
  bool has_digit = false;
  for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !has_point)); at++) {
    decimal.exponent -= has_point;
    has_digit |= *at != '.';
    has_point |= *at == '.';
  }
  decimal.end = at;
  if (at < end && (*at == 'e' || *at == 'E')) {
    bool is_small = ++at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    long exponent = 0;
    has_digit &= at < end;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
      exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
    decimal.exponent += is_small ? -exponent : exponent;
  }
  *ret_decimal = decimal;
  return has_digit && at == end;
}

enum otlp_number_kind otlp_read_number(struct slice text, int64_t *ret_value)
{
  struct decimal decimal;
  if (!take_apart(text, &decimal))
    return OTLP_NO_NUMBER;
  uint64_t value = 0;
  const uint64_t most = decimal.is_negative ? UINT64_C(1) << 63 : INT64_MAX;
  bool fits = true;
  bool has_fraction = false;
  long left = 0; // digits from here on
  for (const char *at = decimal.at; at < decimal.end; at++)
    left += *at != '.';
  for (const char *at = decimal.at; at < decimal.end; at++) {
    if (*at == '.')
      continue;
    unsigned digit = (unsigned)(*at - '0');
    if (left-- <= -decimal.exponent)
      has_fraction |= digit != 0;
    else
      fits &= !__builtin_mul_overflow(value, 10, &value) && !__builtin_add_overflow(value, digit, &value);
  }
  for (long i = 0; i < decimal.exponent && value != 0 && fits; i++)
    fits &= !__builtin_mul_overflow(value, 10, &value);
  if (!fits || value > most)
    return OTLP_BEYOND;
  *ret_value = decimal.is_negative ? (int64_t)(0 - value) : (int64_t)value;
  return has_fraction ? OTLP_FRACTION : OTLP_WHOLE;
}
