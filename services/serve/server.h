// SPDX-License-Identifier: Apache-2.0
// The server from inside: what start.c and handlers share.
#ifndef XSP_SERVE_SERVER_H
#define XSP_SERVE_SERVER_H

#include "http/exchange.h"
#include "http/server.h"
#include "serve/api/catalogue.h"
#include "serve/jobs.h"
#include "serve/journal.h"
#include "serve/keeper.h"
#include "serve/retention.h"
#include "serve/serve.h"

#include <semaphore.h>

struct live;
struct page_cache;
struct prepare;

struct serve {
  struct serve_options options;
  struct http_server *http;
  struct journal *journal;
  struct keeper *keeper;
  struct jobs *jobs;
  struct page_cache *pages;
  struct prepare *prepare; // NULL: pages are made when they are asked for
  struct live *live;
  int folder; // a descriptor of the folder of files; services/serve/kept.h
  struct kept_uses uses;
  struct catalogue catalogue;
  struct retention *retention; // NULL: nothing is removed
  sem_t turns;                 // services/serve/turn.h
  uint64_t seed;               // of hashes
  sem_t expansions;            // how many more bodies may be decompressed at once
};

static inline struct serve *serve_of(const struct exchange *exchange)
{
  return exchange_context(exchange);
}

extern const struct http_site serve_site; // services/serve/routes.c

#endif
