// SPDX-License-Identifier: Apache-2.0
// Writes JSON into a buf: commas, escapes and number forms are right by construction.
#ifndef XSP_BASE_JSON_WRITE_H
#define XSP_BASE_JSON_WRITE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define JSON_WRITE_DEPTH 32 // containers inside containers; deeper is a contract violation

struct json_writer {
  struct buf *out; // borrowed
  unsigned depth;
  bool has_item[JSON_WRITE_DEPTH];
  bool after_key;
};

void json_start(struct json_writer *json, struct buf *out);
void json_object(struct json_writer *json); // {
void json_object_end(struct json_writer *json);
void json_array(struct json_writer *json); // [
void json_array_end(struct json_writer *json);
void json_key(struct json_writer *json, const char *key);
void json_string(struct json_writer *json, const char *text);                  // NULL writes null
void json_string_n(struct json_writer *json, const char *text, size_t length); // invalid UTF-8 becomes U+FFFD
void json_int(struct json_writer *json, int64_t value);
void json_double(struct json_writer *json, double value); // as json_shortest; NaN and inf: null
#define JSON_SHORTEST_BYTES 40
void json_shortest(double value, char ret_text[JSON_SHORTEST_BYTES]); // the shortest form that reads back equal
void json_bool(struct json_writer *json, bool value);
void json_null(struct json_writer *json);
void json_written(struct json_writer *json, const char *value); // one well-formed value, as it is
// Likewise, or several with commas between.
void json_written_n(struct json_writer *json, const char *values, size_t length);

// A key and its value.
static inline void json_member_int(struct json_writer *json, const char *key, int64_t value)
{
  json_key(json, key);
  json_int(json, value);
}
static inline void json_member_string(struct json_writer *json, const char *key, const char *text)
{
  json_key(json, key);
  json_string(json, text);
}
static inline void json_member_double(struct json_writer *json, const char *key, double value)
{
  json_key(json, key);
  json_double(json, value);
}
static inline void json_member_bool(struct json_writer *json, const char *key, bool value)
{
  json_key(json, key);
  json_bool(json, value);
}
static inline void json_member_object(struct json_writer *json, const char *key)
{
  json_key(json, key);
  json_object(json);
}
static inline void json_member_array(struct json_writer *json, const char *key)
{
  json_key(json, key);
  json_array(json);
}
// A key and an integer; null where it is 0.
static inline void json_member_int_or_null(struct json_writer *json, const char *key, int64_t value)
{
  json_key(json, key);
  if (value != 0)
    json_int(json, value);
  else
    json_null(json);
}
// An array of integers.
static inline void json_ints(struct json_writer *json, const int64_t *values, size_t count)
{
  json_array(json);
  for (size_t i = 0; i < count; i++)
    json_int(json, values[i]);
  json_array_end(json);
}
static inline void json_member_ints(struct json_writer *json, const char *key, const int64_t *values, size_t count)
{
  json_key(json, key);
  json_ints(json, values, count);
}

#endif
