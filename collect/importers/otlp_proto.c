// SPDX-License-Identifier: Apache-2.0
// Decodes OTLP's protobuf from memory. Called by the importer of files, and made for a server's requests: one pass, no
// copies, no allocation once the arrays have grown. Hostile input: every length is checked against what it lies in.
//
// A field of a known number and another wire type than OTLP gives it is an error; unknown numbers are passed over.
#include "collect/importers/otlp_proto.h"

#include "collect/importers/wire.h"
#include "format/otlp.h"

#define NOT_UTF8 "a text is not UTF-8"

static enum status broken(struct otlp_proto *proto, const struct wire *wire)
{
  proto->problem = wire->problem;
  proto->at = wire->at;
  return STATUS_INPUT;
}

static struct wire wire_of(const char *message, size_t length)
{
  return (struct wire){message, message + length, NULL};
}

static inline bool read_key(struct wire *wire, uint64_t *ret_key)
{
  return wire->at < wire->end && wire_varint(wire, ret_key);
}

static inline bool read_text(struct wire *wire, struct otlp_text *ret_text)
{
  if (!wire_bytes(wire, &ret_text->at, &ret_text->length))
    return false;
  return wire_is_utf8(ret_text->at, ret_text->length) || wire_fail(wire, NOT_UTF8);
}

// Passes over a field; `known` is the mask of the message's field numbers, all of which the caller has looked for with
// the wire type that they should have.
static bool skip_field(struct wire *wire, uint64_t key, uint32_t known)
{
  uint64_t field = key >> 3;
  if (field < 32 && (known >> field & 1) != 0)
    return wire_fail(wire, OTLP_WRONG_TYPE);
  return wire_skip(wire, key);
}
#define FIELD(number) (UINT32_C(1) << (number))

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
  struct wire wire = wire_of(message, length);
  uint64_t key, number;
  bool ok = true;
  while (ok && read_key(&wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_VALUE_STRING, WIRE_BYTES):
      *ret_value = (struct otlp_value){.type = OTLP_TEXT};
      ok = read_text(&wire, &ret_value->text);
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
      ok = skip_field(&wire, key,
                      FIELD(OTLP_VALUE_STRING) | FIELD(OTLP_VALUE_BOOL) | FIELD(OTLP_VALUE_INT) |
                          FIELD(OTLP_VALUE_DOUBLE) | FIELD(OTLP_VALUE_ARRAY) | FIELD(OTLP_VALUE_MAP) |
                          FIELD(OTLP_VALUE_BYTES));
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
  struct wire wire = wire_of(message, length);
  uint64_t key;
  bool ok = true;
  while (ok && read_key(&wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_PAIR_KEY, WIRE_BYTES):
      ok = read_text(&wire, &attribute->key);
      break;
    case WIRE_KEY(OTLP_PAIR_VALUE, WIRE_BYTES):
      ok = otlp_proto_value(&wire, &attribute->value);
      break;
    default:
      ok = skip_field(&wire, key, FIELD(OTLP_PAIR_KEY) | FIELD(OTLP_PAIR_VALUE));
    }
  }
  if (wire.problem == NULL)
    return true;
  outer->at = wire.at;
  return wire_fail(outer, wire.problem);
}

static bool read_attribute(struct wire *wire, struct otlp_attribute *attribute)
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
    struct wire inner_ = wire_of(message_, length_);                                                                   \
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
  while (ok && read_key(wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_EVENT_TIME, WIRE_FIXED64):
      ok = read_time(wire, &event->time_ns);
      break;
    case WIRE_KEY(OTLP_EVENT_NAME, WIRE_BYTES):
      ok = read_text(wire, &event->name);
      break;
    case WIRE_KEY(OTLP_EVENT_ATTRIBUTES, WIRE_BYTES):
      ok = read_attribute(wire, otlp_parts_inner(parts));
      break;
    default:
      ok = skip_field(wire, key, FIELD(OTLP_EVENT_TIME) | FIELD(OTLP_EVENT_NAME) | FIELD(OTLP_EVENT_ATTRIBUTES));
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
  while (ok && read_key(wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_LINK_TRACE_ID, WIRE_BYTES):
      ok = wire_bytes(wire, &link->trace_id.at, &link->trace_id.length);
      break;
    case WIRE_KEY(OTLP_LINK_SPAN_ID, WIRE_BYTES):
      ok = read_id(wire, &link->span_id);
      break;
    case WIRE_KEY(OTLP_LINK_ATTRIBUTES, WIRE_BYTES):
      ok = read_attribute(wire, otlp_parts_inner(parts));
      break;
    default:
      ok = skip_field(wire, key, FIELD(OTLP_LINK_TRACE_ID) | FIELD(OTLP_LINK_SPAN_ID) | FIELD(OTLP_LINK_ATTRIBUTES));
    }
  }
  link->count = parts->inner_count - link->first;
}

static void read_status(struct wire *wire, struct otlp_span *span)
{
  uint64_t key;
  bool ok = true;
  while (ok && read_key(wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_STATUS_MESSAGE, WIRE_BYTES):
      ok = read_text(wire, &span->status_message);
      break;
    case WIRE_KEY(OTLP_STATUS_CODE, WIRE_VARINT):
      ok = wire_varint(wire, &span->status_code);
      break;
    default:
      ok = skip_field(wire, key, FIELD(OTLP_STATUS_MESSAGE) | FIELD(OTLP_STATUS_CODE));
    }
  }
}

static bool read_rare_field(struct wire *wire, uint64_t key, struct otlp_parts *parts)
{
  switch (key) {
  case WIRE_KEY(OTLP_SPAN_TRACE_STATE, WIRE_BYTES):
    return read_text(wire, &parts->span.trace_state);
  case WIRE_KEY(OTLP_SPAN_EVENTS, WIRE_BYTES):
    INNER(wire, read_event, parts);
    return wire->problem == NULL;
  case WIRE_KEY(OTLP_SPAN_LINKS, WIRE_BYTES):
    INNER(wire, read_link, parts);
    return wire->problem == NULL;
  case WIRE_KEY(OTLP_SPAN_STATUS, WIRE_BYTES):
    INNER(wire, read_status, &parts->span);
    return wire->problem == NULL;
  default:
    return skip_field(wire, key,
                      FIELD(OTLP_SPAN_TRACE_ID) | FIELD(OTLP_SPAN_ID) | FIELD(OTLP_SPAN_TRACE_STATE) |
                          FIELD(OTLP_SPAN_PARENT_ID) | FIELD(OTLP_SPAN_NAME) | FIELD(OTLP_SPAN_KIND) |
                          FIELD(OTLP_SPAN_START) | FIELD(OTLP_SPAN_END) | FIELD(OTLP_SPAN_ATTRIBUTES) |
                          FIELD(OTLP_SPAN_EVENTS) | FIELD(OTLP_SPAN_LINKS) | FIELD(OTLP_SPAN_STATUS));
  }
}

enum status otlp_proto_span(struct otlp_proto *proto, const char *message, size_t length,
                            const struct otlp_visitor *visitor, struct error *err)
{
  struct otlp_parts *parts = &proto->parts;
  struct otlp_span *span = &parts->span;
  struct wire wire = wire_of(message, length);
  uint64_t key;
  bool ok = true;
  otlp_parts_clear(parts, false);
  while (ok && read_key(&wire, &key)) {
    switch (key) {
    case WIRE_KEY(OTLP_SPAN_TRACE_ID, WIRE_BYTES):
      ok = wire_bytes(&wire, &span->trace_id.at, &span->trace_id.length);
      break;
    case WIRE_KEY(OTLP_SPAN_ID, WIRE_BYTES):
      ok = read_id(&wire, &span->span_id);
      break;
    case WIRE_KEY(OTLP_SPAN_PARENT_ID, WIRE_BYTES):
      ok = read_id(&wire, &span->parent_id);
      break;
    case WIRE_KEY(OTLP_SPAN_NAME, WIRE_BYTES):
      ok = read_text(&wire, &span->name);
      break;
    case WIRE_KEY(OTLP_SPAN_KIND, WIRE_VARINT):
      ok = wire_varint(&wire, &span->kind);
      break;
    case WIRE_KEY(OTLP_SPAN_START, WIRE_FIXED64):
      ok = span->has_start = read_time(&wire, &span->start_ns);
      break;
    case WIRE_KEY(OTLP_SPAN_END, WIRE_FIXED64):
      ok = span->has_end = read_time(&wire, &span->end_ns);
      break;
    case WIRE_KEY(OTLP_SPAN_ATTRIBUTES, WIRE_BYTES):
      ok = read_attribute(&wire, otlp_parts_attribute(parts));
      break;
    default:
      ok = read_rare_field(&wire, key, parts);
    }
  }
  if (wire.problem != NULL)
    return broken(proto, &wire);
  otlp_parts_finish(parts);
  return visitor->span(visitor->context, span, err);
}

// ---- what spans lie in -----------------------------------------------------------------------------------------------
enum status otlp_proto_scope(struct otlp_proto *proto, const char *message, size_t length,
                             const struct otlp_visitor *visitor, struct error *err)
{
  struct wire wire = wire_of(message, length);
  struct otlp_text name = {"", 0};
  uint64_t key;
  bool ok = true;
  while (ok && read_key(&wire, &key))
    ok = key == WIRE_KEY(OTLP_SCOPE_NAME, WIRE_BYTES) ? read_text(&wire, &name)
                                                      : skip_field(&wire, key, FIELD(OTLP_SCOPE_NAME));
  if (wire.problem != NULL)
    return broken(proto, &wire);
  return visitor->scope(visitor->context, name, err);
}

enum status otlp_proto_resource(struct otlp_proto *proto, const char *message, size_t length,
                                const struct otlp_visitor *visitor, struct error *err)
{
  struct wire wire = wire_of(message, length);
  uint64_t key;
  bool ok = true;
  otlp_parts_clear(&proto->parts, false);
  while (ok && read_key(&wire, &key))
    ok = key == WIRE_KEY(OTLP_RESOURCE_ATTRIBUTES, WIRE_BYTES)
             ? read_attribute(&wire, otlp_parts_attribute(&proto->parts))
             : skip_field(&wire, key, FIELD(OTLP_RESOURCE_ATTRIBUTES));
  if (wire.problem != NULL)
    return broken(proto, &wire);
  return visitor->resource(visitor->context, proto->parts.attributes, proto->parts.attribute_count, err);
}

typedef enum status part_reader(struct otlp_proto *proto, const char *message, size_t length,
                                const struct otlp_visitor *visitor, struct error *err);

// Of a message with one head (a resource, a scope) and many items: the head before the items, wherever it stands.
static enum status read_group(struct otlp_proto *proto, const char *message, size_t length, uint64_t head_key,
                              part_reader *read_head, uint64_t item_key, part_reader *read_item,
                              const struct otlp_visitor *visitor, struct error *err)
{
  const uint32_t known = FIELD(head_key >> 3) | FIELD(item_key >> 3);
  for (int pass = 0; pass < 2; pass++) {
    bool has_head = false;
    struct wire wire = wire_of(message, length);
    uint64_t key;
    while (read_key(&wire, &key)) {
      const char *part;
      size_t part_length;
      if (key != head_key && key != item_key) {
        if (!skip_field(&wire, key, known))
          break;
        continue;
      }
      if (!wire_bytes(&wire, &part, &part_length))
        break;
      if (pass == 0 && key == head_key) {
        has_head = true;
        XSP_TRY(read_head(proto, part, part_length, visitor, err));
      }
      if (pass == 1 && key == item_key)
        XSP_TRY(read_item(proto, part, part_length, visitor, err));
    }
    if (wire.problem != NULL)
      return broken(proto, &wire);
    if (pass == 0 && !has_head)
      XSP_TRY(read_head(proto, "", 0, visitor, err));
  }
  return STATUS_OK;
}

enum status otlp_proto_scope_spans(struct otlp_proto *proto, const char *message, size_t length,
                                   const struct otlp_visitor *visitor, struct error *err)
{
  return read_group(proto, message, length, WIRE_KEY(OTLP_SCOPE_SPANS_SCOPE, WIRE_BYTES), otlp_proto_scope,
                    WIRE_KEY(OTLP_SCOPE_SPANS_SPANS, WIRE_BYTES), otlp_proto_span, visitor, err);
}

enum status otlp_proto_resource_spans(struct otlp_proto *proto, const char *message, size_t length,
                                      const struct otlp_visitor *visitor, struct error *err)
{
  return read_group(proto, message, length, WIRE_KEY(OTLP_RESOURCE_SPANS_RESOURCE, WIRE_BYTES), otlp_proto_resource,
                    WIRE_KEY(OTLP_RESOURCE_SPANS_SCOPE_SPANS, WIRE_BYTES), otlp_proto_scope_spans, visitor, err);
}

enum status otlp_proto_decode(struct otlp_proto *proto, const char *message, size_t length,
                              const struct otlp_visitor *visitor, struct error *err)
{
  struct wire wire = wire_of(message, length);
  uint64_t key;
  proto->problem = NULL;
  while (read_key(&wire, &key)) {
    const char *part;
    size_t part_length;
    if (key != WIRE_KEY(OTLP_REQUEST_RESOURCE_SPANS, WIRE_BYTES)) {
      if (!skip_field(&wire, key, FIELD(OTLP_REQUEST_RESOURCE_SPANS)))
        break;
      continue;
    }
    if (!wire_bytes(&wire, &part, &part_length))
      break;
    XSP_TRY(otlp_proto_resource_spans(proto, part, part_length, visitor, err));
  }
  return wire.problem != NULL ? broken(proto, &wire) : STATUS_OK;
}

void otlp_proto_done(struct otlp_proto *proto)
{
  otlp_parts_done(&proto->parts);
}
