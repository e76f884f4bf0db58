// SPDX-License-Identifier: Apache-2.0
// The .xsp file: an SQLite database with spans in column chunks. Write, read, query. Format: docs/format.md.
//
// One thread per handle. Strings are interned per file (`uint32_t` ids, 0 = none/empty). Ids of spans are chosen by the
// writer: unique within a run, >= 1. 0 means "none" for parents, correlation ids and the like and is NULL in SQL.
#ifndef XSP_STORE_STORE_H
#define XSP_STORE_STORE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/message.h"
#include "base/slice.h"
#include "format/level.h"
#include "store/outputs.h"
#include "store/track.h"

#include <stdbool.h>
#include <stdint.h>

#define STORE_FORMAT_VERSION 1
#define STORE_CHUNK_ROWS 65536u

struct store;

// ---- what a file holds -----------------------------------------------------------------------------------------------
struct store_experiment {
  int64_t experiment_id;                                                 // >= 1
  const char *name, *workload, *framework, *framework_version, *command; // NULL: unknown (SQL NULL)
  int64_t created_ns;                                                    // Unix epoch
  int64_t system_id;
  const char *xsp_version;
};
struct store_system_value { // of `system`, `workload` and `evaluation`
  const char *key;
  const char *text;
  double number;
  bool is_number;
};
struct store_run {
  int64_t run_id; // >= 1, unique within the file
  int64_t experiment_id;
  struct level_set levels;
  int64_t batch_size;    // 0: unknown (SQL NULL)
  int64_t dropped_count; // records dropped or lost while this run was captured
  int64_t misused_count;
  bool epoch_is_unix; // else start_ns counts from the trace's own zero
  const char *layer;  // default for `analyze --layer`; NULL: outermost
  double own_pct;     // xsp's own measured share of the run's time; NaN: not measured
};
enum store_span_flag {
  STORE_SPAN_OPEN = 1,   // never finished: duration_ns is 0 and NULL in SQL
  STORE_SPAN_STEP = 2,   // a framework's step, or what --model-range matched: where there are any, only they are
                         // observations
  STORE_SPAN_PLACED = 4, // its times were laid out by an importer: takes no parent by containment
  STORE_SPAN_CALL = 8,   // a host API call, stored as kind sync; correlate makes it a launch where an execution carries
                         // its correlation id and it is the outermost such call
};
// A basis that the source recorded (xsp.basis): correlate keeps recorded_parent_id, or no parent.
#define STORE_FLAG_BASIS(basis) ((uint8_t)(((basis) + 1u) << 4))        // enum basis, into flags
#define STORE_BASIS_OF_FLAGS(flags) ((int)((unsigned)(flags) >> 4) - 1) // -1: none recorded
struct store_span {                                                     // one row as collect and importers hand it over
  int64_t span_id;                                                      // >= 1, unique within the run
  int64_t recorded_parent_id;                                           // the parent that the source named; 0: none
  int64_t start_ns, duration_ns;
  int64_t correlation_id; // unique per process already; 0: none
  uint32_t trace_id;      // 0: the run's own; else store_add_trace's id
  uint32_t track_id;
  uint32_t name, category, tracer; // string ids
  uint32_t context_id;             // call path, of store_context_id; 0: none
  uint8_t level, kind, flags;
};
// Call paths, for the whole file: ids count up from 1; a frame and a caller make one path.
struct store_frame {
  int64_t frame_id;
  unsigned kind; // enum xsp_frame_kind of <xsp/call_path.h>
  const char *name, *file;
  int64_t line;
  const char *module;
  int64_t address; // NULL and 0: unknown (SQL NULL)
};
struct store_context {
  int64_t context_id;
  int64_t parent_id; // the caller's, which is lower; 0: the frame is the outermost
  int64_t frame_id;
};
enum store_value_type { STORE_INT = 1, STORE_DOUBLE, STORE_TEXT };
struct store_tag {
  int64_t span_id;
  uint32_t key; // string id
  uint8_t type; // enum store_value_type
  union {
    int64_t integer;
    double real;
    uint32_t string;
  } value;
};

// Columns of a run, struct of arrays. `count` rows in file order. Arrays not asked for are NULL.
struct store_spans {
  size_t count;
  int64_t first_id; // STORE_LEAN, span_id left out: the ids are first_id, first_id + 1, …
  int64_t *span_id, *recorded_parent_id, *start_ns, *duration_ns, *correlation_id;
  uint32_t *trace_id, *track_id, *name, *category, *tracer, *context_id; // context_id: 0: none
  uint8_t *level, *kind, *flags;
};
enum store_column {
  STORE_SPAN_ID,
  STORE_RECORDED_PARENT_ID,
  STORE_START_NS,
  STORE_DURATION_NS,
  STORE_CORRELATION_ID,
  STORE_TRACE_ID,
  STORE_TRACK_ID,
  STORE_NAME,
  STORE_CATEGORY,
  STORE_TRACER,
  STORE_LEVEL,
  STORE_KIND,
  STORE_FLAGS,
  STORE_CONTEXT_ID,
  STORE_BASE_COLUMNS, // derived by correlate from here on
  STORE_PARENT_ID = STORE_BASE_COLUMNS,
  STORE_MODEL_ID,
  STORE_LAYER_ID,
  STORE_SELF_NS,
  STORE_OBSERVATION,
  STORE_DEPTH,
  STORE_BASIS,
  STORE_DERIVED_KIND, // what STORE_KIND reads where it is there
  STORE_FORWARD_ID,
  STORE_COLUMNS,
};
#define STORE_BIT(column) (UINT32_C(1) << (column))
#define STORE_KIND_AS_STORED (UINT32_C(1) << 31) // with STORE_BIT(STORE_KIND): the kind before correlate changed it
// Beside other bits: leaves out what needs no array, which then is NULL as if it was not asked for: recorded_parent_id,
// correlation_id, flags and context_id where they are 0 in every row, span_id where the ids count up.
#define STORE_LEAN (UINT32_C(1) << 30)
#define STORE_ALL_BASE (STORE_BIT(STORE_BASE_COLUMNS) - 1)
#define STORE_ALL_DERIVED ((STORE_BIT(STORE_COLUMNS) - 1) & ~STORE_ALL_BASE)
// Derived columns that a correlated run may lack: asked for, they are NULL then.
#define STORE_OPTIONAL (STORE_BIT(STORE_DERIVED_KIND) | STORE_BIT(STORE_FORWARD_ID))
// Derived columns of a run, same rows. observation: index into the run's observations, -1: none.
struct store_derived {
  size_t count;
  int64_t *parent_id, *model_id, *layer_id, *self_ns; // ids, 0: none
  int32_t *observation;
  uint32_t *depth;
  uint8_t *basis; // enum basis
  uint8_t *kind;  // XSP_KIND_…: the kind that readers see from then on (spans of STORE_SPAN_CALL); NULL: as stored
  int64_t *forward_id; // of a backward operator: its forward operator's id; 0: none. NULL: no span has one
};
struct store_observation {
  int64_t observation; // 0-based within the run, by start
  int64_t span_id;     // 0: none (a run without model spans)
  int64_t start_ns, duration_ns;
  bool warmup;
};
struct store_note {
  int64_t run_id; // 0: the file
  const char *key;
  const char *value; // NULL: SQL NULL
};
struct store_log {
  int64_t span_id; // 0: of no span
  int64_t time_ns;
  struct slice message;
};
struct store_trace {
  int64_t trace_id;
  const char *text;
};

// ---- writing ---------------------------------------------------------------------------------------------------------
// Creates PATH.partial next to PATH; store_finish renames it. An existing PATH is an error unless `force`; it stays
// untouched until the rename. One that appears before the rename is an error of store_finish unless `force`, STATUS_USE:
// PATH.partial stays, complete. A killed writer leaves PATH.partial, which opens with all that was committed.
// A PATH.partial that a killed writer left is renamed to the first free one of PATH.partial~, PATH.partial~2, …
enum status store_create(const char *path, bool force, struct store **ret_store, struct error *err) MUST_CHECK;
// The same for a trace that only this process reads: a file in TMPDIR that nobody else can open. store_finish takes away its
// name, store_close its data. Messages and store_path name `shown_path`, which is not touched.
enum status store_create_temporary(const char *shown_path, struct store **ret_store, struct error *err) MUST_CHECK;
const char *store_leftover(const struct store *store);                      // that new name; NULL: there was none
void store_warn_of_leftover(const struct store *store, message_fn warning); // names it
enum status store_add_system(struct store *store, const struct store_system_value *values, size_t count,
                             int64_t *ret_system_id, struct error *err) MUST_CHECK;
enum status store_add_experiment(struct store *store, const struct store_experiment *experiment,
                                 struct error *err) MUST_CHECK; // experiment_id given by the caller
// Tables `workload`, what is known of an experiment's model, and `evaluation`, its figures. A key that is there is replaced.
enum status store_add_workload(struct store *store, int64_t experiment_id, const struct store_system_value *values,
                               size_t count, struct error *err) MUST_CHECK;
enum status store_add_evaluation(struct store *store, int64_t experiment_id, const struct store_system_value *values,
                                 size_t count, struct error *err) MUST_CHECK;
// These two insert or replace a row.
enum status store_add_run(struct store *store, const struct store_run *run, struct error *err) MUST_CHECK;
enum status store_add_track(struct store *store, const struct store_track *track, struct error *err) MUST_CHECK;
// A W3C trace id (32 hex digits) or any text that names a trace; `*ret_trace_id` >= 1, equal texts give equal ids.
enum status store_add_trace(struct store *store, int64_t run_id, const char *text, uint32_t *ret_trace_id,
                            struct error *err) MUST_CHECK;
// Interns; 0 on empty or on failure (sticky, reported by commit).
uint32_t store_string(struct store *store, const char *text, size_t length);
// For writers with a table of their own: was any text interned yet; a text that is known not to be. Slow after store_string.
bool store_has_strings(const struct store *store);
uint32_t store_new_string(struct store *store, const char *text, size_t length);
// The file's id of a frame (`frame_id` is not read), of a path. 0 on failure, as store_string, and where the arguments are
// out of range, or the path would have more than XSP_CALL_PATH_FRAMES frames. Texts are copied.
uint32_t store_frame_id(struct store *store, const struct store_frame *frame);
uint32_t store_context_id(struct store *store, uint32_t parent_id, uint32_t frame_id);
// Call paths of spans that are written already: `context_ids` has one for each span of the run, in the order they were added.
enum status store_put_contexts(struct store *store, int64_t run_id, const uint32_t *context_ids, size_t count,
                               struct error *err) MUST_CHECK;
// Gives names to native frames that were stored without, each once: `find` fills name, file and line, whose texts are copied;
// false: the frame stays as it is. store_frame_id finds a frame by what it was stored with.
typedef bool store_find_name(void *context, struct store_frame *frame);
enum status store_name_frames(struct store *store, store_find_name *find, void *context, struct error *err) MUST_CHECK;
enum status store_add_spans(struct store *store, int64_t run_id, const struct store_span *spans, size_t count,
                            struct error *err) MUST_CHECK;
enum status store_add_tags(struct store *store, int64_t run_id, const struct store_tag *tags, size_t count,
                           struct error *err) MUST_CHECK;
enum status store_add_log(struct store *store, int64_t run_id, int64_t span_id, int64_t time_ns, const char *message,
                          size_t length, struct error *err) MUST_CHECK;
// A fact that concerns a whole run or experiment, kept in table `note(run_id, key, value)`; run_id 0: the file.
enum status store_add_note(struct store *store, int64_t run_id, const char *key, const char *value,
                           struct error *err) MUST_CHECK;
// The same instead of an earlier one with this key. `value` NULL: there is none from now on.
enum status store_put_note(struct store *store, int64_t run_id, const char *key, const char *value,
                           struct error *err) MUST_CHECK;
// Key of a run's note: by how many ns the source rounded its times. A span may end so much after its parent (correlate/nest.c).
#define STORE_NOTE_RESOLUTION "time_resolution_ns"
// In a note of key "import": a span of the run, or of the file, stands for all executions of what it names; tag `count` is how many.
#define STORE_NOTE_SUMS "(tag count)"
#define STORE_NOTE_OBSERVATION_NAMES "observation_names" // their number, in runs whose observations have several
#define STORE_RESOLUTION_MOST_NS 1000
// Names parents of spans that are written already: each link's span gets `parent_id` as its recorded parent. Sorts `links`;
// span ids are unique. Derived columns stay as they are: correlate again.
struct store_link {
  int64_t span_id, parent_id;
};
enum status store_name_parents(struct store *store, int64_t run_id, struct store_link *links, size_t count,
                               struct error *err) MUST_CHECK;
// Adds `offset_ns` to all times of a run: starts of spans, logs, observations. Cheap: nothing is coded again. For sources
// that report only at their end what their times count from. STATUS_INPUT: a start would not fit into int64 any more; the
// file is then to be discarded.
enum status store_shift_run(struct store *store, int64_t run_id, int64_t offset_ns, struct error *err) MUST_CHECK;
// Flushes open chunks and commits: all handed over so far survives a kill. Cheap enough for a few times a second.
enum status store_commit(struct store *store, struct error *err) MUST_CHECK;
// How much was handed over so far: spans and tags of a run, logs of the file.
struct store_place {
  size_t spans, tags, logs;
};
enum status store_place(struct store *store, int64_t run_id, struct store_place *ret_place,
                        struct error *err) MUST_CHECK;
// Derived columns and observations of a run (replaces earlier ones). Works on a file open for writing only.
enum status store_put_derived(struct store *store, int64_t run_id, const struct store_derived *derived,
                              const struct store_observation *observations, size_t observation_count,
                              struct error *err) MUST_CHECK;
// The same without whole arrays, and not necessarily all columns at once: a run counts as correlated when it has all of
// them (but STORE_OPTIONAL). Earlier ones are not taken away: see store_drop_derived. `fill` is asked for one column after the
// other, each from the first row to the last.
struct store_derived_source {
  size_t count;         // rows of the run
  uint32_t column_mask; // which columns: STORE_BIT(STORE_PARENT_ID) …
  void *context;
  bool has_base; // ret_values of self_ns has the spans' durations before `fill`, that of observations their starts
  // `count` values from `first_row` on, of the column's type in `struct store_derived`, but observations as int64_t.
  void (*fill)(void *context, enum store_column column, size_t first_row, size_t count, void *ret_values);
};
enum status store_put_derived_columns(struct store *store, int64_t run_id, const struct store_derived_source *source,
                                      struct error *err) MUST_CHECK;
// Tags of one key that follow from what is recorded: SQL sees them, store_load_tags does not. Replaces all earlier ones of
// the run.
struct store_derived_tags {
  void *context;
  // Writes the next tags, `most` while there are that many, and returns their number; 0: no more.
  size_t (*next)(void *context, size_t most, int64_t *ret_span_ids, int64_t *ret_values);
};
enum status store_put_derived_tags(struct store *store, int64_t run_id, const char *key,
                                   const struct store_derived_tags *tags, struct error *err) MUST_CHECK;
enum status store_drop_derived(struct store *store, int64_t run_id, struct error *err) MUST_CHECK; // all columns
enum status store_put_observations(struct store *store, int64_t run_id, const struct store_observation *observations,
                                   size_t count, struct error *err) MUST_CHECK; // replaces earlier ones
// Commit, sync, rename. The handle stays open for reading.
enum status store_finish(struct store *store, struct error *err) MUST_CHECK;
void store_close(struct store *store);   // without store_finish before: the .partial file stays. NULL is fine.
void store_discard(struct store *store); // closes and removes the .partial file
// The end of a new file: finished and closed where all went well `so_far`, else discarded. Returns how it ended.
enum status store_end(struct store *store, enum status so_far, struct error *err) MUST_CHECK;
// For a process that ends early (base/memory.h): removes the .partial files of the stores being written, and
// private copies being made by store_open. Only async-signal-safe work.
void store_unfinished_remove(void);
// From now on store_unfinished_remove leaves this store's .partial file: it has committed spans that exist nowhere else.
void store_unfinished_keep(struct store *store);

// ---- reading (also valid on a handle that is being written: rows handed over are there, committed or not) -------------
// Columns and lists go into the caller's arena and live as long as it does. Memory: ask for the columns that are needed
// (`column_mask`); a column that exceeds the machine's memory is STATUS_MEMORY before anything is allocated. SQL decodes
// part by part into a cache of at most 512 MiB per handle.
// Refuses: not SQLite, SQLite that is no .xsp, a newer format version, each with its own reason. Never writes, creates or
// deletes anything next to the file. A killed writer's journal is replayed in a private copy under TMPDIR if file and
// journal are the caller's or root's and no other user can write to the folder; else the file is refused.
enum status store_open(const char *path, struct store **ret_store, struct error *err) MUST_CHECK;
// As store_open, for xsp recover: replays a killed writer's journal also where the folder is open to other users.
// *ret_left_out: there was a journal of another user than the file's, which was left out.
enum status store_open_unfinished(const char *path, struct store **ret_store, bool *ret_left_out,
                                  struct error *err) MUST_CHECK;
int store_format_version(const struct store *store);
const char *store_path(const struct store *store);
void store_limit_cache(struct store *store, size_t bytes); // what SQL decodes into, from now on
// Arrays in `arena`, ordered by id.
enum status store_experiments(struct store *store, struct arena *arena, struct store_experiment **ret,
                              size_t *ret_count, struct error *err) MUST_CHECK;
enum status store_system(struct store *store, int64_t system_id, struct arena *arena, struct store_system_value **ret,
                         size_t *ret_count, struct error *err) MUST_CHECK;
enum status store_workload(struct store *store, int64_t experiment_id, struct arena *arena,
                           struct store_system_value **ret, size_t *ret_count, struct error *err) MUST_CHECK;
enum status store_evaluation(struct store *store, int64_t experiment_id, struct arena *arena,
                             struct store_system_value **ret, size_t *ret_count, struct error *err) MUST_CHECK;
enum status store_runs(struct store *store, struct arena *arena, struct store_run **ret, size_t *ret_count,
                       struct error *err) MUST_CHECK;
enum status store_tracks(struct store *store, int64_t run_id, struct arena *arena, struct store_track **ret,
                         size_t *ret_count, struct error *err) MUST_CHECK;
enum status store_load_spans(struct store *store, int64_t run_id, uint32_t column_mask, struct arena *arena,
                             struct store_spans *ret_spans, struct error *err) MUST_CHECK;
// The least and the largest value of a base column, without reading it; 0 and 0 of no rows.
enum status store_extremes(struct store *store, int64_t run_id, enum store_column column, int64_t *ret_least,
                           int64_t *ret_most, struct error *err) MUST_CHECK;
// Base and derived columns part by part, in file order, for runs that are too large to hold: `visit` gets at most
// STORE_CHUNK_ROWS rows, valid until it returns, and the number of the first. What it returns other than STATUS_OK ends
// the walk and is returned. Meanwhile nothing may be asked of the store but texts and store_load_tags_between.
typedef enum status store_visit(void *context, size_t first_row, const struct store_spans *spans,
                                const struct store_derived *derived, struct error *err);
enum status store_walk_spans(struct store *store, int64_t run_id, uint32_t column_mask, store_visit *visit,
                             void *context, struct error *err) MUST_CHECK;
// Only parts that have some of the rows between two places, each as a whole.
enum status store_walk_spans_from(struct store *store, int64_t run_id, uint32_t column_mask, size_t first, size_t end,
                                  store_visit *visit, void *context, struct error *err) MUST_CHECK;
bool store_has_derived(struct store *store, int64_t run_id);
enum status store_load_derived(struct store *store, int64_t run_id, struct arena *arena,
                               struct store_derived *ret_derived, struct error *err) MUST_CHECK;
// Only the columns of the mask (STORE_BIT(STORE_PARENT_ID) …); the other arrays are NULL.
enum status store_load_derived_columns(struct store *store, int64_t run_id, uint32_t column_mask, struct arena *arena,
                                       struct store_derived *ret_derived, struct error *err) MUST_CHECK;
enum status store_observations(struct store *store, int64_t run_id, struct arena *arena, struct store_observation **ret,
                               size_t *ret_count, struct error *err) MUST_CHECK;
// In the order they were made: those of the file and of a run; run_id -1: all.
enum status store_notes(struct store *store, int64_t run_id, struct arena *arena, struct store_note **ret,
                        size_t *ret_count, struct error *err) MUST_CHECK;
// By span, then in the order they were made.
enum status store_logs(struct store *store, int64_t run_id, struct arena *arena, struct store_log **ret,
                       size_t *ret_count, struct error *err) MUST_CHECK;
// Those of a run that came between two places (store_place).
enum status store_logs_from(struct store *store, int64_t run_id, size_t first, size_t end, struct arena *arena,
                            struct store_log **ret, size_t *ret_count, struct error *err) MUST_CHECK;
// All call paths of the file. frames[id - 1], contexts[id - 1]: every parent comes before, every frame exists, no path has more
// than XSP_CALL_PATH_FRAMES frames (else STATUS_INPUT), and no span has a higher context_id than there are contexts.
struct store_call_paths {
  struct store_frame *frames;
  struct store_context *contexts;
  size_t frame_count, context_count;
};
enum status store_call_paths(struct store *store, struct arena *arena, struct store_call_paths *ret_paths,
                             struct error *err) MUST_CHECK;
enum status store_traces(struct store *store, int64_t run_id, struct arena *arena, struct store_trace **ret,
                         size_t *ret_count, struct error *err) MUST_CHECK; // by id
// Lays derived data over an open handle in memory only (the file is not written): for files whose writer died before it
// correlated. Copies what it needs. From then on the readers above and SQL see it.
enum status store_overlay_derived(struct store *store, int64_t run_id, const struct store_derived *derived,
                                  const struct store_observation *observations, size_t observation_count,
                                  struct error *err) MUST_CHECK;
// "" for 0; NUL-terminated; valid while the handle lives.
const char *store_text(struct store *store, uint32_t string_id, size_t *ret_length);
bool store_find_string(struct store *store, const char *text, size_t length, uint32_t *ret_id);
uint32_t store_string_count(struct store *store); // ids are below it

#include "store/contexts.h"
#include "store/counters.h"
#include "store/read_tags.h"
#include "store/samples.h"
#include "store/sql.h"
#endif
