// SPDX-License-Identifier: Apache-2.0
// Decodes OTLP's protobuf from memory. Called by the importer of files, and made for a server's requests: one pass, no
// copies, no allocation once the arrays have grown. Hostile input: every length is checked against what it lies in.
//
// A field of a known number and another wire type than OTLP gives it is an error; unknown numbers are passed over.
#include "otlp/proto.h"
#include "base/utf8.h"
#include "otlp/attributes.h"

static enum status broken(struct otlp_proto *proto, const struct wire *wire)
{
  proto->problem = wire->problem;
  proto->at = wire->at;
  return STATUS_INPUT;
}

// ---- the same for what nearly all fields look like -------------------------------------------------------------------
// Lengths of one byte, fields in their usual order, texts of ASCII: a few comparisons. Whatever does not fit is left to
// the functions above, from the field's beginning: these never say that anything is wrong.
static inline uint64_t load_id(const char *at)
{
  uint64_t number;
  memcpy(&number, at, sizeof number);
  return __builtin_bswap64(number);
}

// A value with exactly one field in it.
static inline bool try_value(const char *at, size_t length, struct otlp_value *ret_value)
{
  const unsigned char *byte = (const unsigned char *)at;
  if (length < 2)
    return false;
  switch (byte[0]) {
  case WIRE_KEY(OTLP_VALUE_STRING, WIRE_BYTES):
    *ret_value = (struct otlp_value){.type = OTLP_TEXT, .text = {at + 2, length - 2}};
    return byte[1] == length - 2 && byte[1] < 0x80 && utf8_is_ascii(at + 2, length - 2);
  case WIRE_KEY(OTLP_VALUE_INT, WIRE_VARINT): {
    uint64_t number = 0;
    size_t i = 1;
    if (length > 9) // the numbers of 57 bits and more are rare
      return false;
    for (; i < length && byte[i] >= 0x80; i++)
      number |= (uint64_t)(byte[i] & 0x7f) << 7 * (i - 1);
    if (i != length - 1)
      return false;
    *ret_value = (struct otlp_value){.type = OTLP_INT, .integer = (int64_t)(number | (uint64_t)byte[i] << 7 * (i - 1))};
    return true;
  }
  case WIRE_KEY(OTLP_VALUE_DOUBLE, WIRE_FIXED64):
    *ret_value = (struct otlp_value){.type = OTLP_DOUBLE};
    if (length == 9)
      memcpy(&ret_value->real, at + 1, sizeof ret_value->real);
    return length == 9;
  default:
    return false;
  }
}

// At the length of a KeyValue; NULL: not a usual one.
static inline const char *try_pair(const char *at, const char *end, struct otlp_attribute *attribute)
{
  const unsigned char *byte = (const unsigned char *)at;
  if (attribute == NULL || end - at < 5)
    return NULL;
  size_t length = byte[0];
  size_t key = byte[2]; // its length
  if (length >= 0x80 || length > (size_t)(end - at - 1) || byte[1] != WIRE_KEY(OTLP_PAIR_KEY, WIRE_BYTES) ||
      key + 4 > length)
    return NULL;
  const unsigned char *value = byte + 3 + key;
  if (value[0] != WIRE_KEY(OTLP_PAIR_VALUE, WIRE_BYTES) || value[1] != length - key - 4 ||
      !try_value((const char *)value + 2, value[1], &attribute->value) || !utf8_is_ascii(at + 3, key))
    return NULL;
  attribute->key = (struct otlp_text){at + 3, key};
  return at + 1 + length;
}

static inline const char *try_time(const char *at, const char *end, bool *ret_has_time, int64_t *ret_time_ns)
{
  uint64_t number;
  if (end - at < 9)
    return at;
  memcpy(&number, at + 1, sizeof number);
  if (number > INT64_MAX)
    return at;
  *ret_has_time = true;
  *ret_time_ns = (int64_t)number;
  return at + 9;
}

// The position behind the field at `at`, or `at` itself.
static inline const char *try_field(const char *at, const char *end, struct otlp_parts *parts)
{
  struct otlp_span *span = &parts->span;
  const unsigned char *byte = (const unsigned char *)at;
  const char *behind;
  if (end - at < 2)
    return at;
  switch (byte[0]) {
  case WIRE_KEY(OTLP_SPAN_TRACE_ID, WIRE_BYTES):
    if (byte[1] != 16 || end - at < 18)
      return at;
    span->trace_id = (struct otlp_text){at + 2, 16};
    return at + 18;
  case WIRE_KEY(OTLP_SPAN_ID, WIRE_BYTES):
  case WIRE_KEY(OTLP_SPAN_PARENT_ID, WIRE_BYTES): {
    uint64_t number = byte[1] == 8 && end - at >= 10 ? load_id(at + 2) : 0;
    if (number == 0)
      return at;
    struct otlp_id *id = byte[0] == WIRE_KEY(OTLP_SPAN_ID, WIRE_BYTES) ? &span->span_id : &span->parent_id;
    *id = (struct otlp_id){number, OTLP_ID_GIVEN};
    return at + 10;
  }
  case WIRE_KEY(OTLP_SPAN_NAME, WIRE_BYTES):
    if (byte[1] >= 0x80 || byte[1] > end - at - 2 || !utf8_is_ascii(at + 2, byte[1]))
      return at;
    span->name = (struct otlp_text){at + 2, byte[1]};
    return at + 2 + byte[1];
  case WIRE_KEY(OTLP_SPAN_KIND, WIRE_VARINT):
    if (byte[1] >= 0x80)
      return at;
    span->kind = byte[1];
    return at + 2;
  case WIRE_KEY(OTLP_SPAN_START, WIRE_FIXED64):
    return try_time(at, end, &span->has_start, &span->start_ns);
  case WIRE_KEY(OTLP_SPAN_END, WIRE_FIXED64):
    return try_time(at, end, &span->has_end, &span->end_ns);
  case WIRE_KEY(OTLP_SPAN_ATTRIBUTES, WIRE_BYTES):
    behind = try_pair(at + 1, end, otlp_parts_ready_attribute(parts));
    parts->attribute_count += behind != NULL;
    return behind != NULL ? behind : at;
  default:
    return at;
  }
}

enum status otlp_proto_span(struct otlp_proto *proto, const char *message, size_t length,
                            const struct otlp_visitor *visitor, struct error *err)
{
  struct otlp_parts *parts = &proto->parts;
  const char *at = message;
  const char *end = message + length;
  otlp_parts_clear(parts, false);
  while (at < end) {
    const char *behind = try_field(at, end, parts);
    if (behind == at) {
      struct wire wire = {at, end, NULL};
      if (!otlp_proto_field(&wire, parts))
        return broken(proto, &wire);
      behind = wire.at;
    }
    at = behind;
  }
  otlp_parts_finish(parts);
  return visitor->span(visitor->context, &parts->span, err);
}

// ---- what spans lie in -----------------------------------------------------------------------------------------------
enum status otlp_proto_scope(struct otlp_proto *proto, const char *message, size_t length,
                             const struct otlp_visitor *visitor, struct error *err)
{
  struct wire wire = wire_over(message, length);
  struct otlp_text name = {"", 0};
  uint64_t key;
  bool ok = true;
  while (ok && otlp_proto_key(&wire, &key))
    ok = key == WIRE_KEY(OTLP_SCOPE_NAME, WIRE_BYTES) ? otlp_proto_text(&wire, &name)
                                                      : otlp_proto_skip(&wire, key, OTLP_FIELD(OTLP_SCOPE_NAME));
  if (wire.problem != NULL)
    return broken(proto, &wire);
  return visitor->scope(visitor->context, name, err);
}

enum status otlp_proto_resource(struct otlp_proto *proto, const char *message, size_t length,
                                const struct otlp_visitor *visitor, struct error *err)
{
  struct wire wire = wire_over(message, length);
  uint64_t key;
  bool ok = true;
  otlp_parts_clear(&proto->parts, false);
  while (ok && otlp_proto_key(&wire, &key))
    ok = key == WIRE_KEY(OTLP_RESOURCE_ATTRIBUTES, WIRE_BYTES)
             ? otlp_proto_attribute(&wire, otlp_parts_attribute(&proto->parts))
             : otlp_proto_skip(&wire, key, OTLP_FIELD(OTLP_RESOURCE_ATTRIBUTES));
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
  const uint32_t known = OTLP_FIELD(head_key >> 3) | OTLP_FIELD(item_key >> 3);
  for (int pass = 0; pass < 2; pass++) {
    bool has_head = false;
    struct wire wire = wire_over(message, length);
    uint64_t key;
    while (otlp_proto_key(&wire, &key)) {
      const char *part;
      size_t part_length;
      if (key != head_key && key != item_key) {
        if (!otlp_proto_skip(&wire, key, known))
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
  struct wire wire = wire_over(message, length);
  uint64_t key;
  proto->problem = NULL;
  while (otlp_proto_key(&wire, &key)) {
    const char *part;
    size_t part_length;
    if (key != WIRE_KEY(OTLP_REQUEST_RESOURCE_SPANS, WIRE_BYTES)) {
      if (!otlp_proto_skip(&wire, key, OTLP_FIELD(OTLP_REQUEST_RESOURCE_SPANS)))
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
