// SPDX-License-Identifier: Apache-2.0
// Spans of OTLP become rows of a trace: resources become experiments and runs (resource.c, runs.c), spans become spans on
// tracks with tags (spans.c, tracks.c, tags.c). Both decoders feed it through its visitor. Inside this folder only.
#ifndef XSP_IMPORTERS_OTLP_MODEL_H
#define XSP_IMPORTERS_OTLP_MODEL_H

#include "base/buf.h"
#include "base/interner.h"
#include "base/map.h"
#include "base/vector.h"
#include "importers/importer.h"
#include "otlp/attributes.h"
#include "otlp/ids.h"
#include "otlp/otlp.h"

#define OTLP_RUNS_MOST 10000u
#define OTLP_EXPERIMENTS_MOST 1000u
#define OTLP_LOOK_AHEAD_BYTES (64 << 20) // how far after the first span a resource or a scope is searched
#define OTLP_TRACE_TEXT_MOST ((size_t)256)

struct otlp_join;
struct otlp_join_shift;
struct otlp_experiment { // texts live in the import's arena
  struct store_experiment row;
  struct store_system_value *system; // by key
  size_t system_count;
  struct store_system_value *workload; // of its model, by key
  size_t workload_count;
  int64_t experiment_id; // set at the file's end
  bool has_name;
  bool is_used;          // has a run in the file
  VECTOR(int64_t) ranks; // that its processes have in a job, each once
  int64_t world_size;    // of the job; 0: of none, less: of several
};
struct otlp_run {
  int64_t run_id;   // 0: not begun
  uint32_t number;  // its place in all_runs
  bool has_begun;   // its notes are taken
  bool is_numbered; // by xsp.run
  bool has_joined;  // another run joined it
  double own_pct;
  const char *clock;                   // what names its machine; NULL: not recorded
  const char *name;                    // service.name; NULL: not recorded
  struct otlp_run *joined;             // where its spans go: itself, or a run that called it (join.h)
  const struct otlp_join_shift *shift; // of its times; NULL: none
  struct otlp_experiment *experiment;
  struct store_run row;
  uint32_t level_mask; // of its spans
  bool has_metric;
  bool ids_are_unique; // whatever the trace
  uint64_t span_base;  // to be taken off the ids of its spans
  const char *trace;   // its own; NULL: not recorded
  uint32_t next_track;
  struct otlp_ids ids;
};
// What a resource's attributes say. Texts live in the import's arena; NULL: not recorded.
struct otlp_description {
  struct otlp_experiment experiment;
  const char *experiment_id, *run, *levels, *trace;
  const char *clock, *host_id, *host, *service;
  struct store_run row;
  double own_pct;
  uint64_t span_base;
  bool ids_are_unique;
};
struct otlp_resource {
  struct otlp_run *run;    // where its spans go
  struct otlp_run *source; // as the file has them
  bool has_told;           // its notes are taken
  const char *host;        // NULL: not recorded
  uint32_t host_id;        // equal hosts, equal numbers: a text in every key of a track would be kept as often
  int64_t process_id;
};
struct otlp_key { // of a span's attribute
  enum otlp_role role;
  bool is_metric, is_thread_id, is_thread_name;
  uint32_t tag;  // string of this import
  uint32_t full; // the same for the attribute's whole key: where its value does not fit its role
};

struct otlp_tag {
  const struct otlp_value *value;
  uint32_t key;
};

struct otlp_model { // by import_otlp_model_start
  struct import *import;
  struct otlp_visitor visitor;
  struct otlp_join *join;       // NULL: runs stay apart
  struct otlp_unknown *unknown; // of JSON; NULL: another encoding
  bool is_survey;               // nothing is stored
  struct interner resource_texts, experiment_texts, run_texts, track_texts, key_texts, note_texts;
  VECTOR(struct otlp_resource *) resources; // by id of their text
  VECTOR(struct otlp_experiment *) experiments;
  VECTOR(struct otlp_run *) runs;
  VECTOR(uint32_t) tracks;
  VECTOR(struct otlp_key) keys;
  VECTOR(struct otlp_run *) all_runs; // in the order of the file
  VECTOR(struct otlp_experiment *) all_experiments;
  struct map ranks;                     // by experiment and rank: whether it has it
  const struct otlp_resource *resource; // the current one; NULL: none yet
  uint32_t tracer, scope_tracer;        // strings: where the scope has no name; where the span names none
  uint32_t category_api, category_kernel;
  struct buf text;          // scratch
  struct otlp_trace_cache { // of the last span
    const struct otlp_run *run;
    size_t length;
    char text[OTLP_TRACE_TEXT_MOST];
    uint32_t trace_id;
  } trace;
  VECTOR(struct otlp_tag) tags; // of the current span
};

void import_otlp_model_start(struct otlp_model *model, struct import *import);
// The file is through: runs and experiments get what is known of them only now.
void import_otlp_model_finish(struct otlp_model *model);
void import_otlp_model_done(struct otlp_model *model); // at any time after import_otlp_model_start

enum head_state { HEAD_UNKNOWN, HEAD_TAKEN, HEAD_MISSED }; // of the spans of a resource or a scope
// A resource or a scope (`what`) that was to be looked for further than OTLP_LOOK_AHEAD_BYTES after its spans began.
enum status import_otlp_head_is_late(const struct import *import, const char *what, struct error *err);

// ---- inside the model ------------------------------------------------------------------------------------------------
enum status import_otlp_read_resource(struct otlp_model *model, const struct otlp_attribute *attributes, size_t count,
                                      struct otlp_description *ret_description, struct error *err) MUST_CHECK;
enum status import_otlp_take_resource(void *model, const struct otlp_attribute *attributes, size_t count,
                                      struct error *err);
enum status import_otlp_take_span(void *model, const struct otlp_span *span, struct error *err);

struct otlp_place { // what a span says about where it ran; texts are slices
  bool has_track, has_thread;
  struct otlp_value track, thread; // xsp.track; thread.id
  struct slice name, host, clock, thread_name;
  int64_t process_id, thread_id, device_id, stream_id; // STORE_NONE
  struct store_rank rank;
};
// *ret_track_id is 0 where the span names no thread.
enum status import_otlp_find_track(struct otlp_model *model, const struct otlp_resource *resource,
                                   const struct otlp_place *place, uint32_t *ret_track_id,
                                   struct error *err) MUST_CHECK;
// Notes the rank of a process whose track it is.
void import_otlp_add_rank(struct otlp_model *model, struct otlp_experiment *experiment, const struct store_rank *rank);
// What the run's own attributes say, as JSON text: tracks without spans, or messages without spans.
enum status import_otlp_take_list(struct otlp_model *model, struct otlp_run *run, struct slice json, bool are_tracks,
                                  struct error *err) MUST_CHECK;

// In the model's buffer, followed by a zero. STATUS_INPUT: the value is broken.
enum status import_otlp_model_text(struct otlp_model *model, const struct otlp_value *value, const char **ret_text,
                                   struct error *err) MUST_CHECK;
// The same in the import's arena.
enum status import_otlp_copy_text(struct otlp_model *model, const struct otlp_value *value, const char **ret_text,
                                  struct error *err) MUST_CHECK;
static inline bool otlp_key_begins(struct slice key, const char *prefix) // and goes on
{
  return slice_starts_with(key, prefix) && key.length > strlen(prefix);
}
// Tags, links and events of a span.
enum status import_otlp_put_parts(struct otlp_model *model, int64_t span_id, const struct otlp_span *span,
                                  struct error *err) MUST_CHECK;
// STATUS_INPUT where the model's own tables have become too large.
static inline enum status otlp_check_texts(const struct otlp_model *model, struct error *err)
{
  uint64_t bytes = model->resource_texts.arena.used_bytes + model->track_texts.arena.used_bytes +
                   model->key_texts.arena.used_bytes + model->note_texts.arena.used_bytes +
                   model->import->arena->used_bytes;
  return bytes <= import_text_bytes_most(model->import) ? STATUS_OK : import_too_many_texts(model->import, err);
}
// Makes a vector reach to the id that interner_at gave its item; new items are zeroed.
#define OTLP_REACH(vector, id)                                                                                         \
  do {                                                                                                                 \
    while ((vector)->count <= (id))                                                                                    \
      (void)vector_add(vector);                                                                                        \
  } while (0)

#endif
