// SPDX-License-Identifier: Apache-2.0
// What importers ask of the values of a trace event: numbers, and arguments by key. Pure.
#include "importers/trace_events/trace_events.h"

#include "base/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Without the reader's help: negative numbers, long ones, and numbers in quotes.
bool trace_any_int64(const struct trace_value *value, int64_t *ret_value)
{
  return (value->type == TRACE_NUMBER || value->type == TRACE_STRING) && slice_int64(value->raw, ret_value);
}

static bool is_digit(char byte)
{
  return byte >= '0' && byte <= '9';
}

// "12.375": digits and fraction of at most 15 digits together are a whole number that a double holds exactly, and so is
// the power of ten below it, so that one division gives the nearest double.
static bool read_short_decimal(struct slice text, double *ret_number)
{
  static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const char *at = text.data, *end = at + text.length, *point = NULL;
  bool is_negative = at < end && *at == '-';
  at += is_negative;
  if (end - at > 16)
    return false;
  int64_t digits = 0;
  for (; at < end; at++) {
    if (*at == '.' && point == NULL)
      point = at;
    else if (is_digit(*at))
      digits = digits * 10 + (*at - '0');
    else
      return false;
  }
  if (point == NULL)
    return false;
  double number = (double)digits / powers[end - point - 1];
  *ret_number = is_negative ? -number : number;
  return true;
}

#define NUMBER_MOST 400 // characters; digits after these change no double that matters

bool trace_double(const struct trace_value *value, double *ret_value)
{
  char copy[NUMBER_MOST + 1];
  if (value->type == TRACE_NUMBER && read_short_decimal(value->raw, ret_value))
    return true;
  if (value->type != TRACE_NUMBER || value->raw.length > NUMBER_MOST)
    return false;
  memcpy(copy, value->raw.data, value->raw.length);
  copy[value->raw.length] = 0;
  double number = strtod(copy, NULL);
  if (!isfinite(number))
    return false;
  *ret_value = number;
  return true;
}

const struct trace_argument *trace_find(const struct trace_event *event, const char *key)
{
  for (size_t i = event->argument_count; i > 0; i--)
    if (slice_is(event->arguments[i - 1].key, key))
      return &event->arguments[i - 1];
  return NULL;
}
