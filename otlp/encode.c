// SPDX-License-Identifier: Apache-2.0
// The two encodings of OTLP: protobuf, and its JSON mapping (lowerCamelCase, ids in hex, 64-bit integers as texts).
#include "otlp/encode.h"

#include "base/wire_write.h"
#include "otlp/attributes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
size_t otlp_out_message(struct otlp_out *out, unsigned field, const char *name)
{
  if (!out->is_json)
    return protobuf_begin(out->buf, field);
  if (name != NULL)
    json_key(&out->json, name);
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

void otlp_out_list(struct otlp_out *out, const char *name)
{
  if (!out->is_json)
    return;
  json_key(&out->json, name);
  json_array(&out->json);
}

void otlp_out_list_end(struct otlp_out *out)
{
  if (out->is_json)
    json_array_end(&out->json);
}

// ---- fields ----------------------------------------------------------------------------------------------------------
static bool is_ascii(const char *text, size_t length)
{
  uint64_t word;
  for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
    memcpy(&word, text, sizeof word);
    if ((word & UINT64_C(0x8080808080808080)) != 0)
      return false;
  }
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] >= 0x80)
      return false;
  return true;
}

// Protobuf's readers refuse what is not UTF-8. Nearly all texts are ASCII.
static void put_text(struct otlp_out *out, unsigned field, const char *text, size_t length)
{
  if (is_ascii(text, length)) {
    protobuf_bytes(out->buf, field, text, length);
    return;
  }
  size_t place = protobuf_begin(out->buf, field);
  buf_utf8(out->buf, text, length);
  protobuf_end(out->buf, place);
}

void otlp_out_text(struct otlp_out *out, unsigned field, const char *name, const char *text, size_t length)
{
  if (!out->is_json) {
    put_text(out, field, text, length);
    return;
  }
  json_key(&out->json, name);
  json_string_n(&out->json, text, length);
}

void otlp_out_id(struct otlp_out *out, unsigned field, const char *name, const uint8_t *bytes, size_t length)
{
  static const char digits[] = "0123456789abcdef";
  char text[33];
  if (!out->is_json) {
    protobuf_bytes(out->buf, field, bytes, length);
    return;
  }
  for (size_t i = 0; i < length; i++) {
    text[2 * i] = digits[bytes[i] >> 4];
    text[2 * i + 1] = digits[bytes[i] & 15];
  }
  json_key(&out->json, name);
  json_string_n(&out->json, text, 2 * length);
}

void otlp_out_enum(struct otlp_out *out, unsigned field, const char *name, unsigned value)
{
  if (!out->is_json) {
    protobuf_varint(out->buf, field, value);
    return;
  }
  json_key(&out->json, name);
  json_int(&out->json, value);
}

void otlp_out_time(struct otlp_out *out, unsigned field, const char *name, uint64_t time_ns)
{
  char text[24];
  if (!out->is_json) {
    protobuf_fixed64(out->buf, field, time_ns);
    return;
  }
  snprintf(text, sizeof text, "%" PRIu64, time_ns);
  json_key(&out->json, name);
  json_string(&out->json, text);
}

// ---- attributes ------------------------------------------------------------------------------------------------------
struct otlp_key_text otlp_key(const char *text)
{
  return (struct otlp_key_text){"", text, strlen(text)};
}

struct places {
  size_t pair, value;
};

static struct places begin_attribute(struct otlp_out *out, unsigned field, struct otlp_key_text key, const char *type)
{
  struct places places = {0};
  buf_clear(&out->key);
  buf_text(&out->key, key.prefix);
  buf_put(&out->key, key.text, key.length);
  out->buf->failed |= out->key.failed;
  places.pair = otlp_out_message(out, field, NULL);
  otlp_out_text(out, OTLP_PAIR_KEY, "key", out->key.data != NULL ? out->key.data : "", out->key.length);
  places.value = otlp_out_message(out, OTLP_PAIR_VALUE, "value");
  if (out->is_json)
    json_key(&out->json, type);
  return places;
}

static void end_attribute(struct otlp_out *out, struct places places)
{
  otlp_out_message_end(out, places.value);
  otlp_out_message_end(out, places.pair);
}

void otlp_out_attribute_text(struct otlp_out *out, unsigned field, struct otlp_key_text key, const char *text,
                             size_t length)
{
  struct places places = begin_attribute(out, field, key, "stringValue");
  if (out->is_json)
    json_string_n(&out->json, text, length);
  else
    put_text(out, OTLP_VALUE_STRING, text, length);
  end_attribute(out, places);
}

void otlp_out_attribute_int(struct otlp_out *out, unsigned field, struct otlp_key_text key, int64_t value)
{
  struct places places = begin_attribute(out, field, key, "intValue");
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, value);
  if (out->is_json)
    json_string(&out->json, text);
  else
    protobuf_varint(out->buf, OTLP_VALUE_INT, (uint64_t)value);
  end_attribute(out, places);
}

void otlp_out_attribute_double(struct otlp_out *out, unsigned field, struct otlp_key_text key, double value)
{
  struct places places = begin_attribute(out, field, key, "doubleValue");
  if (!out->is_json)
    protobuf_double(out->buf, OTLP_VALUE_DOUBLE, value);
  else if (isfinite(value))
    json_double(&out->json, value);
  else
    json_string(&out->json, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  end_attribute(out, places);
}

void otlp_out_attribute_bool(struct otlp_out *out, unsigned field, struct otlp_key_text key, bool value)
{
  struct places places = begin_attribute(out, field, key, "boolValue");
  if (out->is_json)
    json_bool(&out->json, value);
  else
    protobuf_varint(out->buf, OTLP_VALUE_BOOL, value);
  end_attribute(out, places);
}
