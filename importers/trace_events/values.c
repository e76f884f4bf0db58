// SPDX-License-Identifier: Apache-2.0
// What importers ask of the values of a trace event: numbers, and arguments by key. Pure.
#include "importers/trace_events/trace_events.h"

#include "base/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool trace_is_fraction(struct slice number)
{
  for (size_t i = 0; i < number.length; i++)
    if (number.data[i] == '.' || number.data[i] == 'e' || number.data[i] == 'E')
      return true;
  return false;
}

// Without the reader's help: negative numbers, long ones, and numbers in quotes.
bool trace_any_int64(const struct trace_value *value, int64_t *ret_value)
{
  return (value->type == TRACE_NUMBER || value->type == TRACE_STRING) && slice_int64(value->raw, ret_value);
}

#define NUMBER_MOST 400 // characters; digits after these change no double that matters

bool trace_double(const struct trace_value *value, double *ret_value)
{
  char copy[NUMBER_MOST + 1];
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
