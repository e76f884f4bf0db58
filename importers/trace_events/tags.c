// SPDX-License-Identifier: Apache-2.0
// Arguments of trace events as tags; see tags.h. Called by the importers of trace events.
#include "importers/trace_events/tags.h"

// With a point or an exponent: meant as a real number, where an int64 overflow is none.
static bool is_fraction(struct text number)
{
  for (size_t i = 0; i < number.length; i++)
    if (number.at[i] == '.' || number.at[i] == 'e' || number.at[i] == 'E')
      return true;
  return false;
}

void event_tag(struct import *import, int64_t run_id, int64_t span_id, uint32_t key, const struct trace_value *value)
{
  int64_t integer = 0;
  double real = 0;
  if (value->type == TRACE_NONE || value->type == TRACE_NULL || key == 0)
    return;
  if (value->type == TRACE_TRUE || value->type == TRACE_FALSE)
    import_tag_int(import, run_id, span_id, key, value->type == TRACE_TRUE);
  else if (value->type == TRACE_NUMBER && trace_int64(value, &integer))
    import_tag_int(import, run_id, span_id, key, integer);
  else if (value->type == TRACE_NUMBER && is_fraction(value->raw) && trace_double(value, &real))
    import_tag_double(import, run_id, span_id, key, real);
  else
    import_tag_text(import, run_id, span_id, key, import_string(import, value->raw.at, value->raw.length));
}

void event_tags(struct import *import, int64_t run_id, int64_t span_id, const struct trace_event *event)
{
  for (size_t i = 0; i < event->argument_count; i++) {
    const struct trace_argument *argument = &event->arguments[i];
    uint32_t key = import_string(import, argument->key.at, argument->key.length);
    event_tag(import, run_id, span_id, key, &argument->value);
  }
}
