// SPDX-License-Identifier: Apache-2.0
// The messages of opentelemetry.proto.{trace,resource,common}.v1, as far as xsp reads or writes them: one row per field,
// with its protobuf number, its JSON name, its type and its place in the message's struct. Both decoders walk this table
// and the encoder takes numbers and names from it.
#ifndef XSP_OTLP_FIELDS_H
#define XSP_OTLP_FIELDS_H

#include "otlp/otlp.h"

enum otlp_message {
  OTLP_REQUEST_MESSAGE, // TracesData and ExportTraceServiceRequest
  OTLP_RESOURCE_SPANS_MESSAGE,
  OTLP_SCOPE_SPANS_MESSAGE,
  OTLP_RESOURCE_MESSAGE,
  OTLP_SCOPE_MESSAGE, // into a struct slice: its name
  OTLP_SPAN_MESSAGE,
  OTLP_EVENT_MESSAGE,
  OTLP_LINK_MESSAGE,
  OTLP_STATUS_MESSAGE, // into the span
  OTLP_PAIR_MESSAGE,   // KeyValue, into a struct otlp_attribute
  OTLP_VALUE_MESSAGE,  // AnyValue
  OTLP_VALUES_MESSAGE, // ArrayValue and KeyValueList
  OTLP_MESSAGE_COUNT,
};

// X(message, field, number, wire type, JSON name, what it is). What it is, in the words of fields.c:
//   SCALAR(form, place): TEXT, RAW (16 bytes, in JSON the text that encodes them), ID or TIME; ENUM(place, names)
//   MESSAGE(message, place): one message; ITEMS(message, list): any number of them, into a list of struct otlp_parts
//   LIST(message): any number of them, for the visitor; HEAD(message): one of them, visited before the list
//   VALUE(type): what a struct otlp_value holds
//   UNREAD: written only
#define OTLP_FIELDS(X)                                                                                                 \
  X(REQUEST, RESOURCE_SPANS, 1, BYTES, "resourceSpans", LIST(RESOURCE_SPANS))                                          \
  X(RESOURCE_SPANS, RESOURCE, 1, BYTES, "resource", HEAD(RESOURCE))                                                    \
  X(RESOURCE_SPANS, SCOPE_SPANS, 2, BYTES, "scopeSpans", LIST(SCOPE_SPANS))                                            \
  X(SCOPE_SPANS, SCOPE, 1, BYTES, "scope", HEAD(SCOPE))                                                                \
  X(SCOPE_SPANS, SPANS, 2, BYTES, "spans", LIST(SPAN))                                                                 \
  X(RESOURCE, ATTRIBUTES, 1, BYTES, "attributes", ITEMS(PAIR, attributes))                                             \
  X(SCOPE, NAME, 1, BYTES, "name", SCALAR(TEXT, 0))                                                                    \
  X(SCOPE, VERSION, 2, BYTES, "version", UNREAD)                                                                       \
  X(SPAN, TRACE_ID, 1, BYTES, "traceId", SCALAR(RAW, offsetof(struct otlp_span, trace_id)))                            \
  X(SPAN, ID, 2, BYTES, "spanId", SCALAR(ID, offsetof(struct otlp_span, span_id)))                                     \
  X(SPAN, TRACE_STATE, 3, BYTES, "traceState", SCALAR(TEXT, offsetof(struct otlp_span, trace_state)))                  \
  X(SPAN, PARENT_ID, 4, BYTES, "parentSpanId", SCALAR(ID, offsetof(struct otlp_span, parent_id)))                      \
  X(SPAN, NAME, 5, BYTES, "name", SCALAR(TEXT, offsetof(struct otlp_span, name)))                                      \
  X(SPAN, KIND, 6, VARINT, "kind", ENUM(offsetof(struct otlp_span, kind), KINDS))                                      \
  X(SPAN, START, 7, FIXED64, "startTimeUnixNano", SCALAR(TIME, offsetof(struct otlp_span, start_ns)))                  \
  X(SPAN, END, 8, FIXED64, "endTimeUnixNano", SCALAR(TIME, offsetof(struct otlp_span, end_ns)))                        \
  X(SPAN, ATTRIBUTES, 9, BYTES, "attributes", ITEMS(PAIR, attributes))                                                 \
  X(SPAN, EVENTS, 11, BYTES, "events", ITEMS(EVENT, events))                                                           \
  X(SPAN, LINKS, 13, BYTES, "links", ITEMS(LINK, links))                                                               \
  X(SPAN, STATUS, 15, BYTES, "status", MESSAGE(STATUS, 0))                                                             \
  X(EVENT, TIME, 1, FIXED64, "timeUnixNano", SCALAR(TIME, offsetof(struct otlp_event, time_ns)))                       \
  X(EVENT, NAME, 2, BYTES, "name", SCALAR(TEXT, offsetof(struct otlp_event, name)))                                    \
  X(EVENT, ATTRIBUTES, 3, BYTES, "attributes", ITEMS(PAIR, inner))                                                     \
  X(LINK, TRACE_ID, 1, BYTES, "traceId", SCALAR(RAW, offsetof(struct otlp_link, trace_id)))                            \
  X(LINK, SPAN_ID, 2, BYTES, "spanId", SCALAR(ID, offsetof(struct otlp_link, span_id)))                                \
  X(LINK, ATTRIBUTES, 4, BYTES, "attributes", ITEMS(PAIR, inner))                                                      \
  X(STATUS, TEXT, 2, BYTES, "message", SCALAR(TEXT, offsetof(struct otlp_span, status_message)))                       \
  X(STATUS, CODE, 3, VARINT, "code", ENUM(offsetof(struct otlp_span, status_code), CODES))                             \
  X(PAIR, KEY, 1, BYTES, "key", SCALAR(TEXT, offsetof(struct otlp_attribute, key)))                                    \
  X(PAIR, VALUE, 2, BYTES, "value", MESSAGE(VALUE, offsetof(struct otlp_attribute, value)))                            \
  X(VALUE, STRING, 1, BYTES, "stringValue", VALUE(OTLP_TEXT))                                                          \
  X(VALUE, BOOL, 2, VARINT, "boolValue", VALUE(OTLP_BOOL))                                                             \
  X(VALUE, INT, 3, VARINT, "intValue", VALUE(OTLP_INT))                                                                \
  X(VALUE, DOUBLE, 4, FIXED64, "doubleValue", VALUE(OTLP_DOUBLE))                                                      \
  X(VALUE, ARRAY, 5, BYTES, "arrayValue", VALUE(OTLP_ARRAY))                                                           \
  X(VALUE, MAP, 6, BYTES, "kvlistValue", VALUE(OTLP_MAP))                                                              \
  X(VALUE, BYTES, 7, BYTES, "bytesValue", VALUE(OTLP_BYTES))                                                           \
  X(VALUES, VALUES, 1, BYTES, "values", LIST(VALUE))
#define OTLP_SPAN_KIND_INTERNAL 1

#define OTLP_NUMBERS 16 // of a message's fields: all are smaller, so a key on the wire is one byte
enum otlp_field_id {
#define X(message, field, number, ...) OTLP_##message##_##field = OTLP_##message##_MESSAGE * OTLP_NUMBERS + (number),
  OTLP_FIELDS(X)
#undef X
};

enum otlp_form {
  OTLP_FORM_NONE, // there is no such field
  OTLP_FORM_UNREAD,
  OTLP_FORM_HEAD,
  OTLP_FORM_LIST,
  OTLP_FORM_ITEMS,
  OTLP_FORM_MESSAGE,
  OTLP_FORM_TEXT,
  OTLP_FORM_RAW,
  OTLP_FORM_ID,
  OTLP_FORM_TIME,
  OTLP_FORM_ENUM,
  OTLP_FORM_VALUE,
};
enum otlp_names { OTLP_KINDS, OTLP_CODES };
struct otlp_step {
  uint8_t form;    // enum otlp_form
  uint8_t inner;   // HEAD, LIST, ITEMS, MESSAGE: enum otlp_message; VALUE: enum otlp_type; ENUM: enum otlp_names
  uint16_t offset; // of its place in the message's struct; ITEMS: of its list in struct otlp_parts
};
struct otlp_field {
  const char *name; // in JSON
  uint8_t name_length;
  uint8_t key; // on the wire
  struct otlp_step step;
};
#define OTLP_KEYS (8 * OTLP_NUMBERS)
extern const struct otlp_step otlp_steps[OTLP_MESSAGE_COUNT * OTLP_KEYS];      // by message and key on the wire
extern const struct otlp_field otlp_fields[OTLP_MESSAGE_COUNT * OTLP_NUMBERS]; // by enum otlp_field_id

// The field of a message by its JSON name, in lowerCamelCase or snake_case; NULL: none. *hint, which starts as 1, is the
// number to try first and becomes the one after what was found: fields mostly come in order.
const struct otlp_field *otlp_field_named(enum otlp_message message, struct slice name, unsigned *hint);
// The field of a key on the wire, whatever its wire type; NULL: no field that is read.
static inline const struct otlp_field *otlp_field_on_wire(enum otlp_message message, uint64_t key)
{
  const struct otlp_field *field = &otlp_fields[message * OTLP_NUMBERS + (key < OTLP_KEYS ? key >> 3 : 0)];
  return field->step.form > OTLP_FORM_UNREAD ? field : NULL;
}
static inline unsigned otlp_number(enum otlp_field_id field) // in protobuf
{
  return (unsigned)field % OTLP_NUMBERS;
}

// ---- what both decoders collect a span in ----------------------------------------------------------------------------
struct otlp_list { // a vector of any type
  void *items;
  size_t count, capacity;
};
struct otlp_parts { // starts as {0}; the lists grow to the largest span and are used again for the next one
  struct otlp_span span;
  struct otlp_list attributes, inner, events, links; // inner: attributes of events and links
};
#define OTLP_TOO_MANY "more than 65536 attributes, events or links in one span"
static inline void otlp_parts_clear(struct otlp_parts *parts, bool is_json)
{
  struct otlp_span *span = &parts->span; // member by member: compilers clear a struct of this size slowly
  span->is_json = is_json;
  span->trace_id = span->name = span->trace_state = span->status_message = (struct slice){NULL, 0};
  span->span_id = span->parent_id = (struct otlp_id){0, OTLP_ID_NONE};
  span->start_ns = 0;
  span->end_ns = OTLP_NO_TIME;
  span->kind = span->status_code = 0;
  parts->attributes.count = parts->inner.count = parts->events.count = parts->links.count = 0;
}
// A zeroed item of an ITEMS field's list; NULL: OTLP_TOO_MANY.
void *otlp_parts_add(struct otlp_parts *parts, const struct otlp_step *step);
void otlp_parts_finish(struct otlp_parts *parts); // the span refers to the lists from here on
void otlp_parts_done(struct otlp_parts *parts);

#endif
