// SPDX-License-Identifier: Apache-2.0
// What start.c and handlers share.
#ifndef XSP_AGENT_AGENT_PRIVATE_H
#define XSP_AGENT_AGENT_PRIVATE_H

#include "agent/agent.h"
#include "agent/models.h"
#include "agent/queue.h"
#include "agent/record.h"
#include "agent/registration.h"
#include "http/exchange.h"
#include "http/server.h"

struct agent {
  struct agent_options options;
  struct arena arena;
  struct agent_record record; // without what changes: busy and models
  char host[65];              // its name, where it can be an agent's
  const char *state;          // folder of the queue; NULL: not yet
  const char *data;           // real path; NULL: none
  struct models *models;
  struct queue *queue;
  struct http_server *http;
  struct registration *registration; // atomic; NULL: not yet
};

static inline struct agent *agent_of(const struct exchange *exchange)
{
  return exchange_context(exchange);
}

// The record as it is now, as JSON. Any thread.
void agent_describe(struct agent *agent, struct buf *out);
void agent_changed(void *agent);          // the record is another one now. Any thread
extern const struct http_site agent_site; // services/agent/routes.c

#endif
