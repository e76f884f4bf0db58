// SPDX-License-Identifier: Apache-2.0
// JSON writer over buf; see json_write.h. No reading here.
#include "base/json_write.h"

#include "base/decimal.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_start(struct json_writer *json, struct buf *out)
{
  *json = (struct json_writer){.out = out};
}

static void before_value(struct json_writer *json)
{
  if (json->after_key) {
    json->after_key = false;
    return;
  }
  if (json->depth > 0) {
    if (json->has_item[json->depth - 1])
      buf_put(json->out, ",", 1);
    json->has_item[json->depth - 1] = true;
  }
}

static void open_container(struct json_writer *json, const char *bracket)
{
  before_value(json);
  buf_put(json->out, bracket, 1);
  if (json->depth >= JSON_WRITE_DEPTH) {
    json->out->failed = true;
    return;
  }
  json->has_item[json->depth++] = false;
}

static void close_container(struct json_writer *json, const char *bracket)
{
  if (json->depth > 0)
    json->depth--;
  buf_put(json->out, bracket, 1);
}

void json_object(struct json_writer *json)
{
  open_container(json, "{");
}

void json_object_end(struct json_writer *json)
{
  close_container(json, "}");
}

void json_array(struct json_writer *json)
{
  open_container(json, "[");
}

void json_array_end(struct json_writer *json)
{
  close_container(json, "]");
}

static void put_string(struct json_writer *json, const char *text, size_t length)
{
  struct buf *out = json->out;
  buf_put(out, "\"", 1);
  const unsigned char *bytes = (const unsigned char *)text;
  size_t plain = 0; // start of the run not yet copied
  for (size_t i = 0; i < length;) {
    unsigned char byte = bytes[i];
    if (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\') {
      i++;
      continue;
    }
    size_t sequence = utf8_sequence(bytes + i, length - i);
    if (sequence > 1) {
      i += sequence;
      continue;
    }
    buf_put(out, text + plain, i - plain);
    if (sequence == 0)
      buf_text(out, "\xef\xbf\xbd");
    else if (byte == '"' || byte == '\\')
      buf_format(out, "\\%c", byte);
    else if (byte == '\n')
      buf_text(out, "\\n");
    else if (byte == '\t')
      buf_text(out, "\\t");
    else
      buf_format(out, "\\u%04x", byte);
    plain = ++i;
  }
  buf_put(out, text + plain, length - plain);
  buf_put(out, "\"", 1);
}

void json_key(struct json_writer *json, const char *key)
{
  before_value(json);
  put_string(json, key, strlen(key));
  buf_put(json->out, ":", 1);
  json->after_key = true;
}

void json_string_n(struct json_writer *json, const char *text, size_t length)
{
  before_value(json);
  put_string(json, text, length);
}

void json_string(struct json_writer *json, const char *text)
{
  if (text == NULL)
    json_null(json);
  else
    json_string_n(json, text, strlen(text));
}

void json_int(struct json_writer *json, int64_t value)
{
  before_value(json);
  decimal_int(json->out, value);
}

void json_shortest(double value, char ret_text[JSON_SHORTEST_BYTES])
{
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(ret_text, JSON_SHORTEST_BYTES, "%.*g", digits, value);
    if (strtod(ret_text, NULL) == value)
      break;
  }
}

void json_double(struct json_writer *json, double value)
{
  if (!isfinite(value)) {
    json_null(json);
    return;
  }
  before_value(json);
  char text[JSON_SHORTEST_BYTES];
  json_shortest(value, text);
  buf_text(json->out, text);
}

void json_bool(struct json_writer *json, bool value)
{
  before_value(json);
  buf_text(json->out, value ? "true" : "false");
}

void json_written(struct json_writer *json, const char *value)
{
  before_value(json);
  buf_text(json->out, value);
}

void json_null(struct json_writer *json)
{
  before_value(json);
  buf_text(json->out, "null");
}
