// SPDX-License-Identifier: Apache-2.0
// An HTTP server over a table of routes: a thread for each connection, guarded by a token or to this machine. The front door of
// http/ for servers; handlers see requests by net/http/exchange.h. See docs/internals/http.md.
#ifndef XSP_HTTP_SERVER_H
#define XSP_HTTP_SERVER_H

#include "base/error.h"
#include "http/guard.h"
#include "http/route.h"

#include <stdbool.h>
#include <stdint.h>

// What a server answers. Constant.
struct http_site {
  const struct route *routes; // ends with {0}
  const char *title;          // in the description of the API
  const char *description;    // the path that has it
  const char *schemas;        // JSON: `components` of the description
  // The first segment of paths that belong to a protocol ("v1"): its errors have a form of their own, and its clients are no
  // browsers. NULL: none.
  const char *protocol;
  const char *protocol_error;                     // the schema of such an error as JSON, in `schemas`
  void (*put_refusal)(struct exchange *exchange); // of these paths: replies with exchange->status and exchange->message
  // Each once for a request whose route was found, before its parameters are checked and after its reply. NULL: nothing is to be done.
  void (*begin)(struct exchange *exchange);
  void (*end)(struct exchange *exchange);
};

struct http_server_options {
  const struct http_site *site;
  void *context;      // of handlers
  const char *listen; // "127.0.0.1:4318", "[::1]:0", "localhost:4318"
  const char *token;  // clients have to send it; NULL: none, for loopback only
  // With a token: others who may ask, each by a token of their own; ends with {0}. NULL: nobody.
  const struct guard_user *users;
  const char *certificate, *key; // PEM texts of both; NULL: no TLS
  uint64_t limit_body_bytes;     // of a body in memory
  uint64_t limit_upload_bytes;   // of a body in a file
  unsigned limit_connections;
  unsigned timeout_s;  // for a request to arrive, and for a connection without one
  const char *library; // of libmicrohttpd; NULL: to be looked for
};

struct http_server;
// Takes the address; nothing is answered yet. Texts of *options must live as long as the server. STATUS_USE: an address
// elsewhere than on loopback without a token. http_server_stop frees, also after an error.
enum status http_server_open(const struct http_server_options *options, struct http_server **ret_server,
                             struct error *err) MUST_CHECK;
// Answers from now on, on threads that block the signals that the caller blocks.
enum status http_server_start(struct http_server *server, struct error *err) MUST_CHECK;
const char *
http_server_url(const struct http_server *server); // "http://127.0.0.1:4318": with the port that was really taken
uint16_t http_server_port(const struct http_server *server);
// What requests of routes with is_stored wait for, some seconds. LITTLE: those of more than 16 KiB wait. At first MUCH. Any thread.
enum http_room { HTTP_ROOM_NONE, HTTP_ROOM_LITTLE, HTTP_ROOM_MUCH };
void http_server_set_room(struct http_server *server, enum http_room room);
struct http_server_figures {
  unsigned connections;                                  // that have a place
  unsigned requests_working;                             // with a body in memory, let in a moment ago
  unsigned requests_waiting;                             // for others
  unsigned requests_held;                                // until the time that Retry-After gave their client
  uint64_t body_bytes, body_bytes_peak, body_bytes_most; // of bodies in memory: now, ever, the bound
};
struct http_server_figures http_server_figures(struct http_server *server);
void http_server_stop(struct http_server *server); // answers the requests that have begun, frees; NULL: nothing

#endif
