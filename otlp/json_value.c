// SPDX-License-Identifier: Apache-2.0
// Arrays and maps of OTLP's JSON as plain JSON text, without recursion: {"values":[{"intValue":"1"}]} becomes [1]. Called
// by otlp_value_text with text that has been scanned as well-formed JSON.
#include "otlp/json.h"
#include "otlp/value.h"

struct frame { // the items of an array or a map, and what is left of them
  const char *at;
  bool is_map, has_item;
};
struct walk {
  struct otlp_json json;
  struct frame frames[OTLP_VALUE_DEPTH];
  size_t depth;
  struct buf *out;
};

// Where the first item of the object's "values" would stand; NULL: it has none.
static const char *find_values(struct otlp_json *json, const char *at)
{
  bool is_null;
  struct otlp_text key;
  at = otlp_json_open(json, at, '{', &is_null);
  for (bool is_first = true; at != NULL && !is_null; is_first = false) {
    at = otlp_json_member(json, at, is_first, &key);
    if (at == NULL || key.at == NULL)
      return NULL;
    if (OTLP_TEXT_IS(key, "values") && *at == '[')
      return at + 1;
    at = otlp_json_skip(json, at);
  }
  return NULL;
}

static const char *enter(struct walk *walk, const struct otlp_value *value)
{
  bool is_map = value->type == OTLP_MAP;
  if (walk->depth == OTLP_VALUE_DEPTH)
    return OTLP_TOO_DEEP;
  const char *values = find_values(&walk->json, value->text.at);
  if (walk->json.scan.problem != NULL)
    return walk->json.scan.problem;
  if (values == NULL) {
    buf_text(walk->out, is_map ? "{}" : "[]");
    return NULL;
  }
  walk->frames[walk->depth++] = (struct frame){.at = values, .is_map = is_map};
  buf_put(walk->out, is_map ? "{" : "[", 1);
  return NULL;
}

const char *otlp_json_nested(const struct otlp_value *value, struct buf *out)
{
  struct walk walk = {.out = out};
  walk.json.scan = (struct json_scan){.end = value->text.at + value->text.length, .is_last = true};
  const char *problem = enter(&walk, value);
  while (problem == NULL && walk.depth > 0) {
    struct frame *frame = &walk.frames[walk.depth - 1];
    struct otlp_attribute item = {.key = {"", 0}};
    bool has_item;
    const char *at = otlp_json_item(&walk.json, frame->at, !frame->has_item, &has_item);
    if (at != NULL && has_item)
      at = frame->is_map ? otlp_json_pair(&walk.json, at, &item) : otlp_json_value(&walk.json, at, &item.value);
    if (at == NULL) {
      problem = walk.json.scan.problem != NULL ? walk.json.scan.problem : "a value is cut short";
      break;
    }
    if (!has_item) {
      buf_put(out, frame->is_map ? "}" : "]", 1);
      walk.depth--;
      continue;
    }
    buf_put(out, ",", frame->has_item);
    frame->has_item = true;
    frame->at = at;
    if (frame->is_map) {
      otlp_text_json(item.key, out);
      buf_put(out, ":", 1);
    }
    if (item.value.type == OTLP_ARRAY || item.value.type == OTLP_MAP)
      problem = enter(&walk, &item.value);
    else if (item.value.type == OTLP_BYTES)
      otlp_text_json(item.value.text, out);
    else
      otlp_scalar_json(&item.value, out);
  }
  otlp_json_done(&walk.json);
  return problem;
}
