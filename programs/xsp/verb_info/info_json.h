// SPDX-License-Identifier: Apache-2.0
// What `xsp info` reports, as JSON.
#ifndef XSP_PROGRAMS_XSP_INFO_JSON_H
#define XSP_PROGRAMS_XSP_INFO_JSON_H

#include "base/buf.h"
#include "correlate/facts.h"

void info_print_json(const struct info_file *file, struct buf *out);
// The value of a run's note, or of the file's (run 0); NULL: none.
const char *info_note(const struct info_file *file, int64_t run_id, const char *key);

#endif
