// SPDX-License-Identifier: Apache-2.0
// One evaluation on one agent, from the client's side. One thread.
#ifndef XSP_AGENT_REMOTE_H
#define XSP_AGENT_REMOTE_H

#include "agent/answer.h"
#include "agent/submission.h"
#include "base/error.h"

#include <stdbool.h>

enum remote_result {
  REMOTE_OK,
  REMOTE_LOST,      // no answer, or the agent does not know the evaluation any more
  REMOTE_BUSY,      // it takes no more for now
  REMOTE_FORBIDDEN, // not to this user
  REMOTE_REFUSED,   // it answered with an error
};

struct remote;
// `url`: the agent's. `authorization`: a header, "Authorization: Bearer TOKEN"; NULL: none. STATUS_SYSTEM: there is no libcurl.
enum status remote_open(const char *url, const char *authorization, struct remote **ret_remote,
                        struct error *err) MUST_CHECK;
void remote_close(struct remote *remote); // NULL: nothing

// Other results than OK have *err, with the agent's address.
enum remote_result remote_submit(struct remote *remote, const struct submission *submission, struct error *err);
// *ret_answer lives until the next call; texts in `arena`.
enum remote_result remote_look(struct remote *remote, struct arena *arena, struct answer *ret_answer,
                               struct error *err);
// After REMOTE_LOST: the agent answered, but does not know the evaluation.
bool remote_knows_no_more(const struct remote *remote);
// The trace, to `path`, which appears complete or not at all. Without `force` it must not exist.
enum remote_result remote_fetch(struct remote *remote, const char *path, bool force, struct error *err);
// Ends it and removes what the agent keeps, as far as possible.
void remote_remove(struct remote *remote);

#endif
