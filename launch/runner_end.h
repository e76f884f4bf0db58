// SPDX-License-Identifier: Apache-2.0
// How a runner's process ends. Called by runner.c only.
#ifndef XSP_LAUNCH_RUNNER_END_H
#define XSP_LAUNCH_RUNNER_END_H

#include "launch/runner.h"

// Kills it. The keeper of an isolated one does that, and then has something to remove.
void runner_kill(const struct runner *runner);
// Ended, though not yet reaped. The socket stays open where a child of the runner holds the other end.
bool runner_has_ended(const struct runner *runner);
// Waits for the process to end, five seconds at most: a framework's destructors may hang, and it may have closed the socket without
// meaning to. Then kills it. Returns its wait status.
int runner_reap(struct runner *runner, bool *ret_was_killed);
// The runner closed its end, or ended: reaps it; the error is how it died.
enum status runner_explain_end(struct runner *runner, struct error *err);

#endif
