// SPDX-License-Identifier: Apache-2.0
// The two encodings of OTLP: protobuf, and its JSON mapping (lowerCamelCase, ids in hex, 64-bit integers as texts).
#include "otlp/encode.h"

#include "base/decimal.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "base/wire_write.h"

#include <math.h>

void otlp_out_init(struct otlp_out *out, bool is_json, struct buf *buf)
{
  *out = (struct otlp_out){.buf = buf, .is_json = is_json};
  buf_init(&out->key, BUF_MAXIMUM_DEFAULT);
}

void otlp_out_done(struct otlp_out *out)
{
  buf_done(&out->key);
}

void otlp_out_start(struct otlp_out *out)
{
  json_start(&out->json, out->buf);
}

// ---- messages --------------------------------------------------------------------------------------------------------
size_t otlp_out_message(struct otlp_out *out, enum otlp_field_id field)
{
  if (!out->is_json)
    return protobuf_begin(out->buf, otlp_number(field));
  uint8_t form = otlp_fields[field].step.form;
  if (form != OTLP_FORM_LIST && form != OTLP_FORM_ITEMS)
    json_key(&out->json, otlp_fields[field].name);
  json_object(&out->json);
  return 0;
}

void otlp_out_message_end(struct otlp_out *out, size_t place)
{
  if (out->is_json)
    json_object_end(&out->json);
  else
    protobuf_end(out->buf, place);
}

void otlp_out_list(struct otlp_out *out, enum otlp_field_id field)
{
  if (!out->is_json)
    return;
  json_key(&out->json, otlp_fields[field].name);
  json_array(&out->json);
}

void otlp_out_list_end(struct otlp_out *out)
{
  if (out->is_json)
    json_array_end(&out->json);
}

// ---- fields ----------------------------------------------------------------------------------------------------------
void otlp_out_text(struct otlp_out *out, enum otlp_field_id field, const char *text, size_t length)
{
  if (out->is_json) {
    json_key(&out->json, otlp_fields[field].name);
    json_string_n(&out->json, text, length);
  } else if (utf8_is_ascii(text, length)) {
    protobuf_bytes(out->buf, otlp_number(field), text, length);
  } else { // protobuf's readers refuse what is not UTF-8
    size_t place = protobuf_begin(out->buf, otlp_number(field));
    buf_utf8(out->buf, text, length);
    protobuf_end(out->buf, place);
  }
}

void otlp_out_id(struct otlp_out *out, enum otlp_field_id field, const uint8_t *bytes, size_t length)
{
  char text[33];
  if (!out->is_json) {
    protobuf_bytes(out->buf, otlp_number(field), bytes, length);
    return;
  }
  hex_encode(text, bytes, length);
  otlp_out_text(out, field, text, 2 * length);
}

void otlp_real_json(struct json_writer *json, double real)
{
  if (isfinite(real))
    json_double(json, real);
  else
    json_string(json, isnan(real) ? "NaN" : real > 0 ? "Infinity" : "-Infinity");
}

void otlp_out_enum(struct otlp_out *out, enum otlp_field_id field, unsigned value)
{
  if (!out->is_json) {
    protobuf_varint(out->buf, otlp_number(field), value);
    return;
  }
  json_key(&out->json, otlp_fields[field].name);
  json_int(&out->json, value);
}

// JSON has 64-bit numbers as texts.
static struct buf *begin_digits(struct otlp_out *out, enum otlp_field_id field)
{
  json_key(&out->json, otlp_fields[field].name);
  json_written(&out->json, "\"");
  return out->buf;
}

void otlp_out_time(struct otlp_out *out, enum otlp_field_id field, uint64_t time_ns)
{
  if (!out->is_json) {
    protobuf_fixed64(out->buf, otlp_number(field), time_ns);
    return;
  }
  decimal_unsigned(begin_digits(out, field), time_ns);
  buf_text(out->buf, "\"");
}

// ---- attributes ------------------------------------------------------------------------------------------------------
static void put_value(struct otlp_out *out, const struct otlp_value *value)
{
  if (value->type == OTLP_TEXT) {
    otlp_out_text(out, OTLP_VALUE_STRING, value->text.data, value->text.length);
  } else if (value->type == OTLP_INT && out->is_json) {
    decimal_int(begin_digits(out, OTLP_VALUE_INT), value->integer);
    buf_text(out->buf, "\"");
  } else if (value->type == OTLP_INT) {
    protobuf_varint(out->buf, otlp_number(OTLP_VALUE_INT), (uint64_t)value->integer);
  } else if (value->type == OTLP_BOOL && out->is_json) {
    json_key(&out->json, otlp_fields[OTLP_VALUE_BOOL].name);
    json_bool(&out->json, value->integer != 0);
  } else if (value->type == OTLP_BOOL) {
    protobuf_varint(out->buf, otlp_number(OTLP_VALUE_BOOL), value->integer != 0);
  } else if (out->is_json) {
    json_key(&out->json, otlp_fields[OTLP_VALUE_DOUBLE].name);
    otlp_real_json(&out->json, value->real);
  } else {
    protobuf_double(out->buf, otlp_number(OTLP_VALUE_DOUBLE), value->real);
  }
}

void otlp_out_attribute(struct otlp_out *out, enum otlp_field_id field, const char *prefix, struct slice key,
                        struct otlp_value value)
{
  if (prefix[0] != 0) {
    buf_clear(&out->key);
    buf_text(&out->key, prefix);
    buf_put(&out->key, key.data, key.length);
    out->buf->failed |= out->key.failed;
    key = (struct slice){out->key.data != NULL ? out->key.data : "", out->key.length};
  }
  size_t pair = otlp_out_message(out, field);
  otlp_out_text(out, OTLP_PAIR_KEY, key.data, key.length);
  size_t place = otlp_out_message(out, OTLP_PAIR_VALUE);
  put_value(out, &value);
  otlp_out_message_end(out, place);
  otlp_out_message_end(out, pair);
}
