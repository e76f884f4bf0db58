// SPDX-License-Identifier: Apache-2.0
// The open connections, and a thread that ends those that take too long: to send a request, or to begin one. libmicrohttpd's
// own limit is between two bytes; a client that sends one at a time would keep its place for ever.
//
// When places run short a new connection takes the place of another one: of the peer that has most,
// first one that sent no good request for 2 s, then one whose body takes longer, one that waits for its turn, a new one: the oldest of
// these. Then, once it has its reply, the one that sends most.
#ifndef XSP_HTTP_CONNECTIONS_H
#define XSP_HTTP_CONNECTIONS_H

#include "base/error.h"
#include "http/gate.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define PEER_BYTES 8u // of an address: all of IPv4, the network (/64) of IPv6

struct peer { // an address that has connections
  uint8_t address[PEER_BYTES];
  unsigned connections; // that have a place
  unsigned users;       // connections that are in the list
  struct gate_share share;
  struct peer *previous, *next;
};
struct connection { // owned by the list
  int socket;
  struct peer *peer;
  uint64_t since_ns;      // when the client's turn began; 0: it is the server's
  uint64_t not_before_ns; // the client was asked to send its next body then; used by the connection's thread
  bool has_request;       // its head has come, and its reply is not sent yet
  bool was_served;        // it had a request that was not refused
  bool has_place;         // else it ends with its reply, or has ended
  bool is_ended;          // its socket was shut down
  uint64_t opened_ns;
  uint64_t bytes;         // atomic: of the bodies of its requests, as announced
  struct gate_turn *turn; // of its request, while it may wait; NULL
  uint64_t turn_ns;       // since when it does
  struct gate_share share;
  struct connection *previous, *next;
};
struct connections {
  pthread_mutex_t lock; // guards all that follows, and connections and peers
  pthread_cond_t changed;
  struct connection *first;
  struct peer *peers;
  struct gate *gate;
  unsigned count, most;   // connections that have a place
  unsigned request_count; // connections with has_request
  uint64_t timeout_ns, head_timeout_ns;
  bool is_ending;
  pthread_t thread;
};

struct connections_options {
  struct gate *gate;
  unsigned most; // connections
  unsigned timeout_s;
};
enum status connections_start(struct connections *connections, const struct connections_options *options,
                              struct error *err) MUST_CHECK;
void connections_done(struct connections *connections); // after the last connection is gone

// ---- of one connection: by its own thread
struct connection *connections_add(struct connections *connections, int socket, const struct sockaddr *address);
void connections_remove(struct connections *connections, struct connection *connection); // before its socket is closed
void connections_begin(struct connections *connections, struct connection *connection);  // a request's head has come
void connections_serve(struct connections *connections, struct connection *connection);  // all of it has come
// Its reply is sent, or it broke off.
void connections_finish(struct connections *connections, struct connection *connection, bool was_served);
// Around gate_enter. A connection whose place is taken meanwhile gives its turn up.
enum gate_result connections_enter(struct connections *connections, struct connection *connection,
                                   struct gate_turn *turn, struct gate_request *request);
// Waits until no request is in progress, at most so long.
void connections_wait(struct connections *connections, uint64_t most_ns);
unsigned connections_count(struct connections *connections);

#endif
