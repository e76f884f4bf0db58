// SPDX-License-Identifier: Apache-2.0
// What viewers of timelines need: processes, lanes of strictly nested spans, arrows from launches to executions, tags
// by span. Used by the exports to Perfetto, Chrome, speedscope and folded stacks, and by the page. Inside this room
// only.
//
// Spans that cross each other on one track cannot be drawn there: they go to further lanes of the track. Tracks with a
// foreign clock are left out: their times cannot be compared with wall time. Spans without a track are drawn on one that
// the timeline makes; so are spans on a track that the file does not describe.
#ifndef XSP_REPORT_EXPORTS_TIMELINE_H
#define XSP_REPORT_EXPORTS_TIMELINE_H

#include "analyze/analyze.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/vector.h"
#include "report/exports/file.h"
#include "report/report.h"

struct timeline_process {
  int32_t pid;         // the source's own where it is unique, else made up
  const char *name;    // "resnet50 M/L"
  const char *command; // its main thread's name; NULL: not known
  const char *role;    // "loader worker 1"; NULL: nothing shows one
};

// A run's track as it is drawn.
struct timeline_track {
  const struct store_track *track;
  size_t process;   // index into timeline.processes
  int64_t tid;      // see timeline_place
  const char *name; // never empty
  const char *role; // "main", "pool"; NULL: nothing shows one
};

// Rows order[first .. first+count) of one track, by start, outer spans first; strictly nested.
struct timeline_lane {
  size_t track;     // index into timeline_run.tracks
  unsigned overlap; // 0: the track itself, 1 …: further lanes
  int64_t tid;      // the track's, or made up for further lanes: unique within process and run
  const char *name; // the track's, with " (overlapping N)" on further lanes
  size_t first, count;
};

// A counter over time as a line: from each point on it has the point's value.
struct timeline_point {
  int64_t time_ns; // as stored
  double value;
};
struct timeline_counter {
  int64_t counter_id;
  const char *name, *unit; // "cpu, thread 7", "%"; unit "": the name ends in it
  size_t process;          // index into timeline.processes
  bool is_of_thread;
  struct timeline_point *points;
  size_t point_count;
};

struct timeline_run {
  const struct store_run *run;
  struct store_spans spans;
  struct store_derived derived;
  struct timeline_track *tracks;
  size_t track_count;
  struct timeline_lane *lanes;
  size_t lane_count;
  uint32_t *order;
  int64_t shift_ns;       // added to start_ns: runs that count from their own zero start with the others
  struct store_tag *tags; // by span id, then file order; of timeline_load_tags
  size_t tag_count;
  uint32_t *tag_starts;      // where ids count up, by row: the place of its first tag; else NULL
  uint32_t *launch_of;       // by row: an execution's launch; TIMELINE_NO_ROW: none, or none for certain
  uint32_t *execution_order; // executions that have a launch, by the launch's row
  size_t execution_count;
  struct timeline_counter *counters; // none where the run has no track
  size_t counter_count;
  // By row, for exports that importers read back (timeline_links.c): the parent's row, and enum timeline_link; else NULL.
  uint32_t *parent;
  uint8_t *links;
  int64_t number; // of the run's first row in the file, less 1
};
// Arguments of spans in exports; trace/importers/exported.c reads them.
#define TIMELINE_SPAN_KEY "xsp.span_id"
#define TIMELINE_PARENT_KEY "xsp.parent_id"
#define TIMELINE_STEP_KEY "xsp.step"
enum timeline_link {
  TIMELINE_LINKED = 1, // a reader finds another parent, or one where there is none
  TIMELINE_NAMED = 2,  // the parent of a linked row
};

// Where a track is drawn. `tid` is the source's thread id if it is an int32, as viewers need it, and no other track of the
// run has it in this process; else it is made up. Runs of one process share its threads.
struct timeline_place {
  size_t process; // index into timeline.processes
  int64_t tid;
  bool is_thread;
  const char *role; // of the thread
};
struct timeline_run_facts {
  struct store_track *tracks;    // by id; all that spans are on
  struct timeline_place *places; // by place in `tracks`
  uint8_t *shows;                // likewise: for timeline_roles.c, timeline_servers.c
  size_t track_count, span_count;
  int64_t first_ns; // earliest start on a track that is drawn, as stored; 0: there is none
};

struct timeline {
  struct store *store;
  struct arena arena; // of the whole file's facts
  struct store_experiment *experiments;
  size_t experiment_count;
  struct store_run *runs;
  struct timeline_run_facts *run_facts; // by place in `runs`
  size_t run_count;
  struct timeline_process *processes;
  size_t process_count;
  struct map tids;  // (process, thread id) to the place of the last run that has it, + 1
  int64_t next_tid; // made up
  int64_t first_ns; // earliest start of a run that counts from the Unix epoch, else of all
  bool has_unix_time;
};

// timeline_done frees *ret_timeline, after an error too.
enum status timeline_open(struct store *store, struct timeline *ret_timeline, struct error *err) MUST_CHECK;
void timeline_done(struct timeline *timeline);
// Loads these columns of run `index` into `arena` (the caller empties it between runs: memory is bounded by the largest run). What
// it needs itself is in TIMELINE_COLUMNS; arrows are found where STORE_CORRELATION_ID is among them.
#define TIMELINE_COLUMNS                                                                                               \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_TRACK_ID) |   \
   STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_FLAGS) |                   \
   STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_BASIS))
#define TIMELINE_ALL_COLUMNS (STORE_ALL_BASE | STORE_ALL_DERIVED)
enum status timeline_load(struct timeline *timeline, size_t index, uint32_t columns, struct arena *arena,
                          struct timeline_run *ret_run, struct error *err) MUST_CHECK;
enum status timeline_load_tags(struct timeline *timeline, struct arena *arena, struct timeline_run *run,
                               struct error *err) MUST_CHECK;
// Nanoseconds since the file's first span; all its times go through here.
uint64_t timeline_time(const struct timeline *timeline, const struct timeline_run *run, int64_t time_ns);

struct timeline_range {
  size_t first, end;
};
// Tags of a span: places in run->tags.
struct timeline_range timeline_tags(const struct timeline_run *run, int64_t span_id);
// Executions that row `launch` started: places in run->execution_order.
struct timeline_range timeline_executions(const struct timeline_run *run, uint32_t launch);
// A number that is the same for both ends of one arrow and for no other arrow of the file. Never 0.
uint64_t timeline_flow_id(const struct timeline_run *run, uint32_t execution);

// Writes a string of the store.
void timeline_json_text(struct json_writer *json, struct store *store, uint32_t string);

// Rows in the order of their span ids, in `arena`.
uint32_t *timeline_order_by_id(const struct timeline_run *run, struct arena *arena);
#define TIMELINE_NO_ROW UINT32_MAX
// The row of a span, by what timeline_order_by_id returned; TIMELINE_NO_ROW: there is none, or `span_id` is 0.
uint32_t timeline_row_of(const struct timeline_run *run, const uint32_t *by_id, int64_t span_id);

// For timeline.c and OTLP, in timeline_lanes.c: tags by span id, then file order.
void timeline_sort_tags(struct store_tag *tags, size_t count);
// The place of a span's first tag in sorted tags; where it has none, of the next span's.
size_t timeline_first_tag(const struct store_tag *tags, size_t count, int64_t span_id);
// First place in `order`, rows by `numbers`, whose number is not below `number`.
size_t timeline_lower_bound(const int64_t *numbers, const uint32_t *order, size_t count, int64_t number);
// Rows by `compare`, as qsort_r; fast where few are far from their place.
void timeline_sort_rows(uint32_t *rows, size_t count, int (*compare)(const void *, const void *, void *),
                        void *context);
enum status timeline_lay_lanes(struct timeline *timeline, struct arena *arena, struct timeline_run *run,
                               struct error *err) MUST_CHECK;
void timeline_find_arrows(struct arena *arena, struct timeline_run *run); // timeline_arrows.c
// timeline_counters.c, once the run has its tracks
enum status timeline_load_counters(struct timeline *timeline, struct arena *arena, struct timeline_run *run,
                                   struct error *err) MUST_CHECK;
// timeline_places.c. Adds the run's tracks that `spans` are on and the file does not describe.
void timeline_describe_tracks(struct timeline *timeline, struct timeline_run_facts *facts,
                              const struct store_spans *spans);
void timeline_find_places(struct timeline *timeline); // of all runs' tracks, which are described
// timeline_roles.c. The first notes what spans (of levels and categories) show of the run's tracks; the second names processes and
// threads once all have places.
void timeline_see_roles(struct timeline *timeline, struct timeline_run_facts *facts, const struct store_spans *spans);
enum status timeline_find_roles(struct timeline *timeline, struct error *err) MUST_CHECK;
// timeline_servers.c. Adds to `shows` of tracks whose samples are in the loop of a server, or of a process that one started to serve.
enum { TIMELINE_SERVER = 8, TIMELINE_SERVER_WORKER = 16 };
enum status timeline_see_servers(struct timeline *timeline, struct error *err) MUST_CHECK;
// timeline_links.c. `are_all_threads`: what the export's tracks are, whatever they were.
enum status timeline_find_links(struct timeline_run *run, bool are_all_threads, struct arena *arena,
                                struct error *err) MUST_CHECK;
int64_t timeline_new_tid(struct timeline *timeline, size_t process);
// The place of a track in sorted tracks; `count`: not there.
size_t timeline_find_track(const struct store_track *tracks, size_t count, int64_t track_id);

// timeline_nest.c. For calling contexts: `parent`, rows by row (TIMELINE_NO_ROW: none), as recorded. A finished host span
// takes the innermost such span around it in its lane instead, where that one lies between it and its parent, or where it
// has no parent. `self_ns`, by row, follows: without the children under `parent` in a lane, as a union; NULL: not needed.
// Takes 4 bytes a span for the call.
void timeline_nest(const struct timeline_run *run, uint32_t *parent, int64_t *self_ns);

struct timeline_sink {
  void *context;
  void (*begin)(void *context, const struct timeline_lane *lane, uint32_t row);
  void (*end)(void *context, const struct timeline_lane *lane, uint32_t row); // may be NULL
};
// Calls begin and end of a lane's spans in the order of time; a span that is still open gets no end.
void timeline_walk(const struct timeline_run *run, const struct timeline_lane *lane, const struct timeline_sink *sink);

static inline int64_t timeline_end(const struct timeline_run *run, uint32_t row)
{
  int64_t end_ns;
  bool overflows = __builtin_add_overflow(run->spans.start_ns[row], run->spans.duration_ns[row], &end_ns);
  return overflows ? INT64_MAX : end_ns;
}

// Of a row whose parent an export names, or names none; NULL: nesting and correlation ids give it.
static inline const char *timeline_basis(const struct timeline_run *run, uint32_t row)
{
  bool is_given = (run->links[row] & TIMELINE_LINKED) != 0 || run->derived.basis[row] == BASIS_AMBIGUOUS;
  return is_given ? basis_name(run->derived.basis[row]) : NULL;
}

static inline int64_t timeline_number(const struct timeline_run *run,
                                      uint32_t row) // the same for no other span of the file
{
  return run->number + row + 1;
}

static inline bool timeline_is_open(const struct timeline_run *run, uint32_t row)
{
  return (run->spans.flags[row] & STORE_SPAN_OPEN) != 0;
}

// Where the row's span ends in its lane: one that never finished encloses all after its start.
static inline int64_t timeline_drawn_end(const struct timeline_run *run, uint32_t row)
{
  return timeline_is_open(run, row) ? INT64_MAX : timeline_end(run, row);
}

// ---- timeline_writer.c, for exports: reads the store run by run and writes the output
struct timeline_writer { // the first member of an export's own struct, which starts as {0}
  struct timeline timeline;
  struct timeline_run run; // the one that is written
  struct export_file file;
};
struct timeline_parts { // an export's functions; begin and end may be NULL
  void (*begin)(struct timeline_writer *writer);
  void (*put_run)(struct timeline_writer *writer);
  void (*end)(struct timeline_writer *writer);
  uint32_t columns;     // beside TIMELINE_COLUMNS
  bool has_tags;        // they are needed
  bool is_read_back;    // run.parent and run.links are needed, and all that an importer reads of a span: columns, tags
  bool are_all_threads; // its tracks
};
// Writes begin, all runs and end to a new file at `path`.
enum status timeline_write(struct timeline_writer *writer, const struct timeline_parts *parts, struct store *store,
                           const char *path, const struct report_export_options *options, struct error *err) MUST_CHECK;

#endif
