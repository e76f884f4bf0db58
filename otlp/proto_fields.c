// SPDX-License-Identifier: Apache-2.0
// The fields of OTLP's protobuf, whatever they look like: values, attributes, events, links, all fields of a span. Called
// by otlp_proto.c for what is not as usual, and by otlp_proto_value.c.
#include "base/json_scan.h"
#include "base/utf8.h"
#include "otlp/attributes.h"
#include "otlp/proto.h"

#define NOT_UTF8 "a text is not UTF-8"

bool otlp_proto_text(struct wire *wire, struct otlp_text *ret_text)
{
  if (!wire_bytes(wire, &ret_text->at, &ret_text->length))
    return false;
  return utf8_is_ascii(ret_text->at, ret_text->length) || json_is_utf8(ret_text->at, ret_text->length) ||
         wire_fail(wire, NOT_UTF8);
}

bool otlp_proto_skip(struct wire *wire, uint64_t key, uint32_t known)
{
  uint64_t field = key >> 3;
  if (field < 32 && (known >> field & 1) != 0)
    return wire_fail(wire, OTLP_WRONG_TYPE);
  return wire_skip(wire, key);
}
// ---- values ----------------------------------------------------------------------------------------------------------
static bool read_raw(struct wire *wire, enum otlp_type type, struct otlp_value *ret_value)
{
  *ret_value = (struct otlp_value){.type = (uint8_t)type};
  return wire_bytes(wire, &ret_value->text.at, &ret_value->text.length);
}

// Of several values the last one counts.
bool otlp_proto_value(struct wire *outer, struct otlp_value *ret_value)
{
  const char *message;
  size_t length;
  if (!wire_bytes(outer, &message, &length))
    return false;
  struct wire wire = wire_over(message, length);
  uint64_t key, number;
  bool ok = true;
  while (ok && otlp_proto_key(&wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_VALUE_STRING, WIRE_BYTES):
      *ret_value = (struct otlp_value){.type = OTLP_TEXT};
      ok = otlp_proto_text(&wire, &ret_value->text);
      break;
    case WIRE_KEY(OTLP_VALUE_BOOL, WIRE_VARINT):
      ok = wire_varint(&wire, &number);
      *ret_value = (struct otlp_value){.type = OTLP_BOOL, .integer = ok && number != 0};
      break;
    case WIRE_KEY(OTLP_VALUE_INT, WIRE_VARINT):
      ok = wire_varint(&wire, &number);
      *ret_value = (struct otlp_value){.type = OTLP_INT, .integer = ok ? (int64_t)number : 0};
      break;
    case WIRE_KEY(OTLP_VALUE_DOUBLE, WIRE_FIXED64):
      ok = wire_fixed64(&wire, &number);
      *ret_value = (struct otlp_value){.type = OTLP_DOUBLE};
      if (ok)
        memcpy(&ret_value->real, &number, sizeof number);
      break;
    case WIRE_KEY(OTLP_VALUE_ARRAY, WIRE_BYTES):
      ok = read_raw(&wire, OTLP_ARRAY, ret_value);
      break;
    case WIRE_KEY(OTLP_VALUE_MAP, WIRE_BYTES):
      ok = read_raw(&wire, OTLP_MAP, ret_value);
      break;
    case WIRE_KEY(OTLP_VALUE_BYTES, WIRE_BYTES):
      ok = read_raw(&wire, OTLP_BYTES, ret_value);
      break;
    default:
      ok = otlp_proto_skip(&wire, key,
                           OTLP_FIELD(OTLP_VALUE_STRING) | OTLP_FIELD(OTLP_VALUE_BOOL) | OTLP_FIELD(OTLP_VALUE_INT) |
                               OTLP_FIELD(OTLP_VALUE_DOUBLE) | OTLP_FIELD(OTLP_VALUE_ARRAY) |
                               OTLP_FIELD(OTLP_VALUE_MAP) | OTLP_FIELD(OTLP_VALUE_BYTES));
    }
  }
  if (wire.problem == NULL)
    return true;
  outer->at = wire.at;
  return wire_fail(outer, wire.problem);
}

bool otlp_proto_pair(struct wire *outer, struct otlp_attribute *attribute)
{
  const char *message;
  size_t length;
  if (!wire_bytes(outer, &message, &length))
    return false;
  struct wire wire = wire_over(message, length);
  uint64_t key;
  bool ok = true;
  while (ok && otlp_proto_key(&wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_PAIR_KEY, WIRE_BYTES):
      ok = otlp_proto_text(&wire, &attribute->key);
      break;
    case WIRE_KEY(OTLP_PAIR_VALUE, WIRE_BYTES):
      ok = otlp_proto_value(&wire, &attribute->value);
      break;
    default:
      ok = otlp_proto_skip(&wire, key, OTLP_FIELD(OTLP_PAIR_KEY) | OTLP_FIELD(OTLP_PAIR_VALUE));
    }
  }
  if (wire.problem == NULL)
    return true;
  outer->at = wire.at;
  return wire_fail(outer, wire.problem);
}

bool otlp_proto_attribute(struct wire *wire, struct otlp_attribute *attribute)
{
  return attribute != NULL ? otlp_proto_pair(wire, attribute) : wire_fail(wire, OTLP_TOO_MANY);
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static bool read_id(struct wire *wire, struct otlp_id *ret_id)
{
  const char *bytes;
  size_t length;
  if (!wire_bytes(wire, &bytes, &length))
    return false;
  *ret_id = (struct otlp_id){0, OTLP_ID_BAD};
  if (length > 8)
    return true;
  for (size_t i = 0; i < length; i++)
    ret_id->number = ret_id->number << 8 | (unsigned char)bytes[i];
  ret_id->state = ret_id->number != 0 ? OTLP_ID_GIVEN : OTLP_ID_NONE;
  return true;
}

static bool read_time(struct wire *wire, int64_t *ret_time_ns)
{
  uint64_t number;
  if (!wire_fixed64(wire, &number))
    return false;
  *ret_time_ns = (int64_t)number;
  return number <= INT64_MAX || wire_fail(wire, "a time is beyond int64 nanoseconds");
}

// Hands a message inside on to `read`, and its problem out.
#define INNER(wire_, read_, ...)                                                                                       \
  do {                                                                                                                 \
    const char *message_;                                                                                              \
    size_t length_;                                                                                                    \
    if (!wire_bytes(wire_, &message_, &length_))                                                                       \
      break;                                                                                                           \
    struct wire inner_ = wire_over(message_, length_);                                                                 \
    read_(&inner_, __VA_ARGS__);                                                                                       \
    if (inner_.problem != NULL) {                                                                                      \
      (wire_)->at = inner_.at;                                                                                         \
      wire_fail(wire_, inner_.problem);                                                                                \
    }                                                                                                                  \
  } while (0)

static void read_event(struct wire *wire, struct otlp_parts *parts)
{
  struct otlp_event *event = otlp_parts_event(parts);
  if (event == NULL) {
    wire_fail(wire, OTLP_TOO_MANY);
    return;
  }
  event->first = parts->inner_count;
  uint64_t key;
  bool ok = true;
  while (ok && otlp_proto_key(wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_EVENT_TIME, WIRE_FIXED64):
      ok = read_time(wire, &event->time_ns);
      break;
    case WIRE_KEY(OTLP_EVENT_NAME, WIRE_BYTES):
      ok = otlp_proto_text(wire, &event->name);
      break;
    case WIRE_KEY(OTLP_EVENT_ATTRIBUTES, WIRE_BYTES):
      ok = otlp_proto_attribute(wire, otlp_parts_inner(parts));
      break;
    default:
      ok = otlp_proto_skip(
          wire, key, OTLP_FIELD(OTLP_EVENT_TIME) | OTLP_FIELD(OTLP_EVENT_NAME) | OTLP_FIELD(OTLP_EVENT_ATTRIBUTES));
    }
  }
  event->count = parts->inner_count - event->first;
}

static void read_link(struct wire *wire, struct otlp_parts *parts)
{
  struct otlp_link *link = otlp_parts_link(parts);
  if (link == NULL) {
    wire_fail(wire, OTLP_TOO_MANY);
    return;
  }
  link->first = parts->inner_count;
  uint64_t key;
  bool ok = true;
  while (ok && otlp_proto_key(wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_LINK_TRACE_ID, WIRE_BYTES):
      ok = wire_bytes(wire, &link->trace_id.at, &link->trace_id.length);
      break;
    case WIRE_KEY(OTLP_LINK_SPAN_ID, WIRE_BYTES):
      ok = read_id(wire, &link->span_id);
      break;
    case WIRE_KEY(OTLP_LINK_ATTRIBUTES, WIRE_BYTES):
      ok = otlp_proto_attribute(wire, otlp_parts_inner(parts));
      break;
    default:
      ok = otlp_proto_skip(
          wire, key, OTLP_FIELD(OTLP_LINK_TRACE_ID) | OTLP_FIELD(OTLP_LINK_SPAN_ID) | OTLP_FIELD(OTLP_LINK_ATTRIBUTES));
    }
  }
  link->count = parts->inner_count - link->first;
}

static void read_status(struct wire *wire, struct otlp_span *span)
{
  uint64_t key;
  bool ok = true;
  while (ok && otlp_proto_key(wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_STATUS_MESSAGE, WIRE_BYTES):
      ok = otlp_proto_text(wire, &span->status_message);
      break;
    case WIRE_KEY(OTLP_STATUS_CODE, WIRE_VARINT):
      ok = wire_varint(wire, &span->status_code);
      break;
    default:
      ok = otlp_proto_skip(wire, key, OTLP_FIELD(OTLP_STATUS_MESSAGE) | OTLP_FIELD(OTLP_STATUS_CODE));
    }
  }
}

bool otlp_proto_field(struct wire *wire, struct otlp_parts *parts)
{
  struct otlp_span *span = &parts->span;
  uint64_t key;
  if (!wire_varint(wire, &key))
    return false;
  switch (key) {
  case WIRE_KEY(OTLP_SPAN_TRACE_ID, WIRE_BYTES):
    return wire_bytes(wire, &span->trace_id.at, &span->trace_id.length);
  case WIRE_KEY(OTLP_SPAN_ID, WIRE_BYTES):
    return read_id(wire, &span->span_id);
  case WIRE_KEY(OTLP_SPAN_PARENT_ID, WIRE_BYTES):
    return read_id(wire, &span->parent_id);
  case WIRE_KEY(OTLP_SPAN_NAME, WIRE_BYTES):
    return otlp_proto_text(wire, &span->name);
  case WIRE_KEY(OTLP_SPAN_KIND, WIRE_VARINT):
    return wire_varint(wire, &span->kind);
  case WIRE_KEY(OTLP_SPAN_START, WIRE_FIXED64):
    return span->has_start = read_time(wire, &span->start_ns);
  case WIRE_KEY(OTLP_SPAN_END, WIRE_FIXED64):
    return span->has_end = read_time(wire, &span->end_ns);
  case WIRE_KEY(OTLP_SPAN_ATTRIBUTES, WIRE_BYTES):
    return otlp_proto_attribute(wire, otlp_parts_attribute(parts));
  case WIRE_KEY(OTLP_SPAN_TRACE_STATE, WIRE_BYTES):
    return otlp_proto_text(wire, &span->trace_state);
  case WIRE_KEY(OTLP_SPAN_EVENTS, WIRE_BYTES):
    INNER(wire, read_event, parts);
    return wire->problem == NULL;
  case WIRE_KEY(OTLP_SPAN_LINKS, WIRE_BYTES):
    INNER(wire, read_link, parts);
    return wire->problem == NULL;
  case WIRE_KEY(OTLP_SPAN_STATUS, WIRE_BYTES):
    INNER(wire, read_status, span);
    return wire->problem == NULL;
  default:
    return otlp_proto_skip(
        wire, key,
        OTLP_FIELD(OTLP_SPAN_TRACE_ID) | OTLP_FIELD(OTLP_SPAN_ID) | OTLP_FIELD(OTLP_SPAN_TRACE_STATE) |
            OTLP_FIELD(OTLP_SPAN_PARENT_ID) | OTLP_FIELD(OTLP_SPAN_NAME) | OTLP_FIELD(OTLP_SPAN_KIND) |
            OTLP_FIELD(OTLP_SPAN_START) | OTLP_FIELD(OTLP_SPAN_END) | OTLP_FIELD(OTLP_SPAN_ATTRIBUTES) |
            OTLP_FIELD(OTLP_SPAN_EVENTS) | OTLP_FIELD(OTLP_SPAN_LINKS) | OTLP_FIELD(OTLP_SPAN_STATUS));
  }
}
