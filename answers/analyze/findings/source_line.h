// SPDX-License-Identifier: Apache-2.0
// A line of the program's source, for the title of a finding that has no better name for what the line does.
#ifndef XSP_ANALYZE_FINDINGS_SOURCE_LINE_H
#define XSP_ANALYZE_FINDINGS_SOURCE_LINE_H

#include "analyze/findings/findings.h"

// The text of the line, without blanks around it, shortened. NULL: the request does not allow it, the trace is of another machine, or
// the file is no Python source, is gone, or was changed after the recording began.
const char *findings_source_line(struct findings *findings, const char *file, int64_t line);

#endif
