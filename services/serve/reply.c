// SPDX-License-Identifier: Apache-2.0
// Writes bodies of replies in the request's encoding. Called by request.c.
#include "serve/reply.h"

#include "base/json_write.h"
#include "base/wire_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PARTIAL_SUCCESS = 1, REJECTED_SPANS = 1, ERROR_MESSAGE = 2, STATUS_CODE = 1, STATUS_MESSAGE = 2 };

enum otlp_encoding reply_encoding(const char *type)
{
  if (type == NULL)
    return OTLP_NO_ENCODING;
  size_t length = strcspn(type, "; \t");
  if (length == strlen("application/json") && strncasecmp(type, "application/json", length) == 0)
    return OTLP_JSON;
  bool is_protobuf =
      length == strlen("application/x-protobuf") && strncasecmp(type, "application/x-protobuf", length) == 0;
  return is_protobuf ? OTLP_PROTOBUF : OTLP_NO_ENCODING;
}

const char *reply_type(enum otlp_encoding encoding)
{
  return encoding == OTLP_PROTOBUF ? "application/x-protobuf"
         : encoding == OTLP_JSON   ? "application/json"
                                   : "text/plain; charset=utf-8";
}

// "2 no span id, 1 negative duration"
static void put_reasons(const struct request_verdict *verdict, struct buf *out)
{
  for (size_t i = 0; i < REQUEST_REASONS; i++)
    if (verdict->rejected[i] > 0)
      buf_format(out, "%s%" PRIu64 " %s", out->length > 0 ? ", " : "", verdict->rejected[i], serve_request_reasons[i]);
}

void reply_success(enum otlp_encoding encoding, const struct request_verdict *verdict, struct buf *out)
{
  uint64_t rejected = serve_request_rejected(verdict);
  struct buf reasons SCOPED(buf_done) = {0};
  struct json_writer json;
  put_reasons(verdict, &reasons);
  if (encoding == OTLP_PROTOBUF && rejected > 0) {
    size_t place = protobuf_begin(out, PARTIAL_SUCCESS);
    protobuf_varint(out, REJECTED_SPANS, rejected);
    protobuf_bytes(out, ERROR_MESSAGE, reasons.data, reasons.length);
    protobuf_end(out, place);
  } else if (encoding == OTLP_JSON) {
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, rejected);
    json_start(&json, out);
    json_object(&json);
    if (rejected > 0) {
      json_member_object(&json, "partialSuccess");
      json_member_string(&json, "rejectedSpans", number); // OTLP's JSON has 64-bit integers as texts
      json_member_string(&json, "errorMessage", reasons.data);
      json_object_end(&json);
    }
    json_object_end(&json);
  }
}

// google.rpc.Code
static unsigned code_of(unsigned http_status)
{
  static const struct {
    unsigned http, code;
  } codes[] = {{400, 3}, {401, 16}, {403, 7}, {404, 5}, {405, 12}, {411, 3}, {413, 8}, {414, 3}, {415, 3}, {503, 14}};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
    if (codes[i].http == http_status)
      return codes[i].code;
  return 2; // unknown
}

void reply_error(enum otlp_encoding encoding, unsigned http_status, const char *message, struct buf *out)
{
  struct json_writer json;
  if (encoding == OTLP_PROTOBUF) {
    protobuf_varint(out, STATUS_CODE, code_of(http_status));
    size_t place = protobuf_begin(out, STATUS_MESSAGE);
    buf_utf8(out, message, strlen(message)); // protobuf's readers refuse what is not UTF-8
    protobuf_end(out, place);
  } else if (encoding == OTLP_JSON) {
    json_start(&json, out);
    json_object(&json);
    json_member_int(&json, "code", code_of(http_status));
    json_member_string(&json, "message", message);
    json_object_end(&json);
  } else {
    buf_utf8(out, message, strlen(message));
    buf_text(out, "\n");
  }
}
