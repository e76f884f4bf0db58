// SPDX-License-Identifier: Apache-2.0
// Decodes OTLP's JSON mapping: spans, resources, scopes. Called by the importer for one span at a time; the structure
// around them is otlp_import_json.c. Written for speed: one pass, texts without escapes are not copied.
#include "otlp/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 12 // containers around the deepest value that is not read here
#define ROOM_BYTES ((size_t)16 << 10)

// ---- texts -----------------------------------------------------------------------------------------------------------
void otlp_json_forget(struct otlp_json *json)
{
  if (json->decoded.head == NULL)
    return;
  arena_done(&json->decoded);
  json->room = NULL;
  json->room_left = 0;
}

static const char *decode(struct otlp_json *json, const char *behind, const struct json_string *string,
                          struct otlp_text *ret_text)
{
  size_t need = string->length * 3;
  if (need > json->room_left) {
    size_t size = need > ROOM_BYTES ? need : ROOM_BYTES;
    json->room = arena_alloc(&json->decoded, size);
    json->room_left = json->room != NULL ? size : 0;
    if (json->room == NULL)
      return json_scan_fail(&json->scan, string->at, "out of memory for a text");
  }
  *ret_text = (struct otlp_text){json->room, json_decode(string->at, string->length, json->room)};
  json->room += ret_text->length;
  json->room_left -= ret_text->length;
  return behind;
}

static inline const char *read_string(struct otlp_json *json, const char *at, struct otlp_text *ret_text)
{
  struct json_string string;
  at = json_scan_string(&json->scan, at + 1, &string);
  if (at == NULL || !string.is_plain)
    return at == NULL ? NULL : decode(json, at, &string, ret_text);
  *ret_text = (struct otlp_text){string.at, string.length};
  return at;
}

const char *otlp_json_skip(struct otlp_json *json, const char *at)
{
  bool is_plain;
  return json_scan_value(&json->scan, at, DEPTH, &is_plain);
}

// `null` stands for the absence of any field.
static const char *read_null(struct otlp_json *json, const char *at, const char *expected)
{
  return *at == 'n' ? otlp_json_skip(json, at) : json_scan_short(&json->scan, at, expected);
}

const char *otlp_json_text(struct otlp_json *json, const char *at, struct otlp_text *ret_text)
{
  return *at == '"' ? read_string(json, at, ret_text) : read_null(json, at, "a text was expected");
}

// ---- containers ------------------------------------------------------------------------------------------------------
const char *otlp_json_open(struct otlp_json *json, const char *at, char bracket, bool *ret_is_null)
{
  *ret_is_null = false;
  if (*at == bracket)
    return at + 1;
  *ret_is_null = true;
  return read_null(json, at, bracket == '{' ? "an object was expected" : "an array was expected");
}

const char *otlp_json_member(struct otlp_json *json, const char *at, bool is_first, struct otlp_text *ret_key)
{
  ret_key->at = NULL;
  at = json_scan_space(at);
  if (*at == '}')
    return at + 1;
  if (!is_first) {
    if (*at != ',')
      return json_scan_short(&json->scan, at, "',' or '}' was expected");
    at = json_scan_space(at + 1);
  }
  if (*at != '"')
    return json_scan_short(&json->scan, at, "a key in quotes was expected");
  if ((at = read_string(json, at, ret_key)) == NULL)
    return NULL;
  at = json_scan_space(at);
  if (*at != ':')
    return json_scan_short(&json->scan, at, "':' was expected behind a key");
  return json_scan_space(at + 1);
}

const char *otlp_json_item(struct otlp_json *json, const char *at, bool is_first, bool *ret_has_item)
{
  *ret_has_item = false;
  at = json_scan_space(at);
  if (*at == ']')
    return at + 1;
  if (!is_first) {
    if (*at != ',')
      return json_scan_short(&json->scan, at, "',' or ']' was expected");
    at = json_scan_space(at + 1);
  }
  *ret_has_item = true;
  return at;
}

// ---- numbers ---------------------------------------------------------------------------------------------------------
// The digits of a number, which may stand in quotes. null: at is NULL.
static const char *read_digits(struct otlp_json *json, const char *at, struct otlp_text *ret_digits)
{
  *ret_digits = (struct otlp_text){NULL, 0};
  if (*at == '"')
    return read_string(json, at, ret_digits);
  if (*at != '-' && (*at < '0' || *at > '9'))
    return read_null(json, at, "a number was expected");
  const char *end = json_scan_number(&json->scan, at);
  if (end != NULL)
    *ret_digits = (struct otlp_text){at, (size_t)(end - at)};
  return end;
}

const char *otlp_json_time(struct otlp_json *json, const char *at, bool *ret_has_time, int64_t *ret_time_ns)
{
  struct otlp_text digits;
  const char *behind = read_digits(json, at, &digits);
  if (behind == NULL || digits.at == NULL)
    return behind;
  enum otlp_number number = otlp_read_number(digits, ret_time_ns);
  *ret_has_time = true;
  if (number == OTLP_BEYOND)
    return json_scan_fail(&json->scan, at, "a time is beyond int64 nanoseconds");
  if (number == OTLP_NO_NUMBER || *ret_time_ns < 0)
    return json_scan_fail(&json->scan, at, "a time is no number of nanoseconds since an epoch");
  return behind;
}

// Enumerations: a number, also in quotes; their names say nothing here but for those of `names`.
const char *otlp_json_enum(struct otlp_json *json, const char *at, const char *prefix, const char *const *names,
                           uint64_t *ret_value)
{
  struct otlp_text digits;
  int64_t number = 0;
  const char *behind = read_digits(json, at, &digits);
  if (behind == NULL || digits.at == NULL)
    return behind;
  size_t skipped = strlen(prefix);
  if (digits.length > skipped && memcmp(digits.at, prefix, skipped) == 0) {
    for (uint64_t i = 0; names[i] != NULL; i++)
      if (otlp_text_is((struct otlp_text){digits.at + skipped, digits.length - skipped}, names[i], strlen(names[i])))
        *ret_value = i;
    return behind;
  }
  if (otlp_read_number(digits, &number) != OTLP_WHOLE)
    return json_scan_fail(&json->scan, at, "a number was expected");
  *ret_value = (uint64_t)number;
  return behind;
}

// ---- values ----------------------------------------------------------------------------------------------------------
static const char *read_int(struct otlp_json *json, const char *at, struct otlp_value *ret_value)
{
  struct otlp_text digits;
  at = read_digits(json, at, &digits);
  if (at == NULL || digits.at == NULL)
    return at;
  *ret_value = (struct otlp_value){.type = OTLP_INT, .is_json = true};
  enum otlp_number number = otlp_read_number(digits, &ret_value->integer);
  if (number == OTLP_FRACTION)
    *ret_value = (struct otlp_value){.type = OTLP_DOUBLE, .is_json = true, .real = otlp_json_double(json, digits)};
  else if (number != OTLP_WHOLE)
    *ret_value = (struct otlp_value){.type = OTLP_TEXT, .is_json = true, .text = digits};
  return at;
}

static const char *read_double(struct otlp_json *json, const char *at, struct otlp_value *ret_value)
{
  struct otlp_text digits;
  int64_t whole;
  at = read_digits(json, at, &digits);
  if (at == NULL || digits.at == NULL)
    return at;
  double real = NAN;
  bool is_known = OTLP_TEXT_IS(digits, "NaN");
  if (OTLP_TEXT_IS(digits, "Infinity") || OTLP_TEXT_IS(digits, "-Infinity")) {
    real = digits.length == 8 ? INFINITY : -INFINITY;
    is_known = true;
  } else if (otlp_read_number(digits, &whole) != OTLP_NO_NUMBER) {
    real = otlp_json_double(json, digits);
    is_known = isfinite(real);
  }
  *ret_value = (struct otlp_value){.type = OTLP_DOUBLE, .is_json = true, .real = real};
  if (!is_known)
    *ret_value = (struct otlp_value){.type = OTLP_TEXT, .is_json = true, .text = digits};
  return at;
}

static const char *read_bool(struct otlp_json *json, const char *at, struct otlp_value *ret_value)
{
  if (*at != 't' && *at != 'f')
    return read_null(json, at, "true or false was expected");
  *ret_value = (struct otlp_value){.type = OTLP_BOOL, .is_json = true, .integer = *at == 't'};
  return otlp_json_skip(json, at);
}

static const char *read_slice(struct otlp_json *json, const char *at, enum otlp_type type, struct otlp_value *ret_value)
{
  if (*at != '{')
    return read_null(json, at, "an object was expected");
  const char *behind = otlp_json_skip(json, at);
  if (behind != NULL)
    *ret_value = (struct otlp_value){.type = (uint8_t)type, .is_json = true, .text = {at, (size_t)(behind - at)}};
  return behind;
}

static const char *read_text_value(struct otlp_json *json, const char *at, enum otlp_type type,
                                   struct otlp_value *ret_value)
{
  struct otlp_text text = {NULL, 0};
  at = otlp_json_text(json, at, &text);
  if (at != NULL && text.at != NULL)
    *ret_value = (struct otlp_value){.type = (uint8_t)type, .is_json = true, .text = text};
  return at;
}

const char *otlp_json_value(struct otlp_json *json, const char *at, struct otlp_value *ret_value)
{
  bool is_null;
  struct otlp_text key;
  *ret_value = (struct otlp_value){.is_json = true};
  at = otlp_json_open(json, at, '{', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false) {
    if (OTLP_TEXT_IS(key, "stringValue") || OTLP_TEXT_IS(key, "string_value"))
      at = read_text_value(json, at, OTLP_TEXT, ret_value);
    else if (OTLP_TEXT_IS(key, "intValue") || OTLP_TEXT_IS(key, "int_value"))
      at = read_int(json, at, ret_value);
    else if (OTLP_TEXT_IS(key, "doubleValue") || OTLP_TEXT_IS(key, "double_value"))
      at = read_double(json, at, ret_value);
    else if (OTLP_TEXT_IS(key, "boolValue") || OTLP_TEXT_IS(key, "bool_value"))
      at = read_bool(json, at, ret_value);
    else if (OTLP_TEXT_IS(key, "arrayValue") || OTLP_TEXT_IS(key, "array_value"))
      at = read_slice(json, at, OTLP_ARRAY, ret_value);
    else if (OTLP_TEXT_IS(key, "kvlistValue") || OTLP_TEXT_IS(key, "kvlist_value"))
      at = read_slice(json, at, OTLP_MAP, ret_value);
    else if (OTLP_TEXT_IS(key, "bytesValue") || OTLP_TEXT_IS(key, "bytes_value"))
      at = read_text_value(json, at, OTLP_BYTES, ret_value);
    else
      at = otlp_json_skip(json, at);
    if (at == NULL)
      return NULL;
  }
  return at;
}

const char *otlp_json_pair(struct otlp_json *json, const char *at, struct otlp_attribute *attribute)
{
  bool is_null;
  struct otlp_text key;
  *attribute = (struct otlp_attribute){.key = {"", 0}, .value = {.is_json = true}};
  at = otlp_json_open(json, at, '{', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false) {
    if (OTLP_TEXT_IS(key, "key"))
      at = otlp_json_text(json, at, &attribute->key);
    else if (OTLP_TEXT_IS(key, "value"))
      at = otlp_json_value(json, at, &attribute->value);
    else
      at = otlp_json_skip(json, at);
    if (at == NULL)
      return NULL;
  }
  return at;
}

// ---- lists -----------------------------------------------------------------------------------------------------------
const char *otlp_json_list(struct otlp_json *json, const char *at, otlp_json_reader *read_item)
{
  bool is_null;
  bool has_item;
  at = otlp_json_open(json, at, '[', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_item(json, at, is_first, &has_item)) != NULL && has_item; is_first = false)
    if ((at = read_item(json, at)) == NULL)
      return NULL;
  return at;
}

void otlp_json_done(struct otlp_json *json)
{
  otlp_parts_done(&json->parts);
  arena_done(&json->decoded);
  *json = (struct otlp_json){0};
}
