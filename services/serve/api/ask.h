// SPDX-License-Identifier: Apache-2.0
// Answers that verbs of xsp already give: the handlers run `xsp VERB` on a file of the folder, in a process of its own. So a
// reply is what the verb prints; a hostile file or exhausted memory ends that process, not the server; and a question whose
// client left is ended.
#ifndef XSP_SERVE_API_ASK_H
#define XSP_SERVE_API_ASK_H

#include "http/route.h"

#include <sys/types.h>

extern const struct route_parameter ask_analysis_parameters[], ask_report_parameters[];

void ask_info(struct exchange *exchange);     // GET /api/v1/files/{file}/info
void ask_analysis(struct exchange *exchange); // GET /api/v1/files/{file}/analyses/{analysis}
void ask_report(struct exchange *exchange);   // GET /files/{file}/report.html

// Starts `xsp ARGUMENT…` in the folder; `arguments` begin with "xsp" and end with NULL. Returns an errno.
int ask_start(int folder, char *const *arguments, int output, int errors, pid_t *ret_child);
// Runs `xsp ARGUMENT…`, which ends with NULL, in the folder, for a file that it makes there. False: the exchange has the refusal.
bool ask_to_make(struct exchange *exchange, const char *const *arguments);

#endif
