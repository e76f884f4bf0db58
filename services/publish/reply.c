// SPDX-License-Identifier: Apache-2.0
// Reads ExportTraceServiceResponse and google.rpc.Status, as protobuf and as JSON. Called by publish.c; fuzzed.
#include "publish/reply.h"

#include "base/json_read.h"
#include "base/wire.h"
#include "format/level.h"

#include <strings.h>

enum reply_form publish_reply_form_of(const char *content_type)
{
  struct slice rest = slice_of(content_type), type;
  if (!slice_cut(&rest, ';', &type))
    return REPLY_OTHER;
  type = slice_trim(type);
  static const struct {
    const char *name;
    enum reply_form form;
  } forms[] = {
      {"application/x-protobuf", REPLY_PROTOBUF}, {"application/json", REPLY_JSON}, {"text/plain", REPLY_TEXT}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (type.length == strlen(forms[i].name) && strncasecmp(type.data, forms[i].name, type.length) == 0)
      return forms[i].form;
  return REPLY_OTHER;
}

enum reply_verdict publish_reply_verdict_of(long code)
{
  if (code >= 200 && code < 300)
    return REPLY_ACCEPTED;
  if (code == 429 || code == 502 || code == 503 || code == 504)
    return REPLY_RETRY;
  if (code == 413)
    return REPLY_TOO_LARGE;
  bool is_elsewhere = code < 400; // redirects are not followed
  bool is_for_all = code == 401 || code == 403 || code == 404 || code == 405 || code == 407 || code == 415;
  return is_elsewhere || is_for_all ? REPLY_STOP : REPLY_REFUSED;
}

static void put_message(struct reply *reply, const char *text, size_t length)
{
  if (length >= sizeof reply->message)
    length = sizeof reply->message - 1;
  if (length > 0)
    memcpy(reply->message, text, length);
  reply->message[length] = 0;
}

static void put_rejected(struct reply *reply, int64_t count)
{
  reply->rejected_count = count > 0 ? count : 0;
}

// ---- protobuf --------------------------------------------------------------------------------------------------------
#define RESPONSE_PARTIAL_SUCCESS 1
#define PARTIAL_REJECTED 1
#define PARTIAL_MESSAGE 2
#define STATUS_MESSAGE 2

static bool read_partial(struct wire wire, struct reply *reply)
{
  struct wire_field field;
  while (wire_next(&wire, &field))
    if (wire_is(&field, PARTIAL_REJECTED, WIRE_VARINT))
      put_rejected(reply, (int64_t)field.value);
    else if (wire_is(&field, PARTIAL_MESSAGE, WIRE_BYTES))
      put_message(reply, field.bytes, field.length);
  return wire.problem == NULL;
}

static bool read_protobuf(struct slice body, bool is_accepted, struct reply *reply)
{
  struct wire wire = wire_over(body.data, body.length);
  struct wire_field field;
  while (wire_next(&wire, &field)) {
    if (is_accepted && wire_is(&field, RESPONSE_PARTIAL_SUCCESS, WIRE_BYTES)) {
      if (!read_partial(wire_inside(&field), reply))
        return false;
    } else if (!is_accepted && wire_is(&field, STATUS_MESSAGE, WIRE_BYTES)) {
      put_message(reply, field.bytes, field.length);
    }
  }
  return wire.problem == NULL;
}

// ---- JSON ------------------------------------------------------------------------------------------------------------
static bool is_key(const struct json_reader *json, const char *camel, const char *snake)
{
  return strcmp(json->text, camel) == 0 || strcmp(json->text, snake) == 0;
}

static void read_text(const struct json_reader *json, struct reply *reply)
{
  if (json->event == JSON_STRING)
    put_message(reply, json->text, json->length);
}

// After its beginning.
static bool read_json_partial(struct json_reader *json, struct reply *reply)
{
  while (json_next(json) == JSON_KEY) {
    bool is_count = is_key(json, "rejectedSpans", "rejected_spans");
    bool is_message = is_key(json, "errorMessage", "error_message");
    int64_t count;
    json_next(json);
    if (is_count && (json->event == JSON_STRING || json->event == JSON_NUMBER) &&
        slice_int64((struct slice){json->text, json->length}, &count))
      put_rejected(reply, count);
    else if (is_message)
      read_text(json, reply);
    if (!json_skip(json))
      return false;
  }
  return json->event == JSON_OBJECT_END;
}

static bool read_json_members(struct json_reader *json, bool is_accepted, struct reply *reply)
{
  if (json_next(json) != JSON_OBJECT)
    return false;
  while (json_next(json) == JSON_KEY) {
    bool is_partial = is_accepted && is_key(json, "partialSuccess", "partial_success");
    bool is_message = !is_accepted && is_key(json, "message", "message");
    bool is_object = json_next(json) == JSON_OBJECT;
    if (is_message)
      read_text(json, reply);
    if (is_partial && is_object ? !read_json_partial(json, reply) : !json_skip(json))
      return false;
  }
  return json->event == JSON_OBJECT_END && json_next(json) == JSON_END;
}

bool publish_reply_read(struct slice body, enum reply_form form, bool is_accepted, struct reply *ret_reply)
{
  *ret_reply = (struct reply){0};
  bool is_read = body.length == 0;
  if (form == REPLY_PROTOBUF) {
    is_read = read_protobuf(body, is_accepted, ret_reply);
  } else if (form == REPLY_JSON) {
    struct json_reader json SCOPED(json_read_done);
    json_read_start(&json, body.data, body.length);
    is_read = read_json_members(&json, is_accepted, ret_reply);
  } else if (form == REPLY_TEXT && !is_accepted) {
    struct slice text = slice_trim(body);
    put_message(ret_reply, text.data, text.length);
    is_read = true;
  }
  if (!is_read)
    *ret_reply = (struct reply){0};
  return is_read;
}

// ---- levels ----------------------------------------------------------------------------------------------------------
static bool read_wanted(struct json_reader *json, uint32_t *ret_mask)
{
  bool is_found = false;
  if (json_next(json) != JSON_OBJECT)
    return false;
  while (json_next(json) == JSON_KEY) {
    bool is_wanted = strcmp(json->text, "wanted") == 0;
    if (json_next(json) == JSON_STRING && is_wanted)
      is_found = level_mask_parse(json->text, json->length, ret_mask);
    if (!json_skip(json))
      return false;
  }
  return is_found && json->event == JSON_OBJECT_END && json_next(json) == JSON_END;
}

bool publish_reply_read_levels(struct slice body, uint32_t *ret_mask)
{
  struct json_reader json;
  uint32_t mask = 0;
  json_read_start(&json, body.data, body.length);
  bool is_read = read_wanted(&json, &mask);
  json_read_done(&json);
  if (is_read)
    *ret_mask = mask;
  return is_read;
}
