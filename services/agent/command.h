// SPDX-License-Identifier: Apache-2.0
// The command of an evaluation: xsp evaluate with the agent's own paths for the models and the data that a request names, if its user
// may have them. Made when a request comes, to refuse it, and again when it begins: by then they may be gone or forbidden. Any thread.
#ifndef XSP_AGENT_COMMAND_H
#define XSP_AGENT_COMMAND_H

#include "agent/submission.h"
#include "base/error.h"

struct agent;
// `user`: NULL is the owner. *ret_arguments in `arena`, ends with NULL. 0, or the HTTP status and in `why` the reason of a refusal.
unsigned agent_command_make(struct agent *agent, const char *user, const struct submission *submission,
                            struct arena *arena, const char *const **ret_arguments, char why[512]);
// The same for struct queue_options.
enum status agent_command_of_request(void *agent, const char *user, const char *request, struct arena *arena,
                                     const char *const **ret_arguments, struct error *err) MUST_CHECK;

#endif
