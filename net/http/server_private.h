// SPDX-License-Identifier: Apache-2.0
// What server.c (start and stop), request.c (what happens to a request) and exchange.c share.
#ifndef XSP_HTTP_SERVER_PRIVATE_H
#define XSP_HTTP_SERVER_PRIVATE_H

#include "http/address.h"
#include "http/connections.h"
#include "http/gate.h"
#include "http/microhttpd.h"
#include "http/server.h"

struct http_server {
  struct http_server_options options;
  struct microhttpd http;
  struct http_address address;
  char url[sizeof "https://" + sizeof((struct http_address *)0)->text];
  struct connections connections;
  struct gate gate; // of bodies in memory
  struct MHD_Daemon *daemon;
  int listening;     // its descriptor of the address
  bool is_stopping;  // atomic
  pthread_t starter; // the thread of http_server_start
  char problem[200]; // what libmicrohttpd reported to it
};

// ---- request.c: called by libmicrohttpd on the connection's thread
void *request_begin(void *server, const char *target, struct MHD_Connection *connection);
enum MHD_Result request_take(void *server, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *data, size_t *size, void **state);
void request_end(void *server, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode reason);

#endif
