// SPDX-License-Identifier: Apache-2.0
// Keeps an agent's record in the registry for as long as it lives: a thread that holds a lease, writes the record when it changes,
// and registers again after the registry was away.
#ifndef XSP_AGENT_REGISTRATION_H
#define XSP_AGENT_REGISTRATION_H

#include "base/buf.h"
#include "base/error.h"
#include "base/message.h"

#define REGISTRY_PREFIX "/xsp/agents/"

struct registration_options {
  const char *registry; // "http://127.0.0.1:2379"
  const char *name;     // of the agent: its key is REGISTRY_PREFIX and this
  unsigned ttl_s;       // a record outlives its agent by so long
  // Writes the record; called by the thread every few seconds, and after registration_changed.
  void (*describe)(void *context, struct buf *out);
  void *context;
  message_fn message;
};

struct registration;
// The registry may be away: the thread tries on. STATUS_USE: not an address.
enum status registration_start(const struct registration_options *options, struct registration **ret_registration,
                               struct error *err) MUST_CHECK;
// The record is written again now. Any thread; NULL: nothing.
void registration_changed(struct registration *registration);
// Takes the record away; nothing is described any more. registration_free frees. Both: NULL is nothing.
void registration_end(struct registration *registration);
void registration_free(struct registration *registration);

#endif
