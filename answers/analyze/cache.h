// SPDX-License-Identifier: Apache-2.0
// Experiments, views and layer rows that the questions of one cache share.
#ifndef XSP_ANALYZE_CACHE_H
#define XSP_ANALYZE_CACHE_H

#include "analyze/layers/rows.h"

// Call before each question: frees columns and rows if the cache holds more than its bound. `cache` may be NULL.
void analyze_cache_next_question(struct analyze_cache *cache);
// What a question of the request shares: with others by the request's cache, else within itself, in `scratch`.
struct analyze_shared *analyze_cache_shared(const struct analyze_request *request, struct arena *scratch);
// The experiments of the stores; loaded into `arena` without a cache.
enum status analyze_cache_experiments(struct analyze_cache *cache, struct store *const *stores, size_t store_count,
                                      struct arena *arena, struct experiment_runs **ret_experiments, size_t *ret_count,
                                      struct error *err) MUST_CHECK;
// The view of one of these experiments. Cold runs are not cached: the page does not ask for them.
enum status analyze_cache_view(struct analyze_cache *cache, const struct experiment_runs *of,
                               const struct view_choice *choice, struct arena *arena, struct view **ret_view,
                               struct error *err) MUST_CHECK;
// The layer rows of a run, as layer_rows_load gives them, loaded once.
enum status analyze_cache_layer_rows(struct question *question, const struct view_run *run, enum layer_mode mode,
                                     const struct device_rows_wanted *wanted, const struct layer_rows **ret_rows,
                                     struct error *err) MUST_CHECK;

#endif
