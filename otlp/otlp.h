// SPDX-License-Identifier: Apache-2.0
// A span of OTLP as the decoders (otlp_json.c, otlp_proto.c) hand it over and the model (otlp_runs.c, otlp_spans.c) takes
// it in. Private to collect. Texts are slices of what was decoded or of the decoder's scratch: they live until the
// decoder's next span. One thread at a time.
#ifndef XSP_OTLP_OTLP_H
#define XSP_OTLP_OTLP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTLP_PARTS_MOST 65536u // attributes, events or links of one span; attributes of one resource
#define OTLP_VALUE_DEPTH 100u  // arrays and maps in each other: what protobuf's own readers allow

struct otlp_text {
  const char *at;
  size_t length;
};

enum otlp_type {
  OTLP_EMPTY,
  OTLP_TEXT, // also integers that no int64 holds: their digits
  OTLP_BOOL, // in `integer`
  OTLP_INT,
  OTLP_DOUBLE,
  OTLP_BYTES, // these three as they stand in the source; otlp_value_text makes them readable
  OTLP_ARRAY,
  OTLP_MAP,
};
struct otlp_value {
  uint8_t type; // enum otlp_type
  bool is_json; // BYTES, ARRAY, MAP: JSON, else protobuf
  union {
    int64_t integer;
    double real;
    struct otlp_text text;
  };
};
struct otlp_attribute {
  struct otlp_text key;
  struct otlp_value value;
};

enum otlp_id_state { OTLP_ID_NONE, OTLP_ID_GIVEN, OTLP_ID_BAD };
struct otlp_id { // of a span: 8 bytes, the first one is the highest
  uint64_t number;
  enum otlp_id_state state;
};
struct otlp_event {
  int64_t time_ns;
  struct otlp_text name;
  size_t first, count; // of span.inner
};
struct otlp_link {
  struct otlp_text trace_id;
  struct otlp_id span_id;
  size_t first, count;
};
struct otlp_span {
  struct otlp_text trace_id; // 16 bytes, or what stands for them in JSON: 32 hex digits
  bool is_json;              // which of the two
  bool has_start, has_end;
  struct otlp_id span_id, parent_id;
  int64_t start_ns, end_ns;
  uint64_t kind, status_code; // OTLP's SpanKind and StatusCode
  struct otlp_text name, trace_state, status_message;
  const struct otlp_attribute *attributes, *inner; // inner: of events and links
  const struct otlp_event *events;
  const struct otlp_link *links;
  size_t attribute_count, event_count, link_count;
};

// What a decoder calls, in the order of the source: a resource before its spans, a scope before its own. A status other
// than STATUS_OK ends the decoding and is what the decoder returns.
struct otlp_visitor {
  void *context;
  enum status (*resource)(void *context, const struct otlp_attribute *attributes, size_t count, struct error *err);
  enum status (*scope)(void *context, struct otlp_text name, struct error *err);
  enum status (*span)(void *context, const struct otlp_span *span, struct error *err);
};

// ---- what both decoders collect a span in ----------------------------------------------------------------------------
struct otlp_parts { // starts as {0}
  struct otlp_span span;
  struct otlp_attribute *attributes, *inner;
  struct otlp_event *events;
  struct otlp_link *links;
  size_t attribute_count, inner_count, event_count, link_count;
  size_t attribute_capacity, inner_capacity, event_capacity, link_capacity;
};
static inline void otlp_parts_clear(struct otlp_parts *parts, bool is_json)
{
  parts->span = (struct otlp_span){.is_json = is_json};
  parts->attribute_count = parts->inner_count = parts->event_count = parts->link_count = 0;
}
// One more, all zero; NULL: there are too many, or memory is out.
struct otlp_attribute *otlp_parts_attribute(struct otlp_parts *parts);
// The same on the hot path, not cleared; NULL: use the other one.
static inline struct otlp_attribute *otlp_parts_ready_attribute(struct otlp_parts *parts)
{
  return parts->attribute_count < parts->attribute_capacity ? &parts->attributes[parts->attribute_count] : NULL;
}
struct otlp_attribute *otlp_parts_inner(struct otlp_parts *parts);
struct otlp_event *otlp_parts_event(struct otlp_parts *parts);
struct otlp_link *otlp_parts_link(struct otlp_parts *parts);
#define OTLP_TOO_MANY "more than 65536 attributes, events or links in one span"
static inline void otlp_parts_finish(struct otlp_parts *parts) // the span's arrays are in place from here on
{
  parts->span.attributes = parts->attributes;
  parts->span.attribute_count = parts->attribute_count;
  parts->span.inner = parts->inner;
  parts->span.events = parts->events;
  parts->span.event_count = parts->event_count;
  parts->span.links = parts->links;
  parts->span.link_count = parts->link_count;
}
void otlp_parts_done(struct otlp_parts *parts);

#endif
