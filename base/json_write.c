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

// Bytes that are written as they are, eight at a time: ASCII, no control character, quote or backslash.
static bool are_plain(uint64_t bytes)
{
  const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
  uint64_t quotes = bytes ^ ones * '"', backslashes = bytes ^ ones * '\\';
  return (((bytes - ones * 0x20) | (quotes - ones) | (backslashes - ones) | bytes) & tops) == 0;
}

static bool is_plain(const char *text, size_t length)
{
  uint64_t word = UINT64_C(0x2020202020202020);
  if (length < 8) {
    for (size_t i = 0; i < length; i++)
      word = word << 8 | (unsigned char)text[i];
    return are_plain(word);
  }
  for (const char *last = text + length - 8; text < last; text += 8) {
    memcpy(&word, text, 8);
    if (!are_plain(word))
      return false;
    length -= 8;
  }
  memcpy(&word, text + length - 8, 8);
  return are_plain(word);
}

static bool put_plain_string(struct buf *out, const char *text, size_t length)
{
  char *to = buf_room(out, length + 2);
  if (to == NULL)
    return false;
  *to = '"';
  memcpy(to + 1, text, length);
  to[length + 1] = '"';
  buf_filled(out, to + length + 2);
  return true;
}

static void put_string(struct json_writer *json, const char *text, size_t length)
{
  struct buf *out = json->out;
  if (length > 0 && is_plain(text, length)) {
    (void)put_plain_string(out, text, length);
    return;
  }
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

// Of up to six decimals and nine digits before them: the quotient of two exact numbers is what a reader makes of the digits. False: it
// has more.
static bool write_short(double value, char *to)
{
  static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
  double size = fabs(value);
  if (!(size < 1e9) || (size < 1e-3 && size > 0))
    return false;
  for (unsigned decimals = 0; decimals < sizeof powers / sizeof powers[0]; decimals++) {
    uint64_t digits = (uint64_t)(size * powers[decimals] + 0.5), rest = digits;
    if ((double)digits / powers[decimals] != size)
      continue;
    char text[24], *at = text + sizeof text;
    *--at = 0;
    for (unsigned i = 0; i <= decimals || rest > 0; i++, rest /= 10) {
      if (i == decimals && decimals > 0)
        *--at = '.';
      *--at = (char)('0' + rest % 10);
    }
    if (signbit(value))
      *--at = '-';
    memcpy(to, at, (size_t)(text + sizeof text - at));
    return true;
  }
  return false;
}

void json_shortest(double value, char ret_text[JSON_SHORTEST_BYTES])
{
  if (write_short(value, ret_text))
    return;
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

void json_written_n(struct json_writer *json, const char *values, size_t length)
{
  before_value(json);
  buf_put(json->out, values, length);
}

void json_written(struct json_writer *json, const char *value)
{
  json_written_n(json, value, strlen(value));
}

void json_null(struct json_writer *json)
{
  before_value(json);
  buf_text(json->out, "null");
}
