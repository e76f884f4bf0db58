// SPDX-License-Identifier: Apache-2.0
// What serve.c (start and stop), request.c (what happens to a request) and handlers share.
#ifndef XSP_SERVE_SERVE_PRIVATE_H
#define XSP_SERVE_SERVE_PRIVATE_H

#include "serve/address.h"
#include "serve/api/catalogue.h"
#include "serve/connections.h"
#include "serve/jobs.h"
#include "serve/journal.h"
#include "serve/keeper.h"
#include "serve/microhttpd.h"
#include "serve/pages/live.h"
#include "serve/pages/page_cache.h"
#include "serve/pages/prepare.h"
#include "serve/retention.h"
#include "serve/serve.h"

#include <semaphore.h>

struct serve {
  struct serve_options options;
  struct microhttpd http;
  struct address address;
  char url[sizeof "https://" + sizeof((struct address *)0)->text];
  struct journal *journal;
  struct keeper *keeper;
  struct jobs *jobs;
  struct page_cache *pages;
  struct prepare *prepare; // NULL: pages are made when they are asked for
  struct live *live;
  struct connections connections;
  struct MHD_Daemon *daemon;
  int folder; // a descriptor of the folder of files; serve/kept.h
  struct kept_uses uses;
  struct catalogue catalogue;
  struct retention *retention; // NULL: nothing is removed
  sem_t turns;                 // serve/turn.h
  int listening;               // its descriptor of the address
  uint64_t seed;               // of hashes
  uint64_t body_bytes;         // atomic: of all bodies in memory
  sem_t expansions;            // how many more bodies may be decompressed at once
  bool is_stopping;            // atomic
  pthread_t starter;           // the thread of serve_start
  char problem[200];           // what libmicrohttpd reported to it
};

// ---- request.c: called by libmicrohttpd on the connection's thread
void *request_begin(void *serve, const char *target, struct MHD_Connection *connection);
enum MHD_Result request_take(void *serve, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *data, size_t *size, void **state);
void request_end(void *serve, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode reason);

#endif
