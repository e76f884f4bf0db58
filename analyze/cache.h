// SPDX-License-Identifier: Apache-2.0
// Views and layer rows that the questions of one cache share.
#ifndef XSP_ANALYZE_CACHE_H
#define XSP_ANALYZE_CACHE_H

#include "analyze/layers/rows.h"

// Call before each question: frees what the previous one had beyond the cache's bound.
void cache_next_question(struct analyze_cache *cache);
// The view of an experiment: the cache's, else loaded into the question's arena. `cache` may be NULL.
enum status cache_view(struct analyze_cache *cache, const struct experiment_runs *of, struct arena *arena,
                       struct view **ret_view, struct error *err) MUST_CHECK;
// The layer rows of a run, as layer_rows_load gives them, for this question alone: it may write their `layer`.
enum status cache_layer_rows(struct question *question, const struct view_run *run, enum layer_mode mode,
                             const struct device_rows_wanted *wanted, struct layer_rows **ret_rows,
                             struct error *err) MUST_CHECK;

#endif
