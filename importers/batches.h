// SPDX-License-Identifier: Apache-2.0
// Rows on their way from the parsing thread to the store: batches of fixed size, a bounded number of them, filled by one
// thread and written by another (or by the same). Private to sink.c.
//
//      parser ─ fills ring[filled] ─ batches_push ─▶ filled ≥ stored ─▶ storing thread: ids → store's ids, store_add_…
//
// The store belongs to the storing side from the first push until batches_wait has returned, and to the caller then.
#ifndef XSP_IMPORTERS_BATCHES_H
#define XSP_IMPORTERS_BATCHES_H

#include "base/slice.h"
#include "store/store.h"

#define BATCH_SPANS 2048u // small enough that a batch is in the second-level cache when it is stored
#define BATCH_TAGS 8192u
#define BATCH_TEXTS 2048u
#define BATCH_SEGMENTS 1024u
#define BATCH_TRACES 1024u
#define BATCH_LOGS 1024u
#define BATCH_LOG_BYTES ((size_t)256 << 10) // of messages; one that is longer goes alone

struct batch_segment { // the rows up to the next segment belong to one run
  int64_t run_id;
  uint32_t span_from, tag_from;
};
struct batch_trace {
  int64_t run_id;
  const char *text; // lives as long as the file's texts
};
struct batch_log {
  int64_t run_id, span_id, time_ns;
  char *message; // owned
  size_t length;
};
struct batch {
  struct store_span spans[BATCH_SPANS]; // texts and traces as ids of the import
  struct store_tag tags[BATCH_TAGS];
  struct batch_segment segments[BATCH_SEGMENTS];
  struct slice texts[BATCH_TEXTS];         // new ones, in the order of their ids
  struct batch_trace traces[BATCH_TRACES]; // new ones, in the order of their ids
  struct batch_log logs[BATCH_LOGS];
  uint32_t span_count, tag_count, segment_count, text_count, trace_count, log_count;
  size_t log_bytes;
};

struct batches;

// threads 1, or no thread can be had: batches_push writes itself.
struct batches *batches_create(struct store *store, unsigned threads);
// The batch to be filled; empty after every push.
struct batch *batches_current(struct batches *batches);
// Hands the current batch over. Returns the first error of the storing side, then and ever after.
enum status batches_push(struct batches *batches, struct error *err) MUST_CHECK;
// Hands over what is left and waits until all is with the store. Then the next file may begin: its ids count from 1.
enum status batches_wait(struct batches *batches, struct error *err) MUST_CHECK;
void batches_free(struct batches *batches); // what was not written is dropped; ends the thread. NULL is fine

#endif
