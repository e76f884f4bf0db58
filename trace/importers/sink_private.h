// SPDX-License-Identifier: Apache-2.0
// The inside of the sink, shared by sink.c (its life), sink_rows.c (spans, tags, texts), sink_experiments.c (experiments,
// facts about systems), sink_facts.c (the rest) and batches.c (the storing side).
#ifndef XSP_IMPORTERS_SINK_PRIVATE_H
#define XSP_IMPORTERS_SINK_PRIVATE_H

#include "base/interner.h"
#include "base/map.h"
#include "base/vector.h"
#include "importers/sink.h"

// ---- batches.c: rows on their way from the parsing thread to the store, in batches of fixed size, a bounded number of
// them, filled by one thread and written by another (or by the same)
//
//      parser ─ fills ring[filled] ─ import_batches_push ─▶ filled ≥ stored ─▶ storing thread: ids → store's ids, store_add_…
//
// The store belongs to the storing side from the first push until import_batches_wait has returned, and to the caller then.
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

// threads 1, or no thread can be had: import_batches_push writes itself.
struct batches *import_batches_create(struct store *store, unsigned threads);
// The batch to be filled; empty after every push.
struct batch *import_batches_current(struct batches *batches);
// Hands the current batch over. Returns the first error of the storing side, then and ever after.
enum status import_batches_push(struct batches *batches, struct error *err) MUST_CHECK;
// Hands over what is left and waits until all is with the store. Then the next file may begin: its ids count from 1.
enum status import_batches_wait(struct batches *batches, struct error *err) MUST_CHECK;
void import_batches_free(struct batches *batches); // what was not written is dropped; ends the thread. NULL is fine

// ---- the sink
#define SINK_NOTES_MOST 64u
#define SINK_FACTS_MOST 1024u
#define SINK_TRACKS_MOST (1u << 22)               // of a file: some 700 bytes each until it is correlated
#define SINK_TRACK_TEXT_MOST 1024u                // bytes of a name: one of a megabyte may be that of a million tracks
#define SINK_TEXT_BYTES_LEAST ((uint64_t)1 << 30) // of all different texts of a file, which are kept twice

// Texts of tags that are in the batch already, but whose ids are not known yet.
#define SINK_LATE_TEXTS 32u
#define SINK_LATE_BYTES 128u // longer texts are looked up at once
struct sink_late {
  uint32_t hash, length, tag; // its row in the batch
  char text[SINK_LATE_BYTES];
};

struct sink_run { // of the current file
  struct store_run run;
  uint32_t level_mask; // of the spans it has
  size_t span_count;
  int64_t shift_ns;                    // to be added to all its times at the file's end
  VECTOR(struct store_track) tracks;   // by track_id - 1; texts live in the file's arena
  VECTOR(uint32_t) paths;              // of import_path, by span_id - 1, as far as there are any
  VECTOR(struct store_sample) samples; // context_id: of import_path
};
struct sink_path { // ids of import_string
  uint32_t caller, name, module;
  uint16_t depth;
  uint8_t kind; // enum xsp_frame_kind
};
struct sink_run_note { // texts live in the file's arena
  int64_t run_id;      // 0: of the file
  const char *key, *value;
};
struct sink_facts {                          // of a file, or of an experiment; texts live in `lasting`
  const char *framework, *framework_version; // NULL: not known
  VECTOR(struct store_system_value) system;
};
struct sink_own { // an experiment of the call: all its files of one system
  int64_t experiment_id;
  const char *name; // of its first file
  struct sink_facts facts;
};
struct sink_experiment { // that an importer made; texts live in `lasting`
  struct store_experiment row;
  struct store_system_value *system, *workload;
  size_t system_count, workload_count;
  unsigned file; // the last one that has it
};

struct sink {
  struct store *store;
  const struct import_place *place; // the run that the file's rows are added to; NULL: it makes runs of its own
  struct arena *results;            // the caller's; also of `version` and `notes`
  struct batches *batches;
  struct arena lasting; // facts, until the sink is freed

  // ---- the current file
  struct import *import;
  const char *path;
  unsigned file; // from 1
  struct arena arena;
  struct interner texts;       // id of import_string - 1
  struct interner track_texts; // names of tracks, of hosts and clocks
  size_t track_count;
  struct batch *batch;              // the current one; NULL: to be taken
  const struct sink_run *batch_run; // whom its last segment belongs to; NULL: it has none
  struct sink_late late[SINK_LATE_TEXTS];
  uint32_t late_count;
  uint32_t default_tracer;
  VECTOR(struct sink_run *) runs; // ids follow each other
  struct sink_run *run;           // the current one
  VECTOR(struct sink_run_note) run_notes;
  struct map traces;              // (run, string) to the trace's id
  VECTOR(struct sink_path) paths; // by number - 1
  struct map path_of;             // from what makes one to its number
  uint64_t events, kept;
  VECTOR(struct import_count) skipped;
  size_t last_skipped;
  const char *notes[SINK_NOTES_MOST];
  size_t note_count, notes_left_out;
  const char *version;
  struct sink_facts file_facts;
  enum status status; // of what could not be reported yet
  struct error error;

  // ---- the call
  int64_t next_run_id, next_experiment_id;
  VECTOR(struct sink_own) own;
  VECTOR(struct sink_experiment) experiments;
};

void sink_take_facts(struct sink *sink); // sink_experiments.c, at the file's end: its own runs get their experiment
void sink_resolve(struct sink *sink);    // before the current batch is pushed: all its texts have their ids
// sink_paths.c, at the file's end: paths of all spans of its runs, and the samples
enum status sink_write_paths(struct sink *sink, struct error *err) MUST_CHECK;
// given.c: what the caller says of the file's runs. `level_mask`: of the run's spans.
enum status given_apply(struct import *import, struct store_run *run, uint32_t level_mask,
                        struct error *err) MUST_CHECK;
enum status sink_check(const struct sink *sink, struct error *err) MUST_CHECK; // what was left in `status`

#endif
