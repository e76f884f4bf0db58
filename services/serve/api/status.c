// SPDX-License-Identifier: Apache-2.0
// How much the server has to do: places, turns and memory of bodies. Called through services/serve/routes.c.
#include "serve/api/status.h"

#include "base/json_write.h"
#include "http/exchange.h"
#include "serve/server.h"

void status_answer(struct exchange *exchange)
{
  struct json_writer json;
  const struct http_server_figures figures = http_server_figures(serve_of(exchange)->http);
  struct buf *text = exchange_reply(exchange, 200, "application/json");
  json_start(&json, text);
  json_object(&json);
  json_member_int(&json, "connections", figures.connections);
  json_member_int(&json, "requests_working", figures.requests_working);
  json_member_int(&json, "requests_waiting", figures.requests_waiting);
  json_member_int(&json, "requests_held", figures.requests_held);
  json_member_int(&json, "body_bytes", (int64_t)figures.body_bytes);
  json_member_int(&json, "body_bytes_peak", (int64_t)figures.body_bytes_peak);
  json_member_int(&json, "body_bytes_most", (int64_t)figures.body_bytes_most);
  json_object_end(&json);
  buf_text(text, "\n");
}
