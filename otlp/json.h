// SPDX-License-Identifier: Apache-2.0
// OTLP's JSON, read from a window that may end anywhere. Private to collect. No I/O.
//
// Each function takes the position of a value and returns the one behind it, or NULL with json->scan.problem and
// json->scan.at; problem NULL: the window ends within the value, which is to be read again from its beginning when there
// is more. Names are taken in lowerCamelCase and in snake_case; members that are not known are passed over.
#ifndef XSP_OTLP_JSON_H
#define XSP_OTLP_JSON_H

#include "base/arena.h"
#include "base/json_scan.h"
#include "otlp/otlp.h"

struct otlp_json { // starts as {0}; the caller sets scan.end and scan.is_last
  struct json_scan scan;
  struct otlp_parts parts;
  struct arena decoded; // texts with escapes or faulty UTF-8, of the current span
  char *room;
  size_t room_left;
};

const char *otlp_json_span(struct otlp_json *json, const char *at);     // into json->parts.span
const char *otlp_json_resource(struct otlp_json *json, const char *at); // into json->parts.attributes
const char *otlp_json_scope(struct otlp_json *json, const char *at, struct otlp_text *ret_name);
const char *otlp_json_value(struct otlp_json *json, const char *at, struct otlp_value *ret_value); // an AnyValue
const char *otlp_json_pair(struct otlp_json *json, const char *at, struct otlp_attribute *attribute);
void otlp_json_done(struct otlp_json *json);

// ---- walking ---------------------------------------------------------------------------------------------------------
// At a value that should be a container: the position behind its '{' or '['; *ret_is_null, behind `null`.
const char *otlp_json_open(struct otlp_json *json, const char *at, char bracket, bool *ret_is_null);
// Behind a '{' (is_first) or a member's value: the position of the next member's value, and its key. key.at is NULL at
// the object's end, and the position is the one behind it.
const char *otlp_json_member(struct otlp_json *json, const char *at, bool is_first, struct otlp_text *ret_key);
// The same in an array.
const char *otlp_json_item(struct otlp_json *json, const char *at, bool is_first, bool *ret_has_item);
const char *otlp_json_skip(struct otlp_json *json, const char *at);
// `null` stands for the absence of any field: what is read is then left as it was.
const char *otlp_json_text(struct otlp_json *json, const char *at, struct otlp_text *ret_text);
const char *otlp_json_time(struct otlp_json *json, const char *at, bool *ret_has_time, int64_t *ret_time_ns);
// A number, or prefix and one of `names` (ends with NULL), whose position is the value.
const char *otlp_json_enum(struct otlp_json *json, const char *at, const char *prefix, const char *const *names,
                           uint64_t *ret_value);
typedef const char *otlp_json_reader(struct otlp_json *json, const char *at);
const char *otlp_json_list(struct otlp_json *json, const char *at, otlp_json_reader *read_item);
void otlp_json_forget(struct otlp_json *json); // texts that were decoded: before each span, resource and scope
static inline bool otlp_text_is(struct otlp_text text, const char *literal, size_t length)
{
  return text.length == length && __builtin_memcmp(text.at, literal, length) == 0;
}
#define OTLP_TEXT_IS(text, literal) otlp_text_is(text, literal, sizeof(literal) - 1)

enum otlp_number { OTLP_NO_NUMBER, OTLP_WHOLE, OTLP_FRACTION, OTLP_BEYOND };
// A decimal number, with or without point and exponent, read exactly: WHOLE, FRACTION (*ret_value is rounded toward 0),
// BEYOND (no int64 holds it).
enum otlp_number otlp_read_number(struct otlp_text text, int64_t *ret_value);
double otlp_json_double(struct otlp_json *json, struct otlp_text digits); // of what otlp_read_number knows as a number

#endif
