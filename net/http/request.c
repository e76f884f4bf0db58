// SPDX-License-Identifier: Apache-2.0
// One request from its head to its reply: guarded, matched with a route, received, answered by the route's handler. Called by
// libmicrohttpd on a thread for each connection, which may wait. What a body in memory takes is bounded for all connections.
#include "base/clock.h"
#include "base/slice.h"
#include "base/transfer.h"
#include "http/exchange.h"
#include "http/guard.h"
#include "http/server_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PASSED_OVER_BYTES ((uint64_t)16 << 20) // of a refused body, beyond the limit
#define FIRST_BODY_BYTES ((uint64_t)256 << 10) // a longer one grows as it comes
#define TURN_NS UINT64_C(5000000000)           // what a request waits for its turn
#define FILE_STEP_BYTES ((uint64_t)1 << 20)    // of a body in a file: each so many may take as long as a whole request
#define RETRY_BUSY_S 1u
#define END_OF_HEAD_BYTES 2u // of the empty line after it
#define RETRY_DISK_S 10u

// ---- the head --------------------------------------------------------------------------------------------------------
// Headers that decide who asks, where the body ends and what it is.
static const char *const single_headers[] = {MHD_HTTP_HEADER_HOST,
                                             MHD_HTTP_HEADER_CONTENT_LENGTH,
                                             MHD_HTTP_HEADER_TRANSFER_ENCODING,
                                             MHD_HTTP_HEADER_ORIGIN,
                                             "Sec-Fetch-Site",
                                             MHD_HTTP_HEADER_AUTHORIZATION,
                                             MHD_HTTP_HEADER_CONTENT_TYPE,
                                             MHD_HTTP_HEADER_CONTENT_ENCODING,
                                             MHD_HTTP_HEADER_RANGE};
#define SINGLE_HEADERS (sizeof single_headers / sizeof single_headers[0])
enum { HOST, LENGTH, CODING }; // of them
struct framing {
  unsigned counts[SINGLE_HEADERS];
  const char *line_end; // of the header before
  bool has_zero;        // a zero byte, which hides the rest of its line
  bool has_odd_line;    // a malformed name, such as "Origin ", or a carriage return within a line
};

// libmicrohttpd ends texts at their first zero byte. It puts one or two in place of a line's end, where the next line begins.
static void check_line_end(struct framing *framing, const char *next)
{
  framing->has_zero |= framing->line_end != NULL && next != NULL && (size_t)(next - framing->line_end) > 2;
}

// RFC 9110, 5.6.2; not by the locale.
static bool is_header_name(const char *name)
{
  static const char of_names[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  size_t length = strspn(name, of_names);
  return length > 0 && name[length] == 0;
}

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
  struct framing *framing = context;
  for (size_t i = 0; i < SINGLE_HEADERS; i++)
    framing->counts[i] += strcasecmp(name, single_headers[i]) == 0;
  framing->has_odd_line |= !is_header_name(name) || (value != NULL && strchr(value, '\r') != NULL);
  check_line_end(framing, name);
  framing->line_end = value != NULL ? value + strlen(value) : NULL;
  return MHD_YES;
}

// Refuses heads that a proxy may read differently, as RFC 9112, 2.2, 3.2, 5.1 and 6.3, requires; libmicrohttpd accepts them.
static void check_framing(struct exchange *exchange, const char *method, const char *version)
{
  const struct microhttpd *http = &exchange->server->http;
  struct framing framing = {.has_zero = version != exchange->version_at};
  size_t twice = 0;
  http->MHD_get_connection_values(exchange->http, MHD_HEADER_KIND, count_header, &framing);
  size_t bytes = http->MHD_get_connection_info(exchange->http, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
  check_line_end(&framing, method + bytes - END_OF_HEAD_BYTES);
  while (twice < SINGLE_HEADERS && framing.counts[twice] < 2)
    twice++;
  if (framing.has_zero)
    exchange_refuse(exchange, 400, "the head has a zero byte, or a header of several lines");
  else if (framing.has_odd_line)
    exchange_refuse(exchange, 400, "the head has a header with a malformed name, or a carriage return within a line");
  else if (twice < SINGLE_HEADERS)
    exchange_refuse(exchange, 400, "the header %s must be there once", single_headers[twice]);
  else if (framing.counts[HOST] == 0 && strcmp(version, MHD_HTTP_VERSION_1_1) == 0)
    exchange_refuse(exchange, 400, "the header Host is missing");
  else if (framing.counts[LENGTH] > 0 && framing.counts[CODING] > 0)
    exchange_refuse(exchange, 400, "Content-Length must not be there with Transfer-Encoding");
  if (exchange->status != 0) // where the next request begins is not known
    exchange_add_header(exchange, MHD_HTTP_HEADER_CONNECTION, "close");
}

// Looks at all tokens: how long it takes says nothing about them.
static bool has_token(struct exchange *exchange)
{
  const struct http_server_options *options = &exchange->server->options;
  const char *authorization = exchange_header(exchange, MHD_HTTP_HEADER_AUTHORIZATION);
  bool is_known = guard_is_token(authorization, options->token);
  for (const struct guard_user *user = options->users; user != NULL && user->name != NULL; user++)
    if (guard_is_token(authorization, user->token)) {
      exchange->user = user->name;
      is_known = true;
    }
  return is_known;
}

// Who asks. A token is a secret that no other site has; without one, a browser must not be led here.
static void check_caller(struct exchange *exchange)
{
  const char *host = exchange->target.authority, *token = exchange->server->options.token;
  if (host == NULL)
    host = exchange_header(exchange, MHD_HTTP_HEADER_HOST);
  if (!guard_is_own_origin(exchange_header(exchange, MHD_HTTP_HEADER_ORIGIN), host) ||
      !guard_is_own_fetch(exchange_header(exchange, "Sec-Fetch-Site"))) {
    exchange_refuse(exchange, 403, "requests of other sites' pages are refused; type the address instead");
  } else if (token == NULL && !guard_is_local_host(host)) {
    exchange_refuse(exchange, 403, "the header Host must name this machine: localhost, 127.0.0.1 or [::1]");
  } else if (token != NULL && !has_token(exchange)) {
    exchange_refuse(exchange, 401,
                    "the header Authorization must be \"Bearer TOKEN\" with the server's token, or of type Basic with "
                    "the token as the password");
    exchange_add_header(exchange, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  }
}

static void find_route(struct exchange *exchange, const char *method)
{
  const struct http_site *site = exchange->server->options.site;
  struct buf methods SCOPED(buf_done) = {0};
  exchange->route = route_find(site->routes, method, &exchange->target, exchange->parts, &methods);
  if (exchange->route == NULL && methods.length > 0) {
    exchange_refuse(exchange, 405, "this path takes %s only", methods.data);
    exchange_add_header(exchange, MHD_HTTP_HEADER_ALLOW, "%s", methods.data);
  } else if (exchange->route == NULL) {
    exchange_refuse(exchange, 404, "there is no such path; %s lists all", site->description);
  }
}

// What is asked.
static void check_target(struct exchange *exchange, const char *method)
{
  const char *name = NULL, *problem = NULL;
  if (exchange->target_result != TARGET_DONE)
    exchange_refuse(exchange, exchange->target_result == TARGET_TOO_LONG ? 414 : 400, "the path or query is %s",
                    exchange->target_result == TARGET_TOO_LONG ? "too long" : "malformed");
  else
    find_route(exchange, method);
  if (exchange->route != NULL && exchange->server->options.site->begin != NULL)
    exchange->server->options.site->begin(exchange);
  if (exchange->status == 0)
    problem = route_check_parameters(exchange->route, &exchange->target, &name);
  if (problem != NULL)
    exchange_refuse(exchange, 400, "%s %s", name, problem);
}

static bool has_body(const struct exchange *exchange)
{
  return exchange->route != NULL && exchange->route->body != ROUTE_NO_BODY;
}

static uint64_t limit_of(const struct exchange *exchange)
{
  bool is_file = has_body(exchange) && exchange->route->body->place == ROUTE_BODY_IN_FILE;
  return is_file ? exchange->server->options.limit_upload_bytes : exchange->server->options.limit_body_bytes;
}

static void refuse_length(struct exchange *exchange)
{
  exchange_refuse(exchange, 413, "the body has more than %" PRIu64 " bytes, the server's limit", limit_of(exchange));
}

// True: the reply must not wait for the body, because it is much too long, or the client asked whether to send it. Else a
// refused body is passed over: a client that still sends when the connection is closed may not see the reply.
static bool check_head(struct exchange *exchange, const char *method, const char *version)
{
  const char *length = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);
  uint64_t bytes = exchange->announced = length != NULL ? strtoull(length, NULL, 10) : 0;
  check_framing(exchange, method, version);
  if (exchange->status != 0)
    return true;
  check_caller(exchange);
  if (exchange->status == 0)
    check_target(exchange, method);
  if (exchange->status == 0 && __atomic_load_n(&exchange->server->is_stopping, __ATOMIC_RELAXED))
    exchange_refuse_for_now(exchange, RETRY_DISK_S, "the server is stopping");
  if (exchange->status == 0 && has_body(exchange)) {
    if (length == NULL && exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING) == NULL)
      exchange_refuse(exchange, 411, "Content-Length is missing");
    else if (bytes > limit_of(exchange))
      refuse_length(exchange);
  }
  if (exchange->route != NULL && exchange->route->begin != NULL && exchange->status == 0)
    exchange->route->begin(exchange);
  return exchange->status != 0 && (bytes > exchange->server->options.limit_body_bytes + PASSED_OVER_BYTES ||
                                   exchange_header(exchange, MHD_HTTP_HEADER_EXPECT) != NULL);
}

// ---- the body --------------------------------------------------------------------------------------------------------
static void put_in_memory(struct exchange *exchange, const char *data, size_t size)
{
  uint64_t first = exchange->announced < FIRST_BODY_BYTES ? exchange->announced : FIRST_BODY_BYTES;
  if (!gate_grow(&exchange->server->gate, &exchange->turn, size)) {
    exchange_refuse_for_now(exchange, RETRY_BUSY_S, "too many bytes are being received");
    return;
  }
  if (exchange->body.capacity == 0 && first > size)
    buf_reserve(&exchange->body, first + EXCHANGE_BODY_SPARE);
  buf_put(&exchange->body, data, size);
}

static void put_in_file(struct exchange *exchange, const char *data, size_t size)
{
  uint64_t before = exchange->received - size;
  if (exchange->received / FILE_STEP_BYTES > before / FILE_STEP_BYTES)
    connections_begin(&exchange->server->connections, exchange->connection);
  if (!transfer_write(exchange->body_file, data, size))
    exchange_refuse_for_now(exchange, RETRY_DISK_S, "the file cannot be written: %s", strerror(errno));
}

// False: the connection is not worth more bytes.
static bool take_body(struct exchange *exchange, const char *data, size_t size)
{
  exchange->received += size;
  if (exchange->status == 0 && has_body(exchange) && exchange->received > limit_of(exchange))
    refuse_length(exchange);
  if (exchange->status != 0 || !has_body(exchange)) // the reply comes after the body: passed over, but not for ever
    return exchange->received <= limit_of(exchange) + PASSED_OVER_BYTES;
  if (exchange->route->body->place == ROUTE_BODY_IN_MEMORY)
    put_in_memory(exchange, data, size);
  else
    put_in_file(exchange, data, size);
  return !exchange->body.failed;
}

// Waits until the request's body may be read. A client that was asked to wait and did not waits here.
static void wait_for_turn(struct exchange *exchange)
{
  struct http_server *server = exchange->server;
  struct gate_request request = {.bytes = exchange->announced,
                                 .has_length = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH) != NULL,
                                 .is_stored = exchange->route->body->is_stored,
                                 .most_ns = TURN_NS};
  switch (connections_enter(&server->connections, exchange->connection, &exchange->turn, &request)) {
  case GATE_ENTERED:
    return;
  case GATE_LATE:
    exchange_refuse_for_now(exchange, RETRY_BUSY_S, "too much is being received");
    return;
  case GATE_GONE:
    exchange_refuse_for_now(exchange, RETRY_DISK_S, "the server is stopping, or has no place for this connection");
  }
}

// ---- called by the library -------------------------------------------------------------------------------------------
static enum MHD_Result answer(struct exchange *exchange)
{
  connections_serve(&exchange->server->connections, exchange->connection);
  if (exchange->status == 0)
    exchange->route->answer(exchange);
  return exchange_send(exchange);
}

void *request_begin(void *server, const char *target, struct MHD_Connection *connection)
{
  return exchange_new(server, connection, target);
}

enum MHD_Result request_take(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *data, size_t *size, void **state)
{
  struct http_server *server = context;
  struct exchange *exchange = *state;
  (void)url; // without its query, and decoded before it is split

  if (exchange->connection == NULL) { // the head has come
    exchange->connection =
        server->http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    connections_begin(&server->connections, exchange->connection);
    exchange->is_head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    bool is_over = check_head(exchange, method, version);
    if (exchange->status == 0)
      __atomic_add_fetch(&exchange->connection->bytes, exchange->announced, __ATOMIC_RELAXED);
    if (is_over)
      return answer(exchange);
    if (exchange->status == 0 && has_body(exchange) && exchange->route->body->place == ROUTE_BODY_IN_MEMORY)
      wait_for_turn(exchange);
    return MHD_YES;
  }
  if (*size > 0) {
    if (exchange->announced == 0)
      __atomic_add_fetch(&exchange->connection->bytes, *size, __ATOMIC_RELAXED);
    bool goes_on = take_body(exchange, data, *size);
    *size = 0;
    return goes_on ? MHD_YES : MHD_NO;
  }
  return answer(exchange);
}

void request_end(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode reason)
{
  struct http_server *server = context;
  struct exchange *exchange = *state;
  if (exchange == NULL)
    return;
  if (exchange->route != NULL && server->options.site->end != NULL)
    server->options.site->end(exchange);
  if (exchange->connection != NULL) {
    if (exchange->status == 503 && has_body(exchange))
      exchange->connection->not_before_ns = clock_now_ns(CLOCK_MONOTONIC) + exchange->retry_s * UINT64_C(1000000000);
    connections_finish(&server->connections, exchange->connection, exchange->status > 0 && exchange->status < 400);
  }
  buf_done(&exchange->body); // what the turn counts
  gate_leave(&server->gate, &exchange->turn);
  exchange_free(exchange);
  *state = NULL;
}
