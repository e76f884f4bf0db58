// SPDX-License-Identifier: Apache-2.0
// Values of OTLP as text, for those that a tag cannot hold as they are, and as whole numbers. Called by the importer and by the
// server's check. Arrays and maps within each other are walked with a stack of their own: {"values":[{"intValue":"1"}]} becomes
// [1].
#include "base/base64.h"
#include "base/json_write.h"
#include "base/wire.h"
#include "otlp/encode.h"
#include "otlp/json.h"
#include "otlp/proto.h"

#include <math.h>

struct frame { // an array or a map, and the rest of it
  struct wire wire;
  const char *json; // position of the next item
  bool is_json, is_map, has_item;
};
struct walk {
  struct otlp_json json;
  struct frame frames[OTLP_VALUE_DEPTH];
  size_t depth;
  struct buf *out;
};

// ---- scalars ---------------------------------------------------------------------------------------------------------
void otlp_text_json(struct slice text, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_string_n(&json, text.data != NULL ? text.data : "", text.length);
}

static void put_scalar(const struct otlp_value *value, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  if (value->type == OTLP_TEXT || (value->type == OTLP_BYTES && value->is_json)) {
    otlp_text_json(value->text, out);
  } else if (value->type == OTLP_BYTES) {
    buf_text(out, "\"");
    base64_put(out, value->text.data, value->text.length);
    buf_text(out, "\"");
  } else if (value->type == OTLP_BOOL) {
    json_bool(&json, value->integer != 0);
  } else if (value->type == OTLP_INT) {
    json_int(&json, value->integer);
  } else if (value->type == OTLP_DOUBLE) {
    otlp_real_json(&json, value->real);
  } else {
    json_null(&json);
  }
}

// ---- arrays and maps -------------------------------------------------------------------------------------------------
// The position of the first item of the object's "values"; NULL: it has none.
static const char *find_values(struct otlp_json *json, const char *at)
{
  bool is_null;
  struct slice key;
  at = otlp_json_open(json, at, '{', &is_null);
  for (bool is_first = true; at != NULL && !is_null; is_first = false) {
    at = otlp_json_member(json, at, is_first, &key);
    if (at == NULL || key.data == NULL)
      return NULL;
    if (slice_is(key, "values") && *at == '[')
      return at + 1;
    at = otlp_json_skip(json, at);
  }
  return NULL;
}

// Scalars are written at once.
static const char *put_value(struct walk *walk, const struct otlp_value *value)
{
  struct frame frame = {.is_json = value->is_json, .is_map = value->type == OTLP_MAP};
  if (value->type != OTLP_ARRAY && value->type != OTLP_MAP) {
    put_scalar(value, walk->out);
    return NULL;
  }
  if (walk->depth == OTLP_VALUE_DEPTH)
    return "a value is nested deeper than 100";
  buf_text(walk->out, frame.is_map ? "{" : "[");
  if (value->is_json) {
    frame.json = find_values(&walk->json, value->text.data);
    if (walk->json.scan.problem != NULL)
      return walk->json.scan.problem;
    if (frame.json == NULL) {
      buf_text(walk->out, frame.is_map ? "}" : "]");
      return NULL;
    }
  } else {
    frame.wire = wire_over(value->text.data, value->text.length);
  }
  walk->frames[walk->depth++] = frame;
  return NULL;
}

static const char *next_json(struct walk *walk, struct frame *frame, struct otlp_attribute *item, bool *ret_has_item)
{
  const char *at = otlp_json_item(&walk->json, frame->json, !frame->has_item, ret_has_item);
  if (at != NULL && *ret_has_item) {
    item->value.is_json = true;
    at = frame->is_map ? otlp_json_message(&walk->json, at, OTLP_PAIR_MESSAGE, item)
                       : otlp_json_message(&walk->json, at, OTLP_VALUE_MESSAGE, &item->value);
  }
  frame->json = at;
  if (at == NULL)
    return walk->json.scan.problem != NULL ? walk->json.scan.problem : "a value is cut short";
  return NULL;
}

static const char *next_proto(struct frame *frame, struct otlp_attribute *item, bool *ret_has_item)
{
  struct wire *wire = &frame->wire;
  *ret_has_item = false;
  while (wire->at < wire->end) {
    uint64_t key;
    const char *bytes;
    size_t length;
    if (!wire_varint(wire, &key))
      return wire->problem;
    if (key >> 3 == otlp_number(OTLP_VALUES_VALUES)) {
      if ((key & 7) != WIRE_BYTES)
        return OTLP_WRONG_TYPE;
      if (!wire_bytes(wire, &bytes, &length))
        return wire->problem;
      *ret_has_item = true;
      return frame->is_map ? otlp_proto_item(OTLP_PAIR_MESSAGE, bytes, length, item)
                           : otlp_proto_item(OTLP_VALUE_MESSAGE, bytes, length, &item->value);
    }
    if (!wire_skip(wire, key))
      return wire->problem;
  }
  return NULL;
}

static const char *put_nested(const struct otlp_value *value, struct otlp_unknown *unknown, struct buf *out)
{
  struct walk walk;
  walk.json = (struct otlp_json){.scan.is_last = true, .unknown = unknown};
  if (value->type == OTLP_ARRAY || value->type == OTLP_MAP)
    walk.json.scan.end = value->text.data + value->text.length; // also of what is in it
  walk.depth = 0;
  walk.out = out;
  const char *problem = put_value(&walk, value);
  while (problem == NULL && walk.depth > 0) {
    struct frame *frame = &walk.frames[walk.depth - 1];
    struct otlp_attribute item = {0};
    bool has_item;
    problem = frame->is_json ? next_json(&walk, frame, &item, &has_item) : next_proto(frame, &item, &has_item);
    if (problem != NULL)
      break;
    if (!has_item) {
      buf_text(out, frame->is_map ? "}" : "]");
      walk.depth--;
      continue;
    }
    buf_text(out, frame->has_item ? "," : "");
    frame->has_item = true;
    if (frame->is_map) {
      otlp_text_json(item.key, out);
      buf_text(out, ":");
    }
    problem = put_value(&walk, &item.value);
  }
  otlp_json_done(&walk.json);
  return problem;
}

// ---- all -------------------------------------------------------------------------------------------------------------
const char *otlp_value_text(const struct otlp_value *value, struct otlp_unknown *unknown, struct buf *out)
{
  if (value->type == OTLP_TEXT || (value->type == OTLP_BYTES && value->is_json))
    buf_put(out, value->text.data, value->text.length);
  else if (value->type == OTLP_BYTES)
    base64_put(out, value->text.data, value->text.length);
  else if (value->type != OTLP_EMPTY)
    return put_nested(value, unknown, out);
  return NULL;
}

bool otlp_value_int(const struct otlp_value *value, int64_t *ret_number)
{
  switch (value->type) {
  case OTLP_INT:
  case OTLP_BOOL:
    *ret_number = value->integer;
    return true;
  case OTLP_DOUBLE:
    if (!(fabs(value->real) < 9.2e18) || value->real != trunc(value->real))
      return false;
    *ret_number = (int64_t)value->real;
    return true;
  case OTLP_TEXT:
    return otlp_read_number(value->text, ret_number) == OTLP_WHOLE;
  default:
    return false;
  }
}

const char *otlp_attributes_text(const struct otlp_attribute *attributes, size_t count, struct otlp_unknown *unknown,
                                 struct buf *out)
{
  const char *problem = NULL;
  buf_text(out, "{");
  for (size_t i = 0; i < count && problem == NULL; i++) {
    buf_text(out, i > 0 ? "," : "");
    otlp_text_json(attributes[i].key, out);
    buf_text(out, ":");
    problem = put_nested(&attributes[i].value, unknown, out);
  }
  buf_text(out, "}");
  return problem;
}
