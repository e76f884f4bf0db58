// SPDX-License-Identifier: Apache-2.0
// What importers ask of the values of a trace event: numbers, and arguments by key. Pure.
#include "importers/trace_events/trace_events.h"

#include "base/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool text_is(struct text text, const char *literal)
{
  size_t length = strlen(literal);
  return text.length == length && memcmp(text.at, literal, length) == 0;
}

bool trace_is_fraction(struct text number)
{
  for (size_t i = 0; i < number.length; i++)
    if (number.at[i] == '.' || number.at[i] == 'e' || number.at[i] == 'E')
      return true;
  return false;
}

// Without the reader's help: negative numbers, long ones, and numbers in quotes.
bool trace_any_int64(const struct trace_value *value, int64_t *ret_value)
{
  if (value->type != TRACE_NUMBER && value->type != TRACE_STRING)
    return false;
  const char *at = value->raw.at;
  const char *end = at + value->raw.length;
  bool negative = at < end && *at == '-';
  if (negative)
    at++;
  if (at == end)
    return false;
  uint64_t limit = negative ? UINT64_C(1) << 63 : INT64_MAX;
  uint64_t number = 0;
  for (; at < end; at++) {
    if (*at < '0' || *at > '9')
      return false;
    uint64_t digit = (uint64_t)(*at - '0');
    if (number > (limit - digit) / 10)
      return false;
    number = number * 10 + digit;
  }
  *ret_value = negative ? (int64_t)(0 - number) : (int64_t)number;
  return true;
}

#define NUMBER_MOST 400 // characters; digits after these change no double that matters

bool trace_double(const struct trace_value *value, double *ret_value)
{
  char copy[NUMBER_MOST + 1];
  if (value->type != TRACE_NUMBER || value->raw.length > NUMBER_MOST)
    return false;
  memcpy(copy, value->raw.at, value->raw.length);
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
    if (text_is(event->arguments[i - 1].key, key))
      return &event->arguments[i - 1];
  return NULL;
}
