// SPDX-License-Identifier: Apache-2.0
// One walk over the table of fields reads any message of OTLP's JSON mapping. Called by the importer for one span at a
// time; the structure around spans is its own. One pass; texts without escapes are not copied.
#include "otlp/json.h"

#include "base/base64.h"
#include "base/hex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 12 // containers around the deepest value that is not read here
#define ROOM_BYTES ((size_t)16 << 10)

// ---- texts -----------------------------------------------------------------------------------------------------------
void otlp_json_clear(struct otlp_json *json)
{
  otlp_parts_clear(&json->parts, true);
  otlp_unknown_forget(json->unknown);
  if (json->decoded.head == NULL)
    return;
  arena_done(&json->decoded);
  json->room = NULL;
  json->room_left = 0;
}

// At most `bytes` of room for the current span.
static char *take_room(struct otlp_json *json, size_t bytes)
{
  if (bytes > json->room_left) {
    json->room_left = bytes > ROOM_BYTES ? bytes : ROOM_BYTES;
    json->room = arena_alloc(&json->decoded, json->room_left);
  }
  return json->room;
}

static struct slice use_room(struct otlp_json *json, size_t bytes)
{
  struct slice used = {json->room, bytes};
  json->room += bytes;
  json->room_left -= bytes;
  return used;
}

// Returns `next`.
static const char *take_string(struct otlp_json *json, const char *next, const struct json_string *string,
                               struct slice *ret_text)
{
  *ret_text = (struct slice){string->at, string->length};
  if (!string->is_plain)
    *ret_text = use_room(json, json_decode(string->at, string->length, take_room(json, string->length * 3)));
  return next;
}

static inline const char *read_string(struct otlp_json *json, const char *at, struct slice *ret_text)
{
  struct json_string string;
  at = json_scan_string(&json->scan, at + 1, &string);
  return at != NULL ? take_string(json, at, &string, ret_text) : NULL;
}

const char *otlp_json_skip(struct otlp_json *json, const char *at)
{
  bool is_plain;
  return json_scan_value(&json->scan, at, DEPTH, &is_plain);
}

// `null` means the absence of any field.
static const char *read_null(struct otlp_json *json, const char *at, const char *expected)
{
  return *at == 'n' ? otlp_json_skip(json, at) : json_scan_short(&json->scan, at, expected);
}

static const char *read_text(struct otlp_json *json, const char *at, struct slice *ret_text)
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

// The next member or item; false: there is none, and the position is the one after the container.
static const char *find_next(struct otlp_json *json, const char *at, char closing, bool is_first, bool *ret_has_next)
{
  at = json_scan_space(at);
  *ret_has_next = *at != closing;
  if (!*ret_has_next)
    return at + 1;
  if (is_first)
    return at;
  if (*at != ',')
    return json_scan_short(&json->scan, at, closing == '}' ? "',' or '}' was expected" : "',' or ']' was expected");
  return json_scan_space(at + 1);
}

const char *otlp_json_member(struct otlp_json *json, const char *at, bool is_first, struct slice *ret_key)
{
  struct json_string key;
  bool has_member;
  ret_key->data = NULL;
  at = find_next(json, at, '}', is_first, &has_member);
  if (at == NULL || !has_member)
    return at;
  at = json_scan_key(&json->scan, at, &key);
  return at != NULL ? take_string(json, at, &key, ret_key) : NULL;
}

const char *otlp_json_item(struct otlp_json *json, const char *at, bool is_first, bool *ret_has_item)
{
  return find_next(json, at, ']', is_first, ret_has_item);
}

// ---- numbers ---------------------------------------------------------------------------------------------------------
// The digits of a number, which may be in quotes. null: at is NULL.
static const char *read_digits(struct otlp_json *json, const char *at, struct slice *ret_digits)
{
  *ret_digits = (struct slice){NULL, 0};
  if (*at == '"')
    return read_string(json, at, ret_digits);
  if (*at != '-' && (*at < '0' || *at > '9'))
    return read_null(json, at, "a number was expected");
  const char *end = json_scan_number(&json->scan, at);
  if (end != NULL)
    *ret_digits = (struct slice){at, (size_t)(end - at)};
  return end;
}

static const char *read_time(struct otlp_json *json, const char *at, int64_t *ret_time_ns)
{
  struct slice digits;
  const char *behind = read_digits(json, at, &digits);
  if (behind == NULL || digits.data == NULL)
    return behind;
  enum otlp_number_kind number = otlp_read_number(digits, ret_time_ns);
  if (number == OTLP_BEYOND)
    return json_scan_fail(&json->scan, at, "a time is beyond int64 nanoseconds");
  if (number == OTLP_NO_NUMBER || *ret_time_ns < 0)
    return json_scan_fail(&json->scan, at, "a time is not a number of nanoseconds since an epoch");
  return behind;
}

// The prefix of the values' names, then these in order.
static const char *const kinds[] = {"SPAN_KIND_", "UNSPECIFIED", "INTERNAL", "SERVER",
                                    "CLIENT",     "PRODUCER",    "CONSUMER", NULL};
static const char *const codes[] = {"STATUS_CODE_", "UNSET", "OK", "ERROR", NULL};
static const char *const *const names_of[] = {[OTLP_KINDS] = kinds, [OTLP_CODES] = codes};

// A number, also in quotes, or a name of the field's values: unknown names leave the value as it is.
static const char *read_enum(struct otlp_json *json, const char *at, const char *const *names, uint64_t *ret_value)
{
  struct slice digits;
  int64_t number = 0;
  const char *behind = read_digits(json, at, &digits);
  if (behind == NULL || digits.data == NULL)
    return behind;
  size_t prefix = strlen(names[0]);
  if (digits.length > prefix && memcmp(digits.data, names[0], prefix) == 0) {
    for (uint64_t i = 1; names[i] != NULL; i++)
      if (slice_is((struct slice){digits.data + prefix, digits.length - prefix}, names[i]))
        *ret_value = i - 1;
    return behind;
  }
  if (otlp_read_number(digits, &number) != OTLP_WHOLE)
    return json_scan_fail(&json->scan, at, "a number was expected");
  *ret_value = (uint64_t)number;
  return behind;
}

// ---- ids -------------------------------------------------------------------------------------------------------------
// Hex digits. Protobuf's own JSON mapping, which Grafana Tempo uses, has base64 instead: 8 and 16 bytes of it end in '='.
static const char *read_hex(struct otlp_json *json, const char *at, struct slice *ret_digits)
{
  uint8_t bytes[16];
  at = read_text(json, at, ret_digits);
  if (at == NULL || ret_digits->length == 0 || ret_digits->data[ret_digits->length - 1] != '=')
    return at;
  int count = base64_decode(*ret_digits, bytes, sizeof bytes);
  if (count > 0) {
    hex_encode(take_room(json, 2 * sizeof bytes), bytes, (size_t)count);
    *ret_digits = use_room(json, 2 * (size_t)count);
  }
  return at;
}

// Up to sixteen digits.
static const char *read_id(struct otlp_json *json, const char *at, struct otlp_id *ret_id)
{
  struct slice text = {"", 0};
  at = read_hex(json, at, &text);
  *ret_id = (struct otlp_id){0, text.length <= 16 ? OTLP_ID_NONE : OTLP_ID_BAD};
  if (at == NULL || ret_id->state == OTLP_ID_BAD)
    return at;
  uint64_t number = 0;
  for (size_t i = 0; i < text.length; i++) {
    int digit = hex_digit(text.data[i]);
    if (digit < 0) {
      ret_id->state = OTLP_ID_BAD;
      return at;
    }
    number = number << 4 | (unsigned)digit;
  }
  *ret_id = (struct otlp_id){number, number != 0 ? OTLP_ID_GIVEN : OTLP_ID_NONE};
  return at;
}

// ---- values ----------------------------------------------------------------------------------------------------------
// Of digits that are a number. Decoded ones may be followed by anything.
static double read_real(struct otlp_json *json, struct slice digits)
{
  char copy[64];
  const char *text = copy;
  if (digits.length >= sizeof copy)
    text = arena_copy(&json->decoded, digits.data, digits.length);
  else
    *(char *)mempcpy(copy, digits.data, digits.length) = 0;
  return strtod(text, NULL);
}

// An integer beyond int64, or a text that is not a number, stays a text.
static const char *read_number(struct otlp_json *json, const char *at, uint8_t type, struct otlp_value *ret_value)
{
  struct slice digits;
  at = read_digits(json, at, &digits);
  if (at == NULL || digits.data == NULL)
    return at;
  struct otlp_value value = {.type = type, .is_json = true};
  bool is_infinite = slice_is(digits, "Infinity") || slice_is(digits, "-Infinity");
  enum otlp_number_kind kind = otlp_read_number(digits, &value.integer);
  bool is_known = kind == OTLP_WHOLE;
  if (type == OTLP_DOUBLE && (is_infinite || slice_is(digits, "NaN"))) {
    value.real = !is_infinite ? NAN : digits.data[0] == '-' ? -INFINITY : INFINITY;
    is_known = true;
  } else if (type == OTLP_DOUBLE && kind != OTLP_NO_NUMBER) {
    value.real = read_real(json, digits);
    is_known = isfinite(value.real);
  } else if (type == OTLP_INT && kind == OTLP_FRACTION) {
    value = (struct otlp_value){.type = OTLP_DOUBLE, .is_json = true, .real = read_real(json, digits)};
    is_known = true;
  }
  *ret_value = is_known ? value : (struct otlp_value){.type = OTLP_TEXT, .is_json = true, .text = digits};
  return at;
}

// `null` leaves the value as it is.
static const char *read_value(struct otlp_json *json, const char *at, uint8_t type, struct otlp_value *ret_value)
{
  struct otlp_value value = {.type = type, .is_json = true};
  const char *start = at;
  if (type == OTLP_INT || type == OTLP_DOUBLE)
    return read_number(json, at, type, ret_value);
  if (type == OTLP_TEXT || type == OTLP_BYTES) {
    at = read_text(json, at, &value.text);
  } else if (type == OTLP_BOOL) {
    value.integer = *at == 't';
    at = *at == 't' || *at == 'f' ? otlp_json_skip(json, at) : read_null(json, at, "true or false was expected");
  } else {
    at = *at == '{' ? otlp_json_skip(json, at) : read_null(json, at, "an object was expected");
    value.text = (struct slice){start, at != NULL ? (size_t)(at - start) : 0};
  }
  if (at != NULL && *start != 'n')
    *ret_value = value;
  return at;
}

// ---- the walk --------------------------------------------------------------------------------------------------------
static const char *read_items(struct otlp_json *json, const char *at, const struct otlp_step *step)
{
  bool is_null;
  bool has_item;
  at = otlp_json_open(json, at, '[', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_item(json, at, is_first, &has_item)) != NULL && has_item;
       is_first = false) {
    struct otlp_range *item = otlp_parts_add(&json->parts, step);
    size_t first = json->parts.inner.count;
    if (item == NULL)
      return json_scan_fail(&json->scan, at, OTLP_TOO_MANY);
    if ((at = otlp_json_message(json, at, step->inner, item)) == NULL)
      return NULL;
    if (step->inner != OTLP_PAIR_MESSAGE)
      *item = (struct otlp_range){first, json->parts.inner.count - first};
  }
  return at;
}

static const char *read_field(struct otlp_json *json, const char *at, const struct otlp_step *step, void *target)
{
  void *place = (char *)target + step->offset;
  switch ((enum otlp_form)step->form) {
  case OTLP_FORM_ITEMS:
    return read_items(json, at, step);
  case OTLP_FORM_MESSAGE:
    if (step->inner == OTLP_VALUE_MESSAGE) // the last one counts
      *(struct otlp_value *)place = (struct otlp_value){.is_json = true};
    return otlp_json_message(json, at, step->inner, place);
  case OTLP_FORM_TEXT:
    return read_text(json, at, place);
  case OTLP_FORM_RAW:
    return read_hex(json, at, place);
  case OTLP_FORM_ID:
    return read_id(json, at, place);
  case OTLP_FORM_TIME:
    return read_time(json, at, place);
  case OTLP_FORM_ENUM:
    return read_enum(json, at, names_of[step->inner], place);
  case OTLP_FORM_VALUE:
    return read_value(json, at, step->inner, target);
  default:
    return otlp_json_skip(json, at);
  }
}

const char *otlp_json_message(struct otlp_json *json, const char *at, enum otlp_message message, void *target)
{
  bool is_null;
  unsigned hint = 1;
  struct slice key;
  at = otlp_json_open(json, at, '{', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.data != NULL;
       is_first = false) {
    const struct otlp_field *field = otlp_field_named(message, key, &hint);
    if (field == NULL)
      otlp_unknown_add(json->unknown, message, key);
    at = field != NULL ? read_field(json, at, &field->step, target) : otlp_json_skip(json, at);
    if (at == NULL)
      return NULL;
  }
  return at;
}

const char *otlp_json_span(struct otlp_json *json, const char *at)
{
  otlp_json_clear(json);
  if (*at == 'n')
    return (at = otlp_json_skip(json, at)) != NULL ? json_scan_fail(&json->scan, at, "a span was expected") : NULL;
  at = otlp_json_message(json, at, OTLP_SPAN_MESSAGE, &json->parts.span);
  otlp_parts_finish(&json->parts);
  return at;
}

void otlp_json_done(struct otlp_json *json)
{
  otlp_parts_done(&json->parts);
  arena_done(&json->decoded);
  *json = (struct otlp_json){0};
}
