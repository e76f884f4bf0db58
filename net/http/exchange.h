// SPDX-License-Identifier: Apache-2.0
// One request and its reply, as handlers see them. Used by the connection's thread only.
//
//   static void answer(struct exchange *exchange)            GET /files/{file}/page?max-spans=N
//   {
//     const char *file = exchange->parts[0];                 checked: a name, no path
//     const char *most = exchange_parameter(exchange, "max-spans");
//     …
//     exchange_refuse(exchange, 404, "there is no file %s", file);           or
//     buf_text(exchange_reply(exchange, 200, "text/html; charset=utf-8"), "<!DOCTYPE html>…");
//   }
#ifndef XSP_HTTP_EXCHANGE_H
#define XSP_HTTP_EXCHANGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "http/gate.h"
#include "http/microhttpd.h"
#include "http/route.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define EXCHANGE_HEADERS_MOST 12u
#define EXCHANGE_HEADER_BYTES 512u

#define EXCHANGE_NAME_BYTES 64u
#define EXCHANGE_BODY_SPARE ((size_t)128) // bytes of room after a body in memory, for its handler

struct http_server; // net/http/server_private.h

struct exchange {
  // ---- what is asked
  struct http_server *server;
  struct MHD_Connection *http;
  struct arena *texts;           // owned: headers that had to be copied
  struct connection *connection; // its place in net/http/connections.h; NULL: the head has not come
  bool is_head;                  // HEAD: the library leaves out the body
  const char *version_at;        // where the version must be, if the target has no zero byte
  const struct route *route;     // NULL: none
  enum target_result target_result;
  struct target target;
  const char *parts[ROUTE_PARTS_MOST]; // the path's segments that are in braces in the route
  const char *user;                    // whose token was sent, of options.users; NULL: the owner's, or none is needed
  const char *used_file;               // the site's own: a file that the request is about; NULL: none
  struct buf body;                     // ROUTE_BODY_IN_MEMORY, as it was sent; the handler may change it
  int body_file;                       // ROUTE_BODY_IN_FILE: made by the route's `begin`, closed with the exchange
  char body_name[EXCHANGE_NAME_BYTES]; // the site's own: its name, until the file has another one
  uint64_t announced, received;        // bytes of the body: as Content-Length has it, and so far
  struct gate_turn turn;               // of a body in memory

  // ---- the reply
  unsigned status;   // of HTTP; 0: nothing was replied yet
  unsigned retry_s;  // of status 503: what the client is asked to wait
  char message[512]; // of exchange_refuse; else empty
  struct exchange_header {
    const char *name;
    char value[EXCHANGE_HEADER_BYTES];
  } headers[EXCHANGE_HEADERS_MOST];
  size_t header_count;
  struct buf reply;
  int reply_file; // sent in place of `reply`; -1: none; owned
  uint64_t reply_from, reply_bytes;
};

// Of the request, without white space around it; NULL: absent.
const char *exchange_header(const struct exchange *exchange, const char *name);
const char *exchange_parameter(const struct exchange *exchange,
                               const char *name);        // of the query, decoded; NULL: absent
void *exchange_context(const struct exchange *exchange); // struct http_server_options.context
// True: the client closed its side, or the server stops. For handlers that take long.
bool exchange_is_left(const struct exchange *exchange);

// ---- one of these, once; a refusal after another reply takes its place
// The buf for the reply's body, which lives as long as the exchange.
struct buf *exchange_reply(struct exchange *exchange, unsigned status, const char *type);
// Sends `bytes` bytes of the regular file from `from` on; takes the descriptor.
void exchange_reply_file(struct exchange *exchange, unsigned status, const char *type, int file, uint64_t from,
                         uint64_t bytes);
// {"error": {"message": …}}. Texts of clients in it are escaped.
__attribute__((format(printf, 3, 4))) void exchange_refuse(struct exchange *exchange, unsigned status,
                                                           const char *format, ...);
__attribute__((format(printf, 3, 4))) void exchange_refuse_for_now(struct exchange *exchange, unsigned retry_s,
                                                                   const char *format, ...); // 503
void exchange_refuse_error(struct exchange *exchange, unsigned status, const struct error *err);

// Of the reply. The name is not copied; the value is cut after EXCHANGE_HEADER_BYTES - 1 bytes. A second value replaces the first.
// Content-Security-Policy: default-src 'none' unless a handler sets another.
__attribute__((format(printf, 3, 4))) void exchange_add_header(struct exchange *exchange, const char *name,
                                                               const char *format, ...);

// ---- request.c
struct exchange *exchange_new(struct http_server *server, struct MHD_Connection *http, const char *target);
void exchange_free(struct exchange *exchange);
enum MHD_Result exchange_send(struct exchange *exchange); // what was replied

#endif
