// SPDX-License-Identifier: Apache-2.0
// An agent: evaluates models of this machine for others, by HTTP, and is found by them in a registry. Front door of agent/ for the
// verb `agent`; see docs/internals/agent.md. Users' page: docs/agents.md.
#ifndef XSP_AGENT_AGENT_H
#define XSP_AGENT_AGENT_H

#include "base/error.h"
#include "base/message.h"
#include "http/guard.h"

#include <stdbool.h>

struct agent_options {
  const char *registry; // "http://127.0.0.1:2379"
  const char *listen;   // "127.0.0.1:0"
  const char *address;  // by which others reach it, "http://HOST:PORT"; NULL: the one it listens at
  const char *name;     // in the registry; NULL: HOST-PORT
  const char *models;   // folder of manifests; NULL: none
  const char *data;     // folder of data sets; NULL: none
  const char *state;    // folder in which its queue outlives it; NULL: by its name, among the user's state
  const char *token;    // clients have to send it; NULL: none, for loopback only
  // With a token: others who may ask, within the models' permissions. Ends with {0}; NULL: nobody.
  const struct guard_user *users;
  const char *certificate, *key; // PEM texts of both; NULL: no TLS
  unsigned ttl_s;                // of its record, after its end
  unsigned jobs;                 // evaluations at a time
  unsigned waiting_most;         // evaluations that wait
  unsigned waiting_most_each;    // of a user
  unsigned limit_s;              // an evaluation that runs longer is ended; 0: none
  bool isolates;                 // each of them with --isolate
  const char *library;           // of libmicrohttpd; NULL: to be looked for
  message_fn message;            // any thread
};

struct agent;
// Probes the frameworks, listens, and registers, on threads of its own, which block the signals that the caller blocks. The registry
// may be away. STATUS_USE: options; an address elsewhere than on loopback without a token. agent_stop frees, also after an error.
enum status agent_start(const struct agent_options *options, struct agent **ret_agent, struct error *err) MUST_CHECK;
const char *agent_name(const struct agent *agent);
const char *agent_url(const struct agent *agent); // as registered
// Ends its evaluations, which an agent with the same state begins again, and takes its record away. NULL: nothing.
void agent_stop(struct agent *agent);

#endif
