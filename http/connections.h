// SPDX-License-Identifier: Apache-2.0
// The open connections, and a thread that ends those that take too long: to send a request, or to begin one. libmicrohttpd's
// own limit is between two bytes; a client that sends one at a time would keep its place for ever.
#ifndef XSP_HTTP_CONNECTIONS_H
#define XSP_HTTP_CONNECTIONS_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct connection { // owned by the list
  int socket;
  uint64_t since_ns; // when the client's turn began; 0: it is the server's
  bool has_request;  // its head has come, and its reply is not sent yet
  struct connection *previous, *next;
};
struct connections {
  pthread_mutex_t lock; // guards all that follows
  pthread_cond_t changed;
  struct connection *first;
  unsigned request_count; // connections with has_request
  uint64_t timeout_ns;
  bool is_ending;
  pthread_t thread;
};

enum status connections_start(struct connections *connections, unsigned timeout_s, struct error *err) MUST_CHECK;
void connections_done(struct connections *connections); // after the last connection is gone

// ---- of one connection: by its own thread
struct connection *connections_add(struct connections *connections, int socket);
void connections_remove(struct connections *connections, struct connection *connection); // before its socket is closed
void connections_begin(struct connections *connections, struct connection *connection);  // a request's head has come
void connections_serve(struct connections *connections, struct connection *connection);  // all of it has come
void connections_finish(struct connections *connections,
                        struct connection *connection); // its reply is sent, or it broke off
// Waits until no request is in progress, at most so long.
void connections_wait(struct connections *connections, uint64_t most_ns);

#endif
