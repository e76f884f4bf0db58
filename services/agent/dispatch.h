// SPDX-License-Identifier: Apache-2.0
// Evaluates or profiles on agents that satisfy constraints: on the least busy one, or on all. Front door of agent/ for these verbs.
#ifndef XSP_AGENT_DISPATCH_H
#define XSP_AGENT_DISPATCH_H

#include "agent/answer.h"
#include "agent/submission.h"
#include "base/error.h"
#include "base/message.h"

#include <signal.h>

struct dispatch_options {
  const char *registry;      // "http://127.0.0.1:2379"
  const char *authorization; // a header for agents; NULL: none
  const char *constraints;   // of --on; NULL: none
  bool on_all;               // else on the least busy one, and on another where that is lost
  struct submission submission;
  const char *output_path; // of the .xsp file; with on_all NAME.xsp means NAME-AGENT.xsp for each
  bool force;              // replaces files that exist
  void (*progress)(const char *text, bool is_last); // NULL: none
  message_fn message;
  const volatile sig_atomic_t *interrupted;
};

struct dispatched { // one agent's part
  const char *agent;
  const char *output_path;
  struct answer *answer; // NULL: it has none
};
struct dispatch {
  struct dispatched *parts;
  size_t count;
  const char **notes; // agents that were lost
  size_t note_count;
};

// Waits for the results; one thread. All in `arena`. *ret_dispatch has the parts that are complete, also after an error: STATUS_USE:
// options; STATUS_SYSTEM: the registry or an agent does not answer, no agent satisfies the constraints (what each one misses goes to
// `message`), one failed.
enum status dispatch_run(const struct dispatch_options *options, struct arena *arena, struct dispatch *ret_dispatch,
                         struct error *err) MUST_CHECK;

#endif
