// SPDX-License-Identifier: Apache-2.0
// One request from its head to its reply: guarded, received, decompressed, checked, kept, answered. Called by libmicrohttpd on a
// thread for each connection, which may wait. A body is in memory as a whole, within a bound for all connections.
#include "base/memory.h"
#include "base/slice.h"
#include "otlp/json_request.h"
#include "serve/body.h"
#include "serve/guard.h"
#include "serve/reply.h"
#include "serve/serve_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRACES_PATH "/v1/traces"
#define BODIES_AT_ONCE 4u // of the largest size: more bytes than these of all requests are refused for the moment
#define PASSED_OVER_BYTES ((uint64_t)16 << 20) // of a refused body, beyond the limit
#define FIRST_BODY_BYTES ((size_t)256 << 10)
#define RETRY_BUSY_S "1"
#define RETRY_DISK_S "10"

struct request {
  struct connection *connection;
  unsigned status;     // of HTTP; 0: nothing is wrong yet
  const char *retry_s; // of status 503
  char message[256];   // of another status than 200
  enum otlp_encoding encoding;
  enum body_coding coding;
  struct buf body;
  uint64_t received, counted; // bytes of the body; how many of them serve->body_bytes has
};

static void refuse(struct request *request, unsigned status, const char *message)
{
  request->status = status;
  snprintf(request->message, sizeof request->message, "%s", message);
}

static void refuse_for_now(struct request *request, const char *retry_s, const char *message)
{
  refuse(request, 503, message);
  request->retry_s = retry_s;
}

// ---- the head --------------------------------------------------------------------------------------------------------
static const char *header(const struct serve *serve, struct MHD_Connection *connection, const char *name)
{
  return serve->http.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum otlp_encoding encoding_of(const char *type)
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

// Who asks. A token is a secret that no other site has; without one, a browser must not be led here.
static void check_caller(const struct serve *serve, struct MHD_Connection *connection, struct request *request)
{
  const char *host = header(serve, connection, MHD_HTTP_HEADER_HOST);
  if (!guard_is_own_origin(header(serve, connection, MHD_HTTP_HEADER_ORIGIN), host))
    refuse(request, 403, "requests of other sites' pages are refused");
  else if (serve->options.token == NULL && !guard_is_local_host(host))
    refuse(request, 403, "the header Host must name this machine: localhost, 127.0.0.1 or [::1]");
  else if (serve->options.token != NULL &&
           !guard_is_token(header(serve, connection, MHD_HTTP_HEADER_AUTHORIZATION), serve->options.token))
    refuse(request, 401, "the header Authorization must be \"Bearer TOKEN\" with the server's token");
}

// What is asked.
static void check_target(const struct serve *serve, struct MHD_Connection *connection, const char *url,
                         const char *method, struct request *request)
{
  const char *length = header(serve, connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  request->coding = body_coding_of(header(serve, connection, MHD_HTTP_HEADER_CONTENT_ENCODING));
  if (strcmp(url, TRACES_PATH) != 0)
    refuse(request, 404, "there is " TRACES_PATH " only");
  else if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
    refuse(request, 405, TRACES_PATH " takes POST only");
  else if (request->encoding == OTLP_NO_ENCODING)
    refuse(request, 415, "Content-Type must be application/x-protobuf or application/json");
  else if (request->coding == BODY_UNKNOWN)
    refuse(request, 415, "Content-Encoding must be gzip, zstd or identity");
  else if (length == NULL && header(serve, connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) == NULL)
    refuse(request, 411, "Content-Length is missing");
}

static void refuse_length(const struct serve *serve, struct request *request)
{
  refuse(request, 413, "");
  snprintf(request->message, sizeof request->message,
           "the body has more than %" PRIu64 " bytes (also after decompression): send fewer spans in a request",
           serve->options.limit_body_bytes);
}

// True: the reply must not wait for the body, because it is much too long, or the client asked whether to send it. Else a
// refused body is passed over: a client that still sends when the connection is closed may not see the reply.
static bool check_head(const struct serve *serve, struct MHD_Connection *connection, const char *url,
                       const char *method, struct request *request)
{
  const char *length = header(serve, connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  uint64_t limit = serve->options.limit_body_bytes, bytes = length != NULL ? strtoull(length, NULL, 10) : 0;
  request->encoding = encoding_of(header(serve, connection, MHD_HTTP_HEADER_CONTENT_TYPE));
  check_caller(serve, connection, request);
  if (request->status == 0)
    check_target(serve, connection, url, method, request);
  if (request->status == 0 && bytes > limit)
    refuse_length(serve, request);
  if (request->status == 0 && __atomic_load_n(&serve->is_stopping, __ATOMIC_RELAXED))
    refuse_for_now(request, RETRY_DISK_S, "the server is stopping");
  return request->status != 0 &&
         (bytes > limit + PASSED_OVER_BYTES || header(serve, connection, MHD_HTTP_HEADER_EXPECT) != NULL);
}

// ---- the body --------------------------------------------------------------------------------------------------------
// False: the connection is not worth more bytes.
static bool take_body(struct serve *serve, struct request *request, const char *data, size_t size)
{
  uint64_t limit = serve->options.limit_body_bytes;
  request->received += size;
  if (request->status == 0 && request->received > limit)
    refuse_length(serve, request);
  if (request->status != 0) // the reply comes after the body: passed over, but not for ever
    return request->received <= limit + PASSED_OVER_BYTES;
  uint64_t all = __atomic_add_fetch(&serve->body_bytes, size, __ATOMIC_RELAXED);
  request->counted += size;
  if (all > BODIES_AT_ONCE * limit) {
    refuse_for_now(request, RETRY_BUSY_S, "too many bytes are being received");
    return true;
  }
  if (request->body.capacity == 0)
    buf_reserve(&request->body, limit < FIRST_BODY_BYTES ? limit : FIRST_BODY_BYTES);
  return buf_put(&request->body, data, size);
}

// ---- keeping it ------------------------------------------------------------------------------------------------------
static void keep(struct serve *serve, struct request *request, struct slice body, const struct request_verdict *verdict)
{
  struct error error = {0};
  char line[sizeof request->message];
  switch (
      journal_append(serve->journal, request->encoding, body, verdict->resources, verdict->resource_count, &error)) {
  case JOURNAL_DONE:
    return;
  case JOURNAL_BUSY:
    refuse_for_now(request, RETRY_BUSY_S, "storing is behind");
    return;
  case JOURNAL_FAILED:
    error_line(&error, line, sizeof line);
    refuse_for_now(request, RETRY_DISK_S, line);
  }
}

// `body` is followed by zeros.
static void check_and_keep(struct serve *serve, struct request *request, struct slice body, struct buf *reply)
{
  struct request_verdict verdict;
  request_check(request->encoding, body, serve->seed, &verdict);
  if (verdict.problem != NULL) {
    refuse(request, 400, verdict.problem);
    return;
  }
  if (verdict.spans > request_rejected(&verdict))
    keep(serve, request, body, &verdict);
  if (request->status == 0)
    reply_success(request->encoding, &verdict, reply);
}

static void process(struct serve *serve, struct request *request, struct buf *reply)
{
  static const char zeros[OTLP_JSON_PADDING] = "";
  struct buf expanded;
  struct buf *body = &request->body;
  bool is_expanded = request->coding != BODY_PLAIN && body->length > 0;
  buf_init(&expanded, serve->options.limit_body_bytes + OTLP_JSON_PADDING + 2);
  if (is_expanded) {
    while (sem_wait(&serve->expansions) != 0)
      ; // interrupted
    enum body_result result = body_expand(request->coding, (struct slice){body->data, body->length},
                                          serve->options.limit_body_bytes, &expanded);
    if (result == BODY_BROKEN)
      refuse(request, 400, "the body is not what Content-Encoding says, or ends too early");
    else if (result == BODY_TOO_LARGE)
      refuse_length(serve, request);
    body = &expanded;
  }
  struct slice bytes = {NULL, body->length};
  buf_put(body, zeros, sizeof zeros);
  bytes.data = body->data;
  if (request->status == 0 && bytes.length > 0)
    check_and_keep(serve, request, bytes, reply);
  else if (request->status == 0)
    reply_success(request->encoding, &(struct request_verdict){0}, reply); // an empty request is one without spans
  buf_done(&expanded);
  if (is_expanded)
    sem_post(&serve->expansions);
}

// ---- the reply -------------------------------------------------------------------------------------------------------
static void add_headers(const struct serve *serve, const struct request *request, struct MHD_Response *response)
{
  const struct microhttpd *http = &serve->http;
  http->MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply_type(request->encoding));
  http->MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (request->status == 401)
    http->MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  if (request->status == 405)
    http->MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_POST);
  if (request->status == 415 && request->coding == BODY_UNKNOWN)
    http->MHD_add_response_header(response, MHD_HTTP_HEADER_ACCEPT_ENCODING, "gzip, zstd");
  if (request->status == 503)
    http->MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, request->retry_s);
}

static enum MHD_Result answer(struct serve *serve, struct MHD_Connection *connection, struct request *request)
{
  struct buf reply = {0};
  connections_serve(&serve->connections, request->connection);
  if (request->status == 0)
    process(serve, request, &reply);
  if (request->status != 0)
    reply_error(request->encoding, request->status, request->message, &reply);
  struct MHD_Response *response = serve->http.MHD_create_response_from_buffer(
      reply.length, reply.data != NULL ? reply.data : (void *)"", MHD_RESPMEM_MUST_COPY);
  buf_done(&reply);
  if (response == NULL)
    return MHD_NO;
  add_headers(serve, request, response);
  enum MHD_Result result =
      serve->http.MHD_queue_response(connection, request->status != 0 ? request->status : 200, response);
  serve->http.MHD_destroy_response(response);
  return result;
}

// ---- called by the library -------------------------------------------------------------------------------------------
enum MHD_Result request_take(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *data, size_t *size, void **state)
{
  struct serve *serve = context;
  struct request *request = *state;
  (void)version;
  if (request == NULL) { // the head has come
    *state = request = memory_new(1, sizeof *request);
    buf_init(&request->body, serve->options.limit_body_bytes + OTLP_JSON_PADDING + 1);
    request->connection =
        serve->http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    connections_begin(&serve->connections, request->connection);
    bool is_early = check_head(serve, connection, url, method, request);
    return is_early ? answer(serve, connection, request) : MHD_YES;
  }
  if (*size > 0) {
    bool goes_on = take_body(serve, request, data, *size);
    *size = 0;
    return goes_on ? MHD_YES : MHD_NO;
  }
  return answer(serve, connection, request);
}

void request_end(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode reason)
{
  struct serve *serve = context;
  struct request *request = *state;
  (void)connection;
  (void)reason;
  if (request == NULL)
    return;
  __atomic_sub_fetch(&serve->body_bytes, request->counted, __ATOMIC_RELAXED);
  connections_finish(&serve->connections, request->connection);
  buf_done(&request->body);
  free(request);
  *state = NULL;
}
