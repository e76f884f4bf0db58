// SPDX-License-Identifier: Apache-2.0
// The calling context tree in a file: its rows, and runs whose spans are folded into it instead of being stored. Part of store.h,
// which includes it.
#ifndef XSP_STORE_CONTEXTS_H
#define XSP_STORE_CONTEXTS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct store_span;
struct store_tag;
struct store_sample;

// A row of the calling context tree, see docs/format.md.
struct store_context_metric {
  int64_t run_id, context_id;
  const char *metric;
  int64_t count, sum, minimum, maximum;
  double mean, variance;
  int64_t exclusive_sum;
};
// Own samples of a context in a run whose spans were folded (store_set_fold); squares is a number of 128 bits.
struct store_context_sample {
  int64_t run_id, context_id;
  const char *metric;
  int64_t count, sum, minimum, maximum, squares_high, squares_low;
};

// Table context_metric: written into a file that is being written, else laid over an open handle in memory only, for SQL.
// Replaces rows of equal run, context and metric.
enum status store_put_context_metrics(struct store *store, const struct store_context_metric *rows, size_t count,
                                      struct error *err) MUST_CHECK;
bool store_has_context_metrics(struct store *store);
// How far each ring of a capture is in a folded file, written with the samples. After a kill a ring's own mark may be behind.
struct store_drained {
  int64_t ring, position;
};
enum status store_put_drained(struct store *store, const struct store_drained *rows, size_t count,
                              struct error *err) MUST_CHECK;
enum status store_drained(struct store *store, struct arena *arena, struct store_drained **ret_rows, size_t *ret_count,
                          struct error *err) MUST_CHECK;
// The same for the samples of a run: nothing else shows whether one is in the file already.
enum status store_put_sampled(struct store *store, int64_t run_id, const struct store_drained *rows, size_t count,
                              struct error *err) MUST_CHECK;
enum status store_sampled(struct store *store, int64_t run_id, struct arena *arena, struct store_drained **ret_rows,
                          size_t *ret_count, struct error *err) MUST_CHECK;
bool store_is_folding(const struct store *store); // store_set_fold is in force
bool store_is_folded(struct store *store);        // spans of the file are in its calling context tree only
// Of a file that is being written; replaces rows of equal run, context and metric.
enum status store_put_context_samples(struct store *store, const struct store_context_sample *rows, size_t count,
                                      struct error *err) MUST_CHECK;
// None where the run's spans were not folded. Context ids lie among the file's.
enum status store_context_samples(struct store *store, int64_t run_id, struct arena *arena,
                                  struct store_context_sample **ret_rows, size_t *ret_count,
                                  struct error *err) MUST_CHECK;

// ---- folding ---------------------------------------------------------------------------------------------------------
// Spans, tags and samples of a store that is being written go to these functions instead of the file; logs of spans go nowhere,
// and all spans are of the run's own trace. `take_span` returns false for a span that is to be stored nevertheless, with its
// tags. `commit` is called before each commit. The struct is borrowed; NULL: the file again.
struct store_fold {
  void *context;
  bool (*take_span)(void *context, int64_t run_id, const struct store_span *span);
  bool (*take_tag)(void *context, int64_t run_id, const struct store_tag *tag);
  void (*take_sample)(void *context, int64_t run_id, const struct store_sample *sample);
  enum status (*commit)(void *context, struct error *err);
};
void store_set_fold(struct store *store, const struct store_fold *fold);

#endif
