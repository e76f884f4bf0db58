// SPDX-License-Identifier: Apache-2.0
// Decodes spans, resources and scopes of OTLP's JSON. Called by the importer (otlp_import_json.c) for one at a time, and
// again from its beginning where the window ended within it.
#include "otlp/json.h"

#include <string.h>

static const char *read_attribute(struct otlp_json *json, const char *at)
{
  struct otlp_attribute *attribute = otlp_parts_attribute(&json->parts);
  return attribute != NULL ? otlp_json_pair(json, at, attribute) : json_scan_fail(&json->scan, at, OTLP_TOO_MANY);
}

static const char *read_inner(struct otlp_json *json, const char *at)
{
  struct otlp_attribute *attribute = otlp_parts_inner(&json->parts);
  return attribute != NULL ? otlp_json_pair(json, at, attribute) : json_scan_fail(&json->scan, at, OTLP_TOO_MANY);
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static int hex_digit(char c)
{
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

// Hex digits, up to sixteen.
static const char *read_id(struct otlp_json *json, const char *at, struct otlp_id *ret_id)
{
  struct otlp_text text = {"", 0};
  at = otlp_json_text(json, at, &text);
  *ret_id = (struct otlp_id){0, text.length <= 16 ? OTLP_ID_NONE : OTLP_ID_BAD};
  if (at == NULL || ret_id->state == OTLP_ID_BAD)
    return at;
  uint64_t number = 0;
  for (size_t i = 0; i < text.length; i++) {
    int digit = hex_digit(text.at[i]);
    if (digit < 0) {
      ret_id->state = OTLP_ID_BAD;
      return at;
    }
    number = number << 4 | (unsigned)digit;
  }
  *ret_id = (struct otlp_id){number, number != 0 ? OTLP_ID_GIVEN : OTLP_ID_NONE};
  return at;
}

static const char *read_event(struct otlp_json *json, const char *at)
{
  bool is_null;
  bool has_time;
  struct otlp_text key;
  struct otlp_event *event = otlp_parts_event(&json->parts);
  if (event == NULL)
    return json_scan_fail(&json->scan, at, OTLP_TOO_MANY);
  event->first = json->parts.inner_count;
  at = otlp_json_open(json, at, '{', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false) {
    if (OTLP_TEXT_IS(key, "name"))
      at = otlp_json_text(json, at, &event->name);
    else if (OTLP_TEXT_IS(key, "timeUnixNano") || OTLP_TEXT_IS(key, "time_unix_nano"))
      at = otlp_json_time(json, at, &has_time, &event->time_ns);
    else if (OTLP_TEXT_IS(key, "attributes"))
      at = otlp_json_list(json, at, read_inner);
    else
      at = otlp_json_skip(json, at);
    if (at == NULL)
      return NULL;
  }
  event->count = json->parts.inner_count - event->first;
  return at;
}

static const char *read_link(struct otlp_json *json, const char *at)
{
  bool is_null;
  struct otlp_text key;
  struct otlp_link *link = otlp_parts_link(&json->parts);
  if (link == NULL)
    return json_scan_fail(&json->scan, at, OTLP_TOO_MANY);
  link->first = json->parts.inner_count;
  at = otlp_json_open(json, at, '{', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false) {
    if (OTLP_TEXT_IS(key, "traceId") || OTLP_TEXT_IS(key, "trace_id"))
      at = otlp_json_text(json, at, &link->trace_id);
    else if (OTLP_TEXT_IS(key, "spanId") || OTLP_TEXT_IS(key, "span_id"))
      at = read_id(json, at, &link->span_id);
    else if (OTLP_TEXT_IS(key, "attributes"))
      at = otlp_json_list(json, at, read_inner);
    else
      at = otlp_json_skip(json, at);
    if (at == NULL)
      return NULL;
  }
  link->count = json->parts.inner_count - link->first;
  return at;
}

static const char *read_status(struct otlp_json *json, const char *at)
{
  static const char *const codes[] = {"UNSET", "OK", "ERROR", NULL};
  bool is_null;
  struct otlp_text key;
  at = otlp_json_open(json, at, '{', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false) {
    if (OTLP_TEXT_IS(key, "message"))
      at = otlp_json_text(json, at, &json->parts.span.status_message);
    else if (OTLP_TEXT_IS(key, "code"))
      at = otlp_json_enum(json, at, "STATUS_CODE_", codes, &json->parts.span.status_code);
    else
      at = otlp_json_skip(json, at);
    if (at == NULL)
      return NULL;
  }
  return at;
}

static const char *read_span_member(struct otlp_json *json, const char *at, struct otlp_text key)
{
  static const char *const kinds[] = {"UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER", NULL};
  struct otlp_span *span = &json->parts.span;
  switch (key.length) { // no two lengths are tried for a key
  case 4:
    if (OTLP_TEXT_IS(key, "name"))
      return otlp_json_text(json, at, &span->name);
    if (OTLP_TEXT_IS(key, "kind"))
      return otlp_json_enum(json, at, "SPAN_KIND_", kinds, &span->kind);
    break;
  case 5:
    if (OTLP_TEXT_IS(key, "links"))
      return otlp_json_list(json, at, read_link);
    break;
  case 6:
    if (OTLP_TEXT_IS(key, "spanId"))
      return read_id(json, at, &span->span_id);
    if (OTLP_TEXT_IS(key, "events"))
      return otlp_json_list(json, at, read_event);
    if (OTLP_TEXT_IS(key, "status"))
      return read_status(json, at);
    break;
  case 7:
    if (OTLP_TEXT_IS(key, "traceId"))
      return otlp_json_text(json, at, &span->trace_id);
    if (OTLP_TEXT_IS(key, "span_id"))
      return read_id(json, at, &span->span_id);
    break;
  case 8:
    if (OTLP_TEXT_IS(key, "trace_id"))
      return otlp_json_text(json, at, &span->trace_id);
    break;
  case 10:
    if (OTLP_TEXT_IS(key, "attributes"))
      return otlp_json_list(json, at, read_attribute);
    if (OTLP_TEXT_IS(key, "traceState"))
      return otlp_json_text(json, at, &span->trace_state);
    break;
  case 12:
    if (OTLP_TEXT_IS(key, "parentSpanId"))
      return read_id(json, at, &span->parent_id);
    break;
  case 15:
    if (OTLP_TEXT_IS(key, "endTimeUnixNano"))
      return otlp_json_time(json, at, &span->has_end, &span->end_ns);
    break;
  case 17:
    if (OTLP_TEXT_IS(key, "startTimeUnixNano"))
      return otlp_json_time(json, at, &span->has_start, &span->start_ns);
    break;
  default:
    if (OTLP_TEXT_IS(key, "trace_state"))
      return otlp_json_text(json, at, &span->trace_state);
    if (OTLP_TEXT_IS(key, "parent_span_id"))
      return read_id(json, at, &span->parent_id);
    if (OTLP_TEXT_IS(key, "end_time_unix_nano"))
      return otlp_json_time(json, at, &span->has_end, &span->end_ns);
    if (OTLP_TEXT_IS(key, "start_time_unix_nano"))
      return otlp_json_time(json, at, &span->has_start, &span->start_ns);
  }
  return otlp_json_skip(json, at);
}

const char *otlp_json_span(struct otlp_json *json, const char *at)
{
  bool is_null;
  struct otlp_text key;
  otlp_json_forget(json);
  otlp_parts_clear(&json->parts, true);
  at = otlp_json_open(json, at, '{', &is_null);
  if (at == NULL || is_null)
    return at == NULL ? NULL : json_scan_fail(&json->scan, at, "a span was expected");
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false)
    if ((at = read_span_member(json, at, key)) == NULL)
      return NULL;
  otlp_parts_finish(&json->parts);
  return at;
}

// ---- what spans lie in -----------------------------------------------------------------------------------------------
const char *otlp_json_resource(struct otlp_json *json, const char *at)
{
  bool is_null;
  struct otlp_text key;
  otlp_json_forget(json);
  otlp_parts_clear(&json->parts, true);
  at = otlp_json_open(json, at, '{', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false)
    if ((at = OTLP_TEXT_IS(key, "attributes") ? otlp_json_list(json, at, read_attribute) : otlp_json_skip(json, at)) ==
        NULL)
      return NULL;
  return at;
}

const char *otlp_json_scope(struct otlp_json *json, const char *at, struct otlp_text *ret_name)
{
  bool is_null;
  struct otlp_text key;
  *ret_name = (struct otlp_text){"", 0};
  otlp_json_forget(json);
  at = otlp_json_open(json, at, '{', &is_null);
  if (is_null)
    return at;
  for (bool is_first = true; (at = otlp_json_member(json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false)
    if ((at = OTLP_TEXT_IS(key, "name") ? otlp_json_text(json, at, ret_name) : otlp_json_skip(json, at)) == NULL)
      return NULL;
  return at;
}
