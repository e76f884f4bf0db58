// SPDX-License-Identifier: Apache-2.0
// Options of `xsp analyze findings`: which findings, their thresholds, and when the exit status is 1.
#ifndef XSP_PROGRAMS_XSP_FINDINGS_OPTIONS_H
#define XSP_PROGRAMS_XSP_FINDINGS_OPTIONS_H

#include "base/arena.h"
#include "programs/xsp/verb.h"
#include "report/report.h"

// STATUS_USE where one was given and `are_asked` (the analysis `findings` is among those asked for) is false.
enum status findings_options_refuse(const struct invocation *invocation, bool are_asked, struct error *err) MUST_CHECK;
// --fail-on and --may-lack, over all findings; --top afterwards. STATUS_NO: a finding of the tables is above its limit; the first is
// named. STATUS_INPUT: none is, but a rule that a limit names was not answered. STATUS_USE: a limit is wrong.
enum status findings_options_check(const struct invocation *invocation, const struct table *tables, size_t count,
                                   struct error *err) MUST_CHECK;
void findings_options_cut(const struct analyze_request *request, struct table *tables, size_t count);

#endif
