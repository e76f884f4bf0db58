// SPDX-License-Identifier: Apache-2.0
// The program's source: a line of it for the title of a finding that has no better name for what the line does, or its loops.
#ifndef XSP_ANALYZE_FINDINGS_SOURCE_LINE_H
#define XSP_ANALYZE_FINDINGS_SOURCE_LINE_H

#include "analyze/findings/findings.h"
#include "base/buf.h"

// The whole file; the caller frees `text`. False: the request does not allow it, the trace is of another machine, or the file is no Python
// source, is gone, or was changed after the recording began.
bool findings_source(struct findings *findings, const char *file, struct buf *ret_text);
// The text of the line, without blanks around it, shortened; NULL, as above.
const char *findings_source_line(struct findings *findings, const char *file, int64_t line);
// Moves the finding, of a rule or kind of work, to the one line of its file that asks for what it is about, if there is such a line:
// save_steps=1 rather than trainer.train(). The title then has the line that it was at.
void finding_at_setting(struct findings *findings, struct finding *finding, const char *key);

#endif
