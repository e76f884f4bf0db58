// SPDX-License-Identifier: Apache-2.0
// Call paths of executions. Private to correlate.
#ifndef XSP_CORRELATE_EXECUTION_CONTEXTS_H
#define XSP_CORRELATE_EXECUTION_CONTEXTS_H

#include "correlate/parents.h"

// Gives each execution without a call path that of its launch's caller, else that of its parent, with itself as the last frame.
// Its launch is no part of it: that is another frame of the same caller. Then samples of a kernel's instructions, whose paths
// begin with the kernel, are called from where it is, if all its executions have one call path: a sample names no launch. For a
// store that is being written, while `parents` has its launches.
enum status execution_contexts_put(struct store *store, int64_t run_id, const struct store_spans *spans,
                                   struct parents *parents, struct error *err) MUST_CHECK;

#endif
