// SPDX-License-Identifier: Apache-2.0
// Layer rows that the questions of one cache share.
#ifndef XSP_ANALYZE_CACHE_H
#define XSP_ANALYZE_CACHE_H

#include "analyze/layers/rows.h"

// Call before each question: frees everything if the cache holds more than its bound. `cache` may be NULL.
void cache_next_question(struct analyze_cache *cache);
// The layer rows of a run, as layer_rows_load gives them, loaded once. What pairs them writes their `layer`.
enum status cache_layer_rows(struct question *question, const struct view_run *run, enum layer_mode mode,
                             const struct device_rows_wanted *wanted, struct layer_rows **ret_rows,
                             struct error *err) MUST_CHECK;

#endif
