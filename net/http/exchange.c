// SPDX-License-Identifier: Apache-2.0
// What handlers ask of a request, and how their replies are sent. Called by request.c and by handlers.
#include "http/exchange.h"

#include "base/json_write.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "http/server_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct exchange *exchange_new(struct http_server *server, struct MHD_Connection *http, const char *target)
{
  struct exchange *exchange = memory_new(1, sizeof *exchange);
  exchange->server = server;
  exchange->http = http;
  exchange->texts = memory_new(1, sizeof *exchange->texts);
  exchange->body_file = exchange->reply_file = -1;
  exchange->version_at = target + strlen(target) + 1;
  exchange->target_result = target_parse(target, &exchange->target);
  return exchange;
}

void exchange_free(struct exchange *exchange)
{
  if (exchange->body_file >= 0)
    close(exchange->body_file);
  if (exchange->reply_file >= 0)
    close(exchange->reply_file);
  buf_done(&exchange->body);
  buf_done(&exchange->reply);
  target_done(&exchange->target);
  arena_done(exchange->texts);
  free(exchange->texts);
  free(exchange);
}

// ---- what is asked ---------------------------------------------------------------------------------------------------
const char *exchange_header(const struct exchange *exchange, const char *name)
{
  const char *value = exchange->server->http.MHD_lookup_connection_value(exchange->http, MHD_HEADER_KIND, name);
  size_t given = value != NULL ? strlen(value) : 0, length = given;
  while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) // libmicrohttpd leaves it there
    length--;
  return length < given ? arena_copy(exchange->texts, value, length) : value;
}

const char *exchange_parameter(const struct exchange *exchange, const char *name)
{
  return target_value(&exchange->target, name);
}

static bool exchange_is_protocol(const struct exchange *exchange)
{
  const char *protocol = exchange->server->options.site->protocol;
  return protocol != NULL && exchange->target.segment_count > 0 && strcmp(exchange->target.segments[0], protocol) == 0;
}

void *exchange_context(const struct exchange *exchange)
{
  return exchange->server->options.context;
}

bool exchange_is_left(const struct exchange *exchange)
{
  struct pollfd wait = {.fd = exchange->connection->socket, .events = POLLRDHUP};
  return __atomic_load_n(&exchange->server->is_stopping, __ATOMIC_RELAXED) ||
         (poll(&wait, 1, 0) == 1 && (wait.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
}

// ---- the reply -------------------------------------------------------------------------------------------------------
static void put_header(struct exchange *exchange, const char *name, const char *format, va_list values)
{
  size_t at = 0;
  while (at < exchange->header_count && strcmp(exchange->headers[at].name, name) != 0)
    at++;
  if (at == EXCHANGE_HEADERS_MOST)
    return;
  exchange->headers[at].name = name;
  vsnprintf(exchange->headers[at].value, EXCHANGE_HEADER_BYTES, format, values);
  exchange->header_count += at == exchange->header_count;
}

void exchange_add_header(struct exchange *exchange, const char *name, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  put_header(exchange, name, format, values);
  va_end(values);
}

struct buf *exchange_reply(struct exchange *exchange, unsigned status, const char *type)
{
  exchange->status = status;
  exchange_add_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE, "%s", type);
  buf_clear(&exchange->reply);
  return &exchange->reply;
}

void exchange_reply_file(struct exchange *exchange, unsigned status, const char *type, int file, uint64_t from,
                         uint64_t bytes)
{
  exchange_reply(exchange, status, type);
  exchange->reply_file = file;
  exchange->reply_from = from;
  exchange->reply_bytes = bytes;
}

// Cuts off a character whose end is missing.
static void cut_character(char *text)
{
  size_t length = strlen(text), start = length;
  while (start > 0 && length - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
    start--;
  if (start > 0 && (unsigned char)text[start - 1] >= 0xc0 &&
      utf8_sequence((const unsigned char *)text + start - 1, length - start + 1) == 0)
    text[start - 1] = 0;
}

static void refuse(struct exchange *exchange, unsigned status, const char *format, va_list values)
{
  exchange->status = status;
  vsnprintf(exchange->message, sizeof exchange->message, format, values);
  cut_character(exchange->message);
}

void exchange_refuse(struct exchange *exchange, unsigned status, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  refuse(exchange, status, format, values);
  va_end(values);
}

void exchange_refuse_for_now(struct exchange *exchange, unsigned retry_s, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  refuse(exchange, 503, format, values);
  va_end(values);
  exchange->retry_s = retry_s;
  exchange_add_header(exchange, MHD_HTTP_HEADER_RETRY_AFTER, "%u", retry_s);
}

void exchange_refuse_error(struct exchange *exchange, unsigned status, const struct error *err)
{
  char line[sizeof exchange->message];
  error_line(err, line, sizeof line);
  exchange_refuse(exchange, status, "%s", line);
}

// ---- sending ---------------------------------------------------------------------------------------------------------
static void put_refusal(struct exchange *exchange)
{
  struct json_writer json;
  if (exchange_is_protocol(exchange)) {
    exchange->server->options.site->put_refusal(exchange);
    return;
  }
  struct buf *text = exchange_reply(exchange, exchange->status, "application/json");
  json_start(&json, text);
  json_object(&json);
  json_member_object(&json, "error");
  json_member_int(&json, "status", exchange->status);
  json_member_string(&json, "message", exchange->message);
  json_object_end(&json);
  json_object_end(&json);
  buf_text(text, "\n");
}

// Other sites can neither show, read nor keep a reply; clients of a protocol are no browsers.
static void add_headers(const struct exchange *exchange, struct MHD_Response *response)
{
  static const char *const always[][2] = {
      {"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-store"},
      {"Referrer-Policy", "no-referrer"},    {"Cross-Origin-Resource-Policy", "same-origin"},
      {"X-Frame-Options", "DENY"},           {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"}};
  const struct microhttpd *http = &exchange->server->http;
  size_t count = exchange_is_protocol(exchange) ? 1 : sizeof always / sizeof always[0];
  for (size_t i = 0; i < count; i++) {
    bool is_replaced = false;
    for (size_t k = 0; k < exchange->header_count; k++)
      is_replaced |= strcmp(exchange->headers[k].name, always[i][0]) == 0;
    if (!is_replaced)
      http->MHD_add_response_header(response, always[i][0], always[i][1]);
  }
  for (size_t i = 0; i < exchange->header_count; i++)
    http->MHD_add_response_header(response, exchange->headers[i].name, exchange->headers[i].value);
  if (exchange->status == 401 && !exchange_is_protocol(exchange)) // a browser asks the user for it
    http->MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Basic realm=\"xsp\", charset=\"UTF-8\"");
}

// The response takes the file or the buf's bytes.
static struct MHD_Response *make_response(struct exchange *exchange)
{
  const struct microhttpd *http = &exchange->server->http;
  struct buf *text = &exchange->reply;
  struct MHD_Response *response = NULL;
  if (exchange->reply_file >= 0) {
    response = http->MHD_create_response_from_fd_at_offset64(exchange->reply_bytes, exchange->reply_file,
                                                             exchange->reply_from);
    exchange->reply_file = response != NULL ? -1 : exchange->reply_file;
  } else if (text->length == 0) {
    response = http->MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
  } else {
    response = http->MHD_create_response_from_buffer(text->length, text->data, MHD_RESPMEM_MUST_FREE);
    if (response != NULL)
      *text = (struct buf){0};
  }
  return response;
}

enum MHD_Result exchange_send(struct exchange *exchange)
{
  const struct microhttpd *http = &exchange->server->http;
  if (exchange->message[0] == 0 && exchange->reply.failed)
    exchange_refuse(exchange, 500, "the reply is too large");
  if (exchange->message[0] != 0 && exchange->reply_file >= 0) {
    close(exchange->reply_file);
    exchange->reply_file = -1;
  }
  if (exchange->message[0] != 0)
    put_refusal(exchange);
  struct MHD_Response *response = make_response(exchange);
  if (response == NULL)
    return MHD_NO;
  add_headers(exchange, response);
  enum MHD_Result result = http->MHD_queue_response(exchange->http, exchange->status, response);
  http->MHD_destroy_response(response);
  return result;
}
