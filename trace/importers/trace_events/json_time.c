// SPDX-License-Identifier: Apache-2.0
// Exact decimal arithmetic on the text of two numbers; see trace_events_private.h. Called for trace events whose times have a sign,
// an exponent, or more digits than nearly all have.
//
// A number is taken apart into whole nanoseconds, rounded down, and a fraction of one in [0, 1), whose digits stay in the
// text:
//
//      12345.6789e-1 µs  =   1234567 ns + 0.89 ns          -12345.6789e-1 µs  =  -1234568 ns + 0.11 ns
#include "importers/trace_events/trace_events_private.h"

#define WHOLE_MOST ((__int128)1 << 100) // as good as infinite
#define EXPONENT_MOST 1000000000

struct decimal {
  __int128 whole_ns;
  const char *digits; // the mantissa's, with its point somewhere among them
  int64_t integer_digits, digit_count;
  int64_t point;   // so many of the digits are whole nanoseconds; may be negative or beyond them all
  bool complement; // the fraction is 1 less that of the text
};

static bool is_digit(const char *at, const char *end)
{
  return at < end && *at >= '0' && *at <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
  while (is_digit(at, end))
    at++;
  return at;
}

bool json_time_is_number(const char *text, size_t length)
{
  const char *at = text, *end = text + length;
  if (at < end && *at == '-')
    at++;
  if (!is_digit(at, end))
    return false;
  at = *at == '0' ? at + 1 : skip_digits(at, end);
  if (at < end && *at == '.') {
    if (!is_digit(at + 1, end))
      return false;
    at = skip_digits(at + 1, end);
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '+' || *at == '-'))
      at++;
    if (!is_digit(at, end))
      return false;
    at = skip_digits(at, end);
  }
  return at == end;
}

static int digit_at(const struct decimal *decimal, int64_t i)
{
  if (i < 0 || i >= decimal->digit_count)
    return 0;
  return decimal->digits[i < decimal->integer_digits ? i : i + 1] - '0';
}

// Digit `i` of the fraction. Its last digit is not 0: read_decimal cuts zeros off.
static int fraction_digit(const struct decimal *decimal, int64_t i)
{
  int digit = digit_at(decimal, decimal->point + i);
  if (!decimal->complement)
    return digit;
  int64_t last = decimal->digit_count - decimal->point - 1;
  return i < last ? 9 - digit : i == last ? 10 - digit : 0;
}

static int64_t read_exponent(const char *at, const char *end)
{
  bool down = *at == '-';
  int64_t exponent = 0;
  if (*at == '-' || *at == '+')
    at++;
  for (; at < end; at++)
    exponent = exponent < EXPONENT_MOST ? exponent * 10 + (*at - '0') : EXPONENT_MOST;
  return down ? -exponent : exponent;
}

static struct decimal read_decimal(const char *at, size_t length)
{
  const char *end = at + length;
  bool negative = *at == '-';
  if (negative)
    at++;
  struct decimal decimal = {.digits = at};
  at = skip_digits(at, end);
  decimal.integer_digits = decimal.digit_count = at - decimal.digits;
  if (at < end && *at == '.') {
    at = skip_digits(at + 1, end);
    decimal.digit_count = at - decimal.digits - 1;
  }
  decimal.point = decimal.integer_digits + 3; // µs to ns
  if (at < end)
    decimal.point += read_exponent(at + 1, end);
  while (decimal.digit_count > 0 && digit_at(&decimal, decimal.digit_count - 1) == 0)
    decimal.digit_count--;
  if (decimal.digit_count == 0) { // zero, whatever its exponent
    decimal.point = 0;
    return decimal;
  }
  int64_t first = 0;
  while (digit_at(&decimal, first) == 0)
    first++;
  for (int64_t i = first; i < decimal.point && decimal.whole_ns < WHOLE_MOST; i++)
    decimal.whole_ns = decimal.whole_ns * 10 + digit_at(&decimal, i);
  if (negative) {
    decimal.complement = decimal.digit_count > decimal.point;
    decimal.whole_ns = -decimal.whole_ns - decimal.complement;
  }
  return decimal;
}

static int64_t fraction_length(const struct decimal *decimal)
{
  return decimal->digit_count > decimal->point ? decimal->digit_count - decimal->point : 0;
}

// Zeros that an exponent puts before the digits of a fraction need not be more than the other fraction is long.
static void shorten_zeros(struct decimal *decimal, int64_t other_length)
{
  if (-decimal->point > other_length + 1)
    decimal->point = -(other_length + 1);
}

// Whether the fractions make up a whole nanosecond: the first pair of digits whose sum is not 9 says.
static bool fractions_carry(struct decimal *a, struct decimal *b)
{
  shorten_zeros(a, fraction_length(b));
  shorten_zeros(b, fraction_length(a));
  int64_t length = fraction_length(a) > fraction_length(b) ? fraction_length(a) : fraction_length(b);
  for (int64_t i = 0; i < length; i++) {
    int sum = fraction_digit(a, i) + fraction_digit(b, i);
    if (sum != 9)
      return sum > 9;
  }
  return false;
}

static bool store_ns(__int128 value, int64_t *ret_ns)
{
  if (value < INT64_MIN || value > INT64_MAX)
    return false;
  *ret_ns = (int64_t)value;
  return true;
}

bool json_time(const char *start, size_t start_length, const char *duration, size_t duration_length,
               int64_t *ret_start_ns, int64_t *ret_end_ns)
{
  struct decimal from = read_decimal(start, start_length);
  if (!store_ns(from.whole_ns, ret_start_ns))
    return false;
  *ret_end_ns = *ret_start_ns;
  if (duration == NULL)
    return true;
  struct decimal length = read_decimal(duration, duration_length);
  __int128 sum = from.whole_ns + length.whole_ns;
  return store_ns(sum + fractions_carry(&from, &length), ret_end_ns);
}
