// SPDX-License-Identifier: Apache-2.0
// Answers that verbs of xsp already give: the handlers run `xsp VERB` on a file of the folder, in a process of its own. So a
// reply is what the verb prints; a hostile file or exhausted memory ends that process, not the server; and a question whose
// client left is ended, as is one whose server is gone.
#ifndef XSP_SERVE_API_ASK_H
#define XSP_SERVE_API_ASK_H

#include "base/child.h"
#include "http/route.h"

extern const struct route_parameter ask_analysis_parameters[], ask_report_parameters[];

void ask_info(struct exchange *exchange);     // GET /api/v1/files/{file}/info
void ask_analysis(struct exchange *exchange); // GET /api/v1/files/{file}/analyses/{analysis}
void ask_report(struct exchange *exchange);   // GET /files/{file}/report.html

struct ask_command {
  const char *const *arguments; // begin with "xsp" and end with NULL
  int folder, output, nice;     // as in struct child_command
  struct pollfd stop;           // ends it
};
// Runs it to its end, on this thread. `messages` may be NULL. Returns an errno; 0: *ret_status is its wait status.
int ask_run(const struct ask_command *command, struct child_text *messages, int *ret_status, bool *ret_is_stopped);
// Runs `xsp ARGUMENT…`, which ends with NULL, in the folder, for a file that it makes there. False: the exchange has the refusal.
bool ask_to_make(struct exchange *exchange, const char *const *arguments);

#endif
