// SPDX-License-Identifier: Apache-2.0
// The exchange with a runner, for runner_requests.c: defined in runner.c.
#ifndef XSP_LAUNCH_RUNNER_PRIVATE_H
#define XSP_LAUNCH_RUNNER_PRIVATE_H

#include "format/protocol.h"
#include "launch/runner.h"

enum status runner_send(struct runner *runner, const char *const *fields, size_t count, struct error *err) MUST_CHECK;
// Reads one answer, of at most PROTOCOL_LINE_MAXIMUM bytes, into `line`, which the fields point into; an `error` line becomes *err.
enum status runner_answer(struct runner *runner, char *line, char *fields[PROTOCOL_FIELDS], size_t *ret_count,
                          struct error *err) MUST_CHECK;
// Sends a request and waits until it is done.
enum status runner_ask(struct runner *runner, const char *const *fields, size_t count, struct error *err) MUST_CHECK;
enum status runner_wait_done(struct runner *runner, const char *request, struct error *err) MUST_CHECK;
enum status runner_unexpected(const struct runner *runner, const char *answer, const char *request,
                              struct error *err) MUST_CHECK;

// ---- runner_end.c: how its process ends, for runner.c
// Kills it. The keeper of an isolated one does that, and then has something to remove.
void runner_kill(const struct runner *runner);
// Waits for the process to end, five seconds at most: a framework's destructors may hang, and it may have closed the socket without
// meaning to. Then kills it. Returns its wait status.
int runner_reap(struct runner *runner, bool *ret_was_killed);
// The runner closed its end, or ended: reaps it; the error is how it died.
enum status runner_explain_end(struct runner *runner, struct error *err);

#endif
