// SPDX-License-Identifier: Apache-2.0
// Decodes OTLP's JSON from a window that may end anywhere. No I/O.
//
// Each function takes the position of a value and returns the one after it, or NULL with json->scan.problem and
// json->scan.at; problem NULL: the window ends within the value, which is to be read again from its beginning when there
// is more. Names are accepted in lowerCamelCase and in snake_case; unknown members are passed over, and
// named in json->unknown.
#ifndef XSP_OTLP_JSON_H
#define XSP_OTLP_JSON_H

#include "base/arena.h"
#include "base/json_scan.h"
#include "otlp/fields.h"
#include "otlp/unknown.h"

struct otlp_json { // starts as {0}; the caller sets scan.end and scan.is_last
  struct json_scan scan;
  struct otlp_parts parts;
  struct arena decoded; // texts with escapes or invalid UTF-8, of the current span
  char *room;
  size_t room_left;
  struct otlp_unknown *unknown; // NULL: nobody asks
};

const char *otlp_json_span(struct otlp_json *json, const char *at); // into json->parts.span
// Any other message into its struct, in addition to what is there: RESOURCE (into json->parts), SCOPE, PAIR, VALUE.
const char *otlp_json_message(struct otlp_json *json, const char *at, enum otlp_message message, void *target);
// Forgets the decoded texts and the parts: before each span (which does it itself), resource and scope.
void otlp_json_clear(struct otlp_json *json);
void otlp_json_done(struct otlp_json *json);

// ---- walking ---------------------------------------------------------------------------------------------------------
// At a value that should be a container: the position after its '{' or '['; *ret_is_null, after `null`.
const char *otlp_json_open(struct otlp_json *json, const char *at, char bracket, bool *ret_is_null);
// After a '{' (is_first) or a member's value: the position of the next member's value, and its key. key.at is NULL at
// the object's end, and the position is the one after it.
const char *otlp_json_member(struct otlp_json *json, const char *at, bool is_first, struct slice *ret_key);
// The same in an array.
const char *otlp_json_item(struct otlp_json *json, const char *at, bool is_first, bool *ret_has_item);
const char *otlp_json_skip(struct otlp_json *json, const char *at);

enum otlp_number_kind { OTLP_NO_NUMBER, OTLP_WHOLE, OTLP_FRACTION, OTLP_BEYOND };
// A decimal number, with or without point and exponent, read exactly: WHOLE, FRACTION (*ret_value is rounded toward 0),
// BEYOND (no int64 holds it).
enum otlp_number_kind otlp_read_number(struct slice text, int64_t *ret_value);

#endif
