// SPDX-License-Identifier: Apache-2.0
// Arrays and maps of OTLP's protobuf as JSON text, without recursion. Called by otlp_value_text.
#include "otlp/attributes.h"
#include "otlp/proto.h"
#include "otlp/value.h"

struct frame { // an ArrayValue or a KeyValueList, and what is left of it
  struct wire wire;
  bool is_map, has_item;
};
struct walk {
  struct frame frames[OTLP_VALUE_DEPTH];
  size_t depth;
  struct buf *out;
};

static const char *enter(struct walk *walk, const struct otlp_value *value)
{
  if (walk->depth == OTLP_VALUE_DEPTH)
    return OTLP_TOO_DEEP;
  walk->frames[walk->depth++] = (struct frame){.wire = {value->text.at, value->text.at + value->text.length, NULL},
                                               .is_map = value->type == OTLP_MAP};
  buf_put(walk->out, value->type == OTLP_MAP ? "{" : "[", 1);
  return NULL;
}

static const char *put_item(struct walk *walk, const struct otlp_value *value)
{
  if (value->type == OTLP_ARRAY || value->type == OTLP_MAP)
    return enter(walk, value);
  if (value->type == OTLP_BYTES) {
    buf_put(walk->out, "\"", 1);
    otlp_base64(value->text, walk->out);
    buf_put(walk->out, "\"", 1);
  } else {
    otlp_scalar_json(value, walk->out);
  }
  return NULL;
}

const char *otlp_proto_nested(const struct otlp_value *value, struct buf *out)
{
  struct walk walk = {.out = out};
  const char *problem = enter(&walk, value);
  while (problem == NULL && walk.depth > 0) {
    struct frame *frame = &walk.frames[walk.depth - 1];
    struct wire *wire = &frame->wire;
    uint64_t key;
    struct otlp_attribute item = {0};
    if (wire->at == wire->end) {
      buf_put(out, frame->is_map ? "}" : "]", 1);
      walk.depth--;
      continue;
    }
    if (!wire_varint(wire, &key))
      return wire->problem;
    if (key >> 3 != OTLP_VALUES) {
      if (!wire_skip(wire, key))
        return wire->problem;
      continue;
    }
    if (key != WIRE_KEY(OTLP_VALUES, WIRE_BYTES))
      return OTLP_WRONG_TYPE;
    if (!(frame->is_map ? otlp_proto_pair(wire, &item) : otlp_proto_value(wire, &item.value)))
      return wire->problem;
    buf_put(out, ",", frame->has_item);
    frame->has_item = true;
    if (frame->is_map) {
      otlp_text_json(item.key, out);
      buf_put(out, ":", 1);
    }
    problem = put_item(&walk, &item.value);
  }
  return problem;
}
