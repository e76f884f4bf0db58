// SPDX-License-Identifier: Apache-2.0
// What the two halves of the reader of trace events share: trace_events.c walks the document, read.c reads
// one event. Private to them.
#ifndef XSP_IMPORTERS_TRACE_EVENTS_PRIVATE_H
#define XSP_IMPORTERS_TRACE_EVENTS_PRIVATE_H

#include "base/json_scan.h"
#include "importers/trace_events/shapes.h"

enum trace_place {      // in this order: trace_next compares
  PLACE_START,          // before the document
  PLACE_FIRST_KEY,      // after the '{' of the top object
  PLACE_KEY,            // after a comma of it
  PLACE_AFTER_VALUE,    // after a value of it
  PLACE_FIRST_EVENT,    // after the '[' of the events
  PLACE_EVENT,          // after a comma of them
  PLACE_AFTER_EVENT,    // after an event
  PLACE_AFTER_DOCUMENT, // nothing but space may follow
};

#define SCRATCH_BYTES ((size_t)64 << 10)
#define ARGUMENTS_FIRST 64 // room for more comes when it is needed
#define ARGUMENTS_MOST 65536

struct trace_reader_private {
  struct input *input;
  enum trace_place place;
  bool is_bare_array;
  bool seen_event;
  struct json_scan scan;
  struct trace_argument *arguments;
  size_t argument_capacity;
  char *scratch; // decoded strings of the present event: SCRATCH_BYTES, then the arena
  size_t scratch_used;
  struct arena more_scratch;
  struct shapes shapes;
  struct trace_value fields[FIELD_COUNT + 1]; // of the present event; what is no TRACE_NONE counts
};

// At an event's opening brace, within `depth` containers. Returns the position after it, or NULL as scanners do.
const char *trace_read_event(struct trace_reader_private *own, const char *at, unsigned depth,
                             struct trace_event *event);
const char *trace_read_value(struct trace_reader_private *own, const char *at, unsigned depth,
                             struct trace_value *ret_value);
// A key, its colon, and the space around them. *ret_is_plain becomes false where the key was decoded.
const char *trace_read_key(struct trace_reader_private *own, const char *at, struct slice *ret_key, bool *ret_is_plain);

// ---- json_time.c: times as traces write them: decimal microseconds with any number of digits, read exactly. Pure.
// Both texts must be JSON numbers. start = ⌊start µs⌋ and end = ⌊start µs + duration µs⌋ in ns, computed exactly;
// `duration` NULL: end = start. False where one does not fit an int64.
bool json_time(const char *start, size_t start_length, const char *duration, size_t duration_length,
               int64_t *ret_start_ns, int64_t *ret_end_ns);

// Whether all of the text is one JSON number.
bool json_time_is_number(const char *text, size_t length);

#endif
