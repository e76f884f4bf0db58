// SPDX-License-Identifier: Apache-2.0
// What tracers reported of runs with hardware metrics: which were measured, or why none were.
#ifndef XSP_PROGRAMS_XSP_METRIC_LINES_H
#define XSP_PROGRAMS_XSP_METRIC_LINES_H

#include "base/buf.h"
#include "store/store.h"

// Appends each line once, the first with a label. `shown_run_id`: the run whose lines are shown already; 0: none.
enum status metric_lines(struct store *store, int64_t shown_run_id, struct buf *out, struct error *err) MUST_CHECK;

#endif
