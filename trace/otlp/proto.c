// SPDX-License-Identifier: Apache-2.0
// One walk over the table of fields reads any message of OTLP. Called by the importers and by the server. Hostile input: each
// length is checked against what it lies in; recursion is as deep as the table is.
//
// A field of a known number with another wire type than OTLP's is an error; unknown numbers are passed over. Readers take
// a position in [at, end) and return the one after what they read, or NULL with walk->problem.
#include "otlp/proto.h"

#include "base/json_scan.h"
#include "base/utf8.h"
#include "base/wire.h"

struct walk {
  struct otlp_parts *parts;
  const char *problem, *at; // set once
};

static const char *fail(struct walk *walk, const char *at, const char *problem)
{
  walk->at = at;
  walk->problem = problem;
  return NULL;
}

static const char *long_number(struct walk *walk, const char *at, const char *end, uint64_t *ret_number)
{
  struct wire wire = {at, end, NULL};
  return wire_long_varint(&wire, ret_number) ? wire.at : fail(walk, wire.at, wire.problem);
}

static inline const char *read_number(struct walk *walk, const char *at, const char *end, uint64_t *ret_number)
{
  if (at == end || (signed char)*at < 0)
    return long_number(walk, at, end, ret_number);
  *ret_number = (unsigned char)*at;
  return at + 1;
}

static inline const char *read_bytes(struct walk *walk, const char *at, const char *end, struct slice *ret_bytes)
{
  uint64_t length;
  if ((at = read_number(walk, at, end, &length)) == NULL)
    return NULL;
  if (length > (uint64_t)(end - at))
    return fail(walk, at, wire_cut);
  *ret_bytes = (struct slice){at, (size_t)length};
  return at + length;
}

static inline const char *read_text(struct walk *walk, const char *at, const char *end, struct slice *ret_text)
{
  at = read_bytes(walk, at, end, ret_text);
  if (at == NULL || utf8_is_ascii(ret_text->data, ret_text->length) || utf8_is_valid(ret_text->data, ret_text->length))
    return at;
  return fail(walk, at, "a text is not UTF-8");
}

static inline const char *read_id(struct walk *walk, const char *at, const char *end, struct otlp_id *ret_id)
{
  struct slice bytes;
  uint64_t number = 0;
  if ((at = read_bytes(walk, at, end, &bytes)) == NULL)
    return NULL;
  if (bytes.length == sizeof number) {
    memcpy(&number, bytes.data, sizeof number);
    number = __builtin_bswap64(number);
  } else {
    for (size_t i = 0; i < bytes.length && bytes.length < sizeof number; i++)
      number = number << 8 | (unsigned char)bytes.data[i];
  }
  ret_id->number = number;
  ret_id->state = bytes.length > sizeof number ? OTLP_ID_BAD : number != 0 ? OTLP_ID_GIVEN : OTLP_ID_NONE;
  return at;
}

static inline const char *read_fixed(struct walk *walk, const char *at, const char *end, uint64_t *ret_number)
{
  if (end - at < 8)
    return fail(walk, at, "it ends inside a number");
  memcpy(ret_number, at, 8); // x86-64 and aarch64 are little-endian, as the format is
  return at + 8;
}

// ---- values ----------------------------------------------------------------------------------------------------------
static const char *read_value(struct walk *walk, const char *at, const char *end, uint8_t type,
                              struct otlp_value *ret_value)
{
  uint64_t number = 0;
  struct otlp_value value = {.type = type};
  if (type == OTLP_TEXT)
    at = read_text(walk, at, end, &value.text);
  else if (type == OTLP_DOUBLE)
    at = read_fixed(walk, at, end, &number);
  else if (type == OTLP_INT || type == OTLP_BOOL)
    at = read_number(walk, at, end, &number);
  else
    at = read_bytes(walk, at, end, &value.text);
  if (type == OTLP_DOUBLE)
    memcpy(&value.real, &number, sizeof number);
  else if (type == OTLP_INT || type == OTLP_BOOL)
    value.integer = type == OTLP_INT ? (int64_t)number : number != 0;
  *ret_value = value;
  return at;
}

// Nearly every attribute: lengths of one byte, key before value, one field in the value. NULL: read it by the table, which
// finds out whether anything is wrong. Half of the time of decoding would go here otherwise.
static inline const char *try_attribute(const char *at, const char *end, struct otlp_attribute *attribute)
{
  const unsigned char *byte = (const unsigned char *)at;
  if (end - at < 5)
    return NULL;
  size_t length = byte[0];
  size_t key = byte[2]; // its length
  if (length >= 0x80 || length > (size_t)(end - at - 1) ||
      byte[1] != WIRE_KEY(otlp_number(OTLP_PAIR_KEY), WIRE_BYTES) || key + 6 > length)
    return NULL;
  const unsigned char *value = byte + 3 + key;
  size_t left = length - key - 4; // of the value
  if (value[0] != WIRE_KEY(otlp_number(OTLP_PAIR_VALUE), WIRE_BYTES) || value[1] != left || !utf8_is_ascii(at + 3, key))
    return NULL;
  attribute->key = (struct slice){at + 3, key};
  at += 1 + length;
  uint64_t number = 0;
  switch (value[2]) {
  case WIRE_KEY(OTLP_VALUE_STRING % OTLP_NUMBERS, WIRE_BYTES):
    attribute->value = (struct otlp_value){.type = OTLP_TEXT, .text = {(const char *)value + 4, left - 2}};
    return value[3] == left - 2 && utf8_is_ascii(attribute->value.text.data, left - 2) ? at : NULL;
  case WIRE_KEY(OTLP_VALUE_INT % OTLP_NUMBERS, WIRE_VARINT): {
    size_t i = 3;
    for (; i < left + 1 && value[i] >= 0x80 && i < 11; i++)
      number |= (uint64_t)(value[i] & 0x7f) << 7 * (i - 3);
    if (i != left + 1 || i == 11) // the numbers of 57 bits and more are rare
      return NULL;
    number |= (uint64_t)value[i] << 7 * (i - 3);
    attribute->value = (struct otlp_value){.type = OTLP_INT, .integer = (int64_t)number};
    return value[i] < 0x80 ? at : NULL;
  }
  default:
    return NULL;
  }
}

// ---- the walk --------------------------------------------------------------------------------------------------------
static const char *read_message(struct walk *walk, const char *at, const char *end, enum otlp_message message,
                                void *target);

static const char *read_item(struct walk *walk, const char *at, const char *end, const struct otlp_step *step)
{
  struct slice bytes;
  if ((at = read_bytes(walk, at, end, &bytes)) == NULL)
    return NULL;
  struct otlp_range *item = otlp_parts_add(walk->parts, step);
  if (item == NULL)
    return fail(walk, bytes.data, OTLP_TOO_MANY);
  size_t first = walk->parts->inner.count;
  if (read_message(walk, bytes.data, at, step->inner, item) == NULL)
    return NULL;
  if (step->inner != OTLP_PAIR_MESSAGE)
    *item = (struct otlp_range){first, walk->parts->inner.count - first};
  return at;
}

// Attributes come one after the other: as many as there are, from the first one's length on.
static inline const char *read_attributes(struct walk *walk, const char *at, const char *end, uint64_t key,
                                          const struct otlp_step *step)
{
  struct otlp_list *list = (struct otlp_list *)(void *)((char *)walk->parts + step->offset);
  size_t count = list->count;
  for (;;) {
    const char *after = NULL;
    if (count < list->capacity)
      after = try_attribute(at, end, (struct otlp_attribute *)list->items + count);
    count += after != NULL;
    if (after == NULL || after == end || (unsigned char)*after != key) {
      list->count = count;
      return after != NULL ? after : read_item(walk, at, end, step);
    }
    at = after + 1;
  }
}

// Numbers of fields that are not read, and fields with a wrong wire type.
static const char *skip_field(struct walk *walk, const char *at, const char *end, enum otlp_message message,
                              uint64_t key)
{
  struct wire wire = {at, end, NULL};
  if (otlp_field_on_wire(message, key) != NULL)
    return fail(walk, at, OTLP_WRONG_TYPE);
  return wire_skip(&wire, key) ? wire.at : fail(walk, wire.at, wire.problem);
}

static inline const char *read_field(struct walk *walk, const char *at, const char *end, enum otlp_message message,
                                     uint64_t key, void *target)
{
  const struct otlp_step *step = &otlp_steps[message * OTLP_KEYS + (key < OTLP_KEYS ? key : 0)];
  void *place = (char *)target + step->offset;
  struct slice bytes;
  switch ((enum otlp_form)step->form) {
  case OTLP_FORM_TEXT:
    return read_text(walk, at, end, place);
  case OTLP_FORM_RAW:
    return read_bytes(walk, at, end, place);
  case OTLP_FORM_ID:
    return read_id(walk, at, end, place);
  case OTLP_FORM_ENUM:
    return read_number(walk, at, end, place);
  case OTLP_FORM_TIME:
    if ((at = read_fixed(walk, at, end, place)) == NULL || *(int64_t *)place >= 0)
      return at;
    return fail(walk, at, "a time is beyond int64 nanoseconds");
  case OTLP_FORM_VALUE:
    return read_value(walk, at, end, step->inner, target);
  case OTLP_FORM_MESSAGE:
    at = read_bytes(walk, at, end, &bytes);
    return at == NULL || read_message(walk, bytes.data, at, step->inner, place) == NULL ? NULL : at;
  case OTLP_FORM_ITEMS:
    return step->inner == OTLP_PAIR_MESSAGE ? read_attributes(walk, at, end, key, step)
                                            : read_item(walk, at, end, step);
  default:
    return skip_field(walk, at, end, message, key);
  }
}

static const char *read_message(struct walk *walk, const char *at, const char *end, enum otlp_message message,
                                void *target)
{
  while (at != NULL && at < end) {
    uint64_t key;
    if ((at = read_number(walk, at, end, &key)) != NULL)
      at = read_field(walk, at, end, message, key, target);
  }
  return at;
}

// ---- requests --------------------------------------------------------------------------------------------------------
static enum status broken(struct otlp_proto *proto, const struct walk *walk)
{
  proto->problem = walk->problem;
  proto->at = walk->at;
  return STATUS_INPUT;
}

static enum status decode(struct otlp_proto *proto, enum otlp_message message, struct slice bytes,
                          const struct otlp_visitor *visitor, struct error *err);

// Visits the fields of one form: HEAD or LIST. The other one is checked only.
static enum status visit_fields(struct otlp_proto *proto, enum otlp_message message, struct slice bytes,
                                enum otlp_form form, bool *ret_has_any, const struct otlp_visitor *visitor,
                                struct error *err)
{
  struct walk walk = {0};
  const char *at = bytes.data, *end = bytes.data + bytes.length;
  while (at < end) {
    uint64_t key;
    struct slice part;
    if ((at = read_number(&walk, at, end, &key)) == NULL)
      return broken(proto, &walk);
    const struct otlp_step *step = &otlp_steps[message * OTLP_KEYS + (key < OTLP_KEYS ? key : 0)];
    bool is_read = step->form > OTLP_FORM_UNREAD;
    at = is_read ? read_bytes(&walk, at, end, &part) : skip_field(&walk, at, end, message, key);
    if (at == NULL)
      return broken(proto, &walk);
    if (step->form != form)
      continue;
    *ret_has_any = true;
    XSP_TRY(decode(proto, step->inner, part, visitor, err));
  }
  return STATUS_OK;
}

static enum status decode(struct otlp_proto *proto, enum otlp_message message, struct slice bytes,
                          const struct otlp_visitor *visitor, struct error *err)
{
  struct otlp_parts *parts = &proto->parts;
  struct walk walk = {.parts = parts};
  struct slice scope = {"", 0};
  bool has_head = false;
  if (message == OTLP_REQUEST_MESSAGE)
    return visit_fields(proto, message, bytes, OTLP_FORM_LIST, &has_head, visitor, err);
  if (message == OTLP_RESOURCE_SPANS_MESSAGE || message == OTLP_SCOPE_SPANS_MESSAGE) {
    // The resource or scope comes first, wherever it is; without one, as if it were empty.
    XSP_TRY(visit_fields(proto, message, bytes, OTLP_FORM_HEAD, &has_head, visitor, err));
    if (!has_head)
      XSP_TRY(decode(proto, otlp_fields[message * OTLP_NUMBERS + 1].step.inner, scope, visitor, err));
    return visit_fields(proto, message, bytes, OTLP_FORM_LIST, &has_head, visitor, err);
  }
  otlp_parts_clear(parts, false);
  void *target = message == OTLP_SCOPE_MESSAGE ? (void *)&scope : &parts->span;
  if (read_message(&walk, bytes.data, bytes.data + bytes.length, message, target) == NULL)
    return broken(proto, &walk);
  if (message == OTLP_RESOURCE_MESSAGE)
    return visitor->resource(visitor->context, parts->attributes.items, parts->attributes.count, err);
  if (message == OTLP_SCOPE_MESSAGE)
    return visitor->scope(visitor->context, scope, err);
  otlp_parts_finish(parts);
  return visitor->span(visitor->context, &parts->span, err);
}

enum status otlp_proto_decode(struct otlp_proto *proto, enum otlp_message message, const char *at, size_t length,
                              const struct otlp_visitor *visitor, struct error *err)
{
  proto->problem = NULL;
  return decode(proto, message, (struct slice){length > 0 ? at : "", length}, visitor, err);
}

const char *otlp_proto_item(enum otlp_message message, const char *at, size_t length, void *target)
{
  struct walk walk = {0};
  return read_message(&walk, at, at + length, message, target) == NULL ? walk.problem : NULL;
}

void otlp_proto_done(struct otlp_proto *proto)
{
  otlp_parts_done(&proto->parts);
}
