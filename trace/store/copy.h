// SPDX-License-Identifier: Apache-2.0
// Copies what a dead collector had committed into a new file, for `xsp recover`.
#ifndef XSP_STORE_COPY_H
#define XSP_STORE_COPY_H

#include "store/store.h"

#include <stddef.h>

// Does run `run_id` of the file hold the trace named `trace`? Tells a session's own file from another of the same name.
enum status store_has_trace(struct store *store, int64_t run_id, const char *trace, bool *ret_has,
                            struct error *err) MUST_CHECK;
// Everything but derived columns and observations: experiments, systems, runs, tracks, spans, tags, logs, notes. `watcher`: of spans.
enum status store_copy(struct store *from, struct store *to, struct headway_watcher watcher,
                       struct error *err) MUST_CHECK;
// The ids of all spans in these runs, ascending, in `arena`.
enum status store_span_ids(struct store *store, const int64_t *run_ids, size_t run_count, struct arena *arena,
                           int64_t **ret_ids, size_t *ret_count, struct error *err) MUST_CHECK;

#endif
