// SPDX-License-Identifier: Apache-2.0
// Writes values of OTLP as text. Called by the model for what a tag cannot hold as it is.
#include "otlp/value.h"

#include "base/json_write.h"

#include <math.h>

void otlp_text_json(struct otlp_text text, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_string_n(&json, text.at != NULL ? text.at : "", text.length);
}

void otlp_base64(struct otlp_text bytes, struct buf *out)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *at = (const unsigned char *)bytes.at;
  for (size_t left = bytes.length; left > 0; left -= left < 3 ? left : 3, at += 3) {
    unsigned second = left > 1 ? at[1] : 0;
    unsigned third = left > 2 ? at[2] : 0;
    char four[4] = {digits[at[0] >> 2], digits[(at[0] & 3u) << 4 | second >> 4],
                    left > 1 ? digits[(second & 15u) << 2 | third >> 6] : '=', left > 2 ? digits[third & 63u] : '='};
    buf_put(out, four, sizeof four);
  }
}

void otlp_scalar_json(const struct otlp_value *value, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  switch (value->type) {
  case OTLP_TEXT:
    otlp_text_json(value->text, out);
    break;
  case OTLP_BOOL:
    json_bool(&json, value->integer != 0);
    break;
  case OTLP_INT:
    json_int(&json, value->integer);
    break;
  case OTLP_DOUBLE:
    if (isfinite(value->real))
      json_double(&json, value->real);
    else
      json_string(&json, isnan(value->real) ? "NaN" : value->real > 0 ? "Infinity" : "-Infinity");
    break;
  default:
    json_null(&json);
  }
}

const char *otlp_value_text(const struct otlp_value *value, struct buf *out)
{
  switch (value->type) {
  case OTLP_EMPTY:
    return NULL;
  case OTLP_TEXT:
    buf_put(out, value->text.at, value->text.length);
    return NULL;
  case OTLP_BYTES:
    if (value->is_json) // base64 already
      buf_put(out, value->text.at, value->text.length);
    else
      otlp_base64(value->text, out);
    return NULL;
  case OTLP_ARRAY:
  case OTLP_MAP:
    return value->is_json ? otlp_json_nested(value, out) : otlp_proto_nested(value, out);
  default:
    otlp_scalar_json(value, out);
    return NULL;
  }
}

const char *otlp_attributes_text(const struct otlp_attribute *attributes, size_t count, struct buf *out)
{
  const char *problem = NULL;
  buf_put(out, "{", 1);
  for (size_t i = 0; i < count && problem == NULL; i++) {
    const struct otlp_value *value = &attributes[i].value;
    buf_put(out, ",", i > 0);
    otlp_text_json(attributes[i].key, out);
    buf_put(out, ":", 1);
    if (value->type == OTLP_ARRAY || value->type == OTLP_MAP) {
      problem = otlp_value_text(value, out);
    } else if (value->type == OTLP_BYTES) { // base64 needs no escapes, but JSON's bytes may be any text
      struct buf text;
      buf_init(&text, BUF_MAXIMUM_DEFAULT);
      problem = otlp_value_text(value, &text);
      otlp_text_json((struct otlp_text){text.data != NULL ? text.data : "", text.length}, out);
      buf_done(&text);
    } else {
      otlp_scalar_json(value, out);
    }
  }
  buf_put(out, "}", 1);
  return problem;
}
