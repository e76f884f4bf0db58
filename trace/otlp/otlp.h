// SPDX-License-Identifier: Apache-2.0
// A span of OTLP as both decoders (json.h, proto.h) hand it over. Texts are slices of what was decoded or of the decoder's
// memory: they live until the decoder's next span. One thread at a time.
#ifndef XSP_OTLP_OTLP_H
#define XSP_OTLP_OTLP_H

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OTLP_PARTS_MOST 65536u // attributes, events or links of one span; attributes of one resource
#define OTLP_VALUE_DEPTH 100u  // of nested arrays and maps: the limit of protobuf's own readers

enum otlp_type {
  OTLP_EMPTY,
  OTLP_TEXT, // also integers beyond int64: their digits
  OTLP_BOOL, // in `integer`
  OTLP_INT,
  OTLP_DOUBLE,
  OTLP_BYTES, // these three in the source's encoding; otlp_value_text makes them readable
  OTLP_ARRAY,
  OTLP_MAP,
};
struct otlp_value {
  uint8_t type; // enum otlp_type
  bool is_json; // BYTES, ARRAY, MAP: JSON, else protobuf
  union {
    int64_t integer;
    double real;
    struct slice text;
  };
};
struct otlp_attribute {
  struct slice key;
  struct otlp_value value;
};

enum otlp_id_state { OTLP_ID_NONE, OTLP_ID_GIVEN, OTLP_ID_BAD };
struct otlp_id { // of a span: 8 bytes, the first one is the highest
  uint64_t number;
  enum otlp_id_state state;
};
struct otlp_range { // of span.inner
  size_t first, count;
};
struct otlp_event {
  struct otlp_range attributes; // first member, as in struct otlp_link
  int64_t time_ns;
  struct slice name;
};
struct otlp_link {
  struct otlp_range attributes;
  struct slice trace_id;
  struct otlp_id span_id;
};
#define OTLP_NO_TIME INT64_C(-1) // times are not negative
struct otlp_span {
  struct slice trace_id; // 16 bytes; JSON: their 32 hex digits, or whatever the source has there
  bool is_json;          // which of the two
  struct otlp_id span_id, parent_id;
  int64_t start_ns, end_ns;   // 0 without a start, OTLP_NO_TIME without an end or with 0
  uint64_t kind, status_code; // OTLP's SpanKind and StatusCode
  struct slice name, trace_state, status_message;
  const struct otlp_attribute *attributes, *inner; // inner: of events and links
  const struct otlp_event *events;
  const struct otlp_link *links;
  size_t attribute_count, event_count, link_count;
};
// Whether the trace id is one: 16 bytes, not all 0; in JSON their hex digits.
bool otlp_has_trace_id(const struct otlp_span *span);

// Called by a decoder in the order of the source: a resource before its spans, a scope before its spans. A status other
// than STATUS_OK ends the decoding, which returns it.
struct otlp_visitor {
  void *context;
  enum status (*resource)(void *context, const struct otlp_attribute *attributes, size_t count, struct error *err);
  enum status (*scope)(void *context, struct slice name, struct error *err);
  enum status (*span)(void *context, const struct otlp_span *span, struct error *err);
};

// ---- value.c: values as text, for tags that hold arrays, maps or bytes, and as numbers. Pure.
// Appends a value as text: a TEXT as it is, numbers and truth values as in JSON, BYTES as base64, ARRAY and MAP as
// compact JSON. The same for values from JSON and from protobuf. NULL, or why the value is broken (static text).
struct otlp_unknown; // unknown.h; NULL: nobody asks
const char *otlp_value_text(const struct otlp_value *value, struct otlp_unknown *unknown, struct buf *out);
// A whole number, also as text; false: the value is none.
bool otlp_value_int(const struct otlp_value *value, int64_t *ret_number);
// Appends attributes as one JSON object. Returns as above.
const char *otlp_attributes_text(const struct otlp_attribute *attributes, size_t count, struct otlp_unknown *unknown,
                                 struct buf *out);
void otlp_text_json(struct slice text, struct buf *out);

#endif
