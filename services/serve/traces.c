// SPDX-License-Identifier: Apache-2.0
// Spans by OTLP/HTTP: decompressed, checked, kept in the journal, acknowledged. Called through services/serve/routes.c.
#include "serve/traces.h"

#include "base/memory.h"
#include "base/slice.h"
#include "http/exchange.h"
#include "otlp/json_request.h"
#include "serve/body.h"
#include "serve/pages/live.h"
#include "serve/reply.h"
#include "serve/server.h"

#include <inttypes.h>
#include <stdlib.h>

#define RETRY_BUSY_S 1u
#define RETRY_DISK_S 10u

// ---- the head --------------------------------------------------------------------------------------------------------
static enum otlp_encoding encoding_of(const struct exchange *exchange)
{
  return reply_encoding(exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE));
}

static enum body_coding coding_of(const struct exchange *exchange)
{
  return body_coding_of(exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_ENCODING));
}

void serve_traces_begin(struct exchange *exchange)
{
  _Static_assert(OTLP_JSON_PADDING < EXCHANGE_BODY_SPARE, "a body and its zeros are one allocation");
  buf_init(&exchange->body, serve_of(exchange)->options.limit_body_bytes + EXCHANGE_BODY_SPARE + 1);
  if (encoding_of(exchange) == OTLP_NO_ENCODING) {
    exchange_refuse(exchange, 415, "Content-Type must be application/x-protobuf or application/json");
  } else if (coding_of(exchange) == BODY_UNKNOWN) {
    exchange_refuse(exchange, 415, "Content-Encoding must be gzip, zstd or identity");
    exchange_add_header(exchange, MHD_HTTP_HEADER_ACCEPT_ENCODING, "gzip, zstd");
  }
}

void serve_traces_refuse(struct exchange *exchange)
{
  enum otlp_encoding encoding = encoding_of(exchange);
  reply_error(encoding, exchange->status, exchange->message,
              exchange_reply(exchange, exchange->status, reply_type(encoding)));
}

// ---- keeping it ------------------------------------------------------------------------------------------------------
static void keep(struct exchange *exchange, struct slice body, const struct request_verdict *verdict)
{
  struct error error = {0};
  char line[sizeof exchange->message];
  switch (journal_append(serve_of(exchange)->journal, encoding_of(exchange), body, verdict->resources,
                         verdict->resource_count, &error)) {
  case JOURNAL_DONE:
    live_add(serve_of(exchange)->live, encoding_of(exchange), body, verdict->spans, verdict->last_end_ns);
    return;
  case JOURNAL_BUSY:
    exchange_refuse_for_now(exchange, RETRY_BUSY_S, "storing is behind");
    return;
  case JOURNAL_FAILED:
    error_line(&error, line, sizeof line);
    exchange_refuse_for_now(exchange, RETRY_DISK_S, "%s", line);
  }
}

static void succeed(struct exchange *exchange, const struct request_verdict *verdict)
{
  enum otlp_encoding encoding = encoding_of(exchange);
  reply_success(encoding, verdict, exchange_reply(exchange, 200, reply_type(encoding)));
}

// `body` is followed by zeros.
static void check_and_keep(struct exchange *exchange, struct slice body)
{
  struct request_verdict *verdict SCOPED(scoped_free) =
      memory_new(1, sizeof *verdict); // large for a stack that each connection has
  serve_request_check(encoding_of(exchange), body, serve_of(exchange)->seed, verdict);
  if (verdict->problem != NULL)
    exchange_refuse(exchange, 400, "%s", verdict->problem);
  else if (verdict->spans > serve_request_rejected(verdict))
    keep(exchange, body, verdict);
  if (exchange->status == 0)
    succeed(exchange, verdict);
}

static void expand(struct exchange *exchange, struct buf *expanded)
{
  uint64_t limit = serve_of(exchange)->options.limit_body_bytes;
  struct slice body = {exchange->body.data, exchange->body.length};
  enum body_result result = body_expand(coding_of(exchange), body, limit, expanded);
  if (result == BODY_BROKEN)
    exchange_refuse(exchange, 400, "the body is not what Content-Encoding says, or ends too early");
  else if (result == BODY_TOO_LARGE)
    exchange_refuse(exchange, 413, "the body has more than %" PRIu64 " bytes after decompression: send fewer spans",
                    limit);
}

void serve_traces_answer(struct exchange *exchange)
{
  static const char zeros[OTLP_JSON_PADDING] = "";
  sem_t *expansions = &serve_of(exchange)->expansions;
  struct buf expanded, *body = &exchange->body;
  bool is_expanded = coding_of(exchange) != BODY_PLAIN && body->length > 0;
  buf_init(&expanded, serve_of(exchange)->options.limit_body_bytes + OTLP_JSON_PADDING + 2);
  if (is_expanded) {
    while (sem_wait(expansions) != 0)
      ; // interrupted
    expand(exchange, &expanded);
    body = &expanded;
  }
  struct slice bytes = {NULL, body->length};
  buf_put(body, zeros, sizeof zeros);
  bytes.data = body->data;
  if (exchange->status == 0 && bytes.length > 0)
    check_and_keep(exchange, bytes);
  else if (exchange->status == 0)
    succeed(exchange, &(struct request_verdict){0}); // an empty request is one without spans
  buf_done(&expanded);
  if (is_expanded)
    sem_post(expansions);
}
