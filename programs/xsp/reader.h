// SPDX-License-Identifier: Apache-2.0
// What the verbs that read .xsp files share: the output format, opening with correlation.
#ifndef XSP_PROGRAMS_XSP_READER_H
#define XSP_PROGRAMS_XSP_READER_H

#include "programs/xsp/verb.h"
#include "report/report.h"

// --format and --json of a verb with is_reader; STATUS_USE for an unknown or a contradictory format.
enum status reader_format(const struct invocation *invocation, enum report_format *ret_format,
                          struct error *err) MUST_CHECK;
// Opens a file and makes sure that it is correlated. The caller closes with store_close.
enum status reader_open(const char *path, struct store **ret_store, struct error *err) MUST_CHECK;

#endif
