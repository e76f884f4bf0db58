// SPDX-License-Identifier: Apache-2.0
// Samples of threads in a file. Part of store.h, which includes it.
#ifndef XSP_STORE_SAMPLES_H
#define XSP_STORE_SAMPLES_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct store;

// What a thread did at one time: on a CPU, or in a wait that ended then.
struct store_sample {
  int64_t time_ns, duration_ns; // duration: the CPU time that it stands for, or all of the wait; not negative
  int64_t span_id;              // the span that was open on the thread, which may be in no file; 0: none
  uint32_t track_id;
  uint32_t context_id; // call path, of store_context_id; 0: unknown
  uint8_t kind;        // enum sample_kind
};
struct store_samples { // of a run, struct of arrays, in file order
  size_t count;
  int64_t *time_ns, *duration_ns, *span_id;
  uint32_t *track_id, *context_id;
  uint8_t *kind;
};

enum status store_add_samples(struct store *store, int64_t run_id, const struct store_sample *samples, size_t count,
                              struct error *err) MUST_CHECK;
// Part by part, in file order: `visit` gets at most STORE_CHUNK_ROWS samples, valid until it returns. What it returns other than
// STATUS_OK ends the walk and is returned.
typedef enum status store_visit_samples(void *context, const struct store_samples *samples, struct error *err);
enum status store_walk_samples(struct store *store, int64_t run_id, store_visit_samples *visit, void *context,
                               struct error *err) MUST_CHECK;
enum status store_load_samples(struct store *store, int64_t run_id, struct arena *arena,
                               struct store_samples *ret_samples, struct error *err) MUST_CHECK;
enum status store_count_samples(struct store *store, int64_t run_id, size_t *ret_count, struct error *err) MUST_CHECK;

#endif
