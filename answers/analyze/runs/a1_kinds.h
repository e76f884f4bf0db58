// SPDX-License-Identifier: Apache-2.0
// Kinds of calls in A1: the columns of each row, the list in the summary.
#ifndef XSP_ANALYZE_RUNS_A1_KINDS_H
#define XSP_ANALYZE_RUNS_A1_KINDS_H

#include "analyze/view.h"

// Columns model, signature, observations and share_pct. NULL: of no kind, which leaves them empty.
void analyze_put_kind(struct table_builder *table, const struct view *view, const struct view_kind *kind);
void analyze_summarize_kinds(struct question *question); // kinds, kind_count
// A question about the view's kind with this number; everything else is as in `question`.
enum status analyze_question_of_kind(struct question *question, size_t kind, struct question *ret_question,
                                     struct error *err) MUST_CHECK;

#endif
