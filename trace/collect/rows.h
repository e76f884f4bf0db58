// SPDX-License-Identifier: Apache-2.0
// One drain's way from decoded spans to the store's rows: tracks, names, times, correlation ids. Private to collect.
#ifndef XSP_COLLECT_ROWS_H
#define XSP_COLLECT_ROWS_H

#include "collect/state.h"

#define ROWS_BATCH_SPANS 1024u
#define ROWS_BATCH_TAGS 2048u
#define ROWS_BATCH_SAMPLES 1024u

struct drain {
  struct collect_session *session;
  struct store *store;
  int64_t run_id;
  struct error *err;
  enum status status; // sticky
  uint32_t key_correlation, key_remote_parent;
  uint32_t trace_id; // of trace_bytes in this run; 0: none yet
  uint8_t trace_bytes[16];
  uint64_t track_key[3]; // the last one found: process, thread, number
  uint32_t track_id;     // 0: none
  bool track_foreign;
  // Of a final drain that is watched: records that were counted before; that wait. Else 0.
  uint64_t first_record, waiting;
  uint32_t span_count, tag_count, sample_count;
  struct store_span spans[ROWS_BATCH_SPANS];
  struct store_tag tags[ROWS_BATCH_TAGS];
  struct store_sample samples[ROWS_BATCH_SAMPLES];
};

static inline bool rows_failed(const struct drain *drain)
{
  return drain->status != STATUS_OK;
}

struct drain *rows_new(struct collect_session *session, struct store *store, int64_t run_id,
                       struct error *err); // freed with free
// Makes the session's caches and the run's trace fit this drain's store and run.
void rows_begin(struct drain *drain);
// The process of a track. `command` gets the first word of its command line.
struct track_process rows_describe(const struct collect_session *session, uint32_t process, uint32_t track,
                                   char command[257]);
// What a ring_output of this drain calls; `context` is the drain.
void rows_span(void *context, const struct decoded_span *span);
void rows_fact(void *context, int64_t span_id, const struct record *record);
void rows_thread_name(void *context, uint32_t process, uint64_t thread, uint32_t name);
void rows_sample(void *context, const struct decoded_sample *sample);
void rows_ranks(struct drain *drain); // of tracks whose rows are there
void rows_flush(struct drain *drain); // what is batched goes to the store

#endif
