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
  if (value->type == OTLP_TEXT)
    otlp_out_text(out, OTLP_VALUE_STRING, value->text.data, value->text.length);
  else if (value->type == OTLP_INT)
    protobuf_varint(out->buf, otlp_number(OTLP_VALUE_INT), (uint64_t)value->integer);
  else if (value->type == OTLP_BOOL)
    protobuf_varint(out->buf, otlp_number(OTLP_VALUE_BOOL), value->integer != 0);
  else
    protobuf_double(out->buf, otlp_number(OTLP_VALUE_DOUBLE), value->real);
}

static void put_name(struct buf *out, enum otlp_field_id field)
{
  buf_put(out, "\"", 1);
  buf_text(out, otlp_fields[field].name);
  buf_put(out, "\":", 2);
}

static void put_value_json(struct otlp_out *out, const struct otlp_value *value)
{
  if (value->type == OTLP_INT) {
    put_name(out->buf, OTLP_VALUE_INT);
    buf_put(out->buf, "\"", 1);
    decimal_int(out->buf, value->integer);
    buf_put(out->buf, "\"", 1);
    return;
  }
  put_name(out->buf, value->type == OTLP_TEXT   ? OTLP_VALUE_STRING
                     : value->type == OTLP_BOOL ? OTLP_VALUE_BOOL
                                                : OTLP_VALUE_DOUBLE);
  out->json.after_key = true;
  if (value->type == OTLP_TEXT)
    json_string_n(&out->json, value->text.data, value->text.length);
  else if (value->type == OTLP_BOOL)
    json_bool(&out->json, value->integer != 0);
  else
    otlp_real_json(&out->json, value->real);
}

void otlp_out_key(const struct otlp_out *out, const char *prefix, struct slice key, struct buf *written)
{
  struct buf whole SCOPED(buf_done) = {0};
  if (prefix[0] != 0) {
    buf_text(&whole, prefix);
    buf_put(&whole, key.data, key.length);
    written->failed |= whole.failed;
    key = (struct slice){whole.data, whole.length};
  }
  struct otlp_out key_out = {.buf = written, .is_json = out->is_json};
  json_start(&key_out.json, written);
  if (out->is_json)
    json_object(&key_out.json);
  otlp_out_text(&key_out, OTLP_PAIR_KEY, key.data, key.length);
  if (out->is_json) {
    json_key(&key_out.json, otlp_fields[OTLP_PAIR_VALUE].name);
    buf_put(written, "{", 1);
  }
}

void otlp_out_attribute_of(struct otlp_out *out, enum otlp_field_id field, struct slice written,
                           struct otlp_value value)
{
  if (out->is_json) {
    json_written_n(&out->json, written.data, written.length);
    put_value_json(out, &value);
    buf_put(out->buf, "}}", 2);
    return;
  }
  size_t pair = protobuf_begin(out->buf, otlp_number(field));
  buf_put(out->buf, written.data, written.length);
  size_t place = protobuf_begin(out->buf, otlp_number(OTLP_PAIR_VALUE));
  put_value(out, &value);
  protobuf_end(out->buf, place);
  protobuf_end(out->buf, pair);
}

void otlp_out_attribute(struct otlp_out *out, enum otlp_field_id field, const char *prefix, struct slice key,
                        struct otlp_value value)
{
  buf_clear(&out->key);
  otlp_out_key(out, prefix, key, &out->key);
  out->buf->failed |= out->key.failed;
  otlp_out_attribute_of(out, field, (struct slice){out->key.data, out->key.length}, value);
}

void otlp_out_written(struct otlp_out *out, struct slice items)
{
  if (out->is_json)
    json_written_n(&out->json, items.data, items.length);
  else
    buf_put(out->buf, items.data, items.length);
}
