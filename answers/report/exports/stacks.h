// SPDX-License-Identifier: Apache-2.0
// Calling contexts of a run's spans: call paths where spans have them, their parents elsewhere; self times add up to the
// roots'. Used by the exports of stacks and by the page. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_STACKS_H
#define XSP_REPORT_EXPORTS_STACKS_H

#include "report/exports/timeline.h"

struct stacks_weight { // a row of context_metric
  int64_t run_id, count, exclusive_sum;
  uint32_t context_id;
};
struct stacks_weights {
  VECTOR(struct stacks_weight) rows; // of all runs
};
enum stacks_sampled { STACKS_INSTRUCTIONS, STACKS_CPU_TIME, STACKS_WAITS, STACKS_SAMPLED };
struct stacks_sampled_kind {
  const char *metric;      // of context_metric
  const char *type, *unit; // of pprof
  const char *title;
};
extern const struct stacks_sampled_kind stacks_sampled_kinds[STACKS_SAMPLED];

struct stacks { // of one file
  struct store *store;
  struct arena arena;
  struct store_call_paths file;   // with frames
  struct context_paths paths;     // numbered as the file's contexts
  uint32_t string_count;          // names below it are strings of the store, the others frames
  bool is_placeless;              // names without folders and lines: another version of a program has others
  bool is_folded;                 // the file's spans were folded: contexts are those of own_time
  struct stacks_weights own_time; // where is_folded
  struct stacks_weights metric;   // empty before stacks_load_metric
  struct stacks_weights sampled[STACKS_SAMPLED]; // empty before stacks_load_samples
};

#define STACKS_CONTEXTS_MOST (UINT32_MAX - 3) // their spans take more memory
#define STACKS_DEPTH_MOST 513                 // names of a chain; longer ones are cut at the top

#define STACKS_COLUMNS (STORE_BIT(STORE_SELF_NS) | STORE_BIT(STORE_CONTEXT_ID)) // for stacks_add, of timeline_load
// stacks_done frees *ret_stacks, after an error too.
enum status stacks_open(struct store *store, struct stacks *ret_stacks, struct error *err) MUST_CHECK;
void stacks_done(struct stacks *stacks);
// The row of each row's parent as recorded, TIMELINE_NO_ROW: none.
uint32_t *stacks_parents(const struct timeline_run *run, struct arena *arena);
// Own times by row; changes `parent` to that of contexts. Spans of tracks with a clock of their own are in no lane: their times
// cannot be added to the others'.
int64_t *stacks_own_times(const struct timeline_run *run, uint32_t *parent, struct arena *arena);
// Adds a run's spans. Its self times are those of timeline_nest; executions count in full. `ret_context`: as of contexts_add; not
// set where spans are folded.
void stacks_add(const struct stacks *stacks, const struct timeline_run *run, struct contexts *contexts,
                uint32_t *ret_context);
// Of a file whose spans were folded: the tree of run `run_id`, instead of stacks_add. `paths` are those of `stacks`, or the same
// with other names.
void stacks_add_folded(const struct stacks *stacks, int64_t run_id, const struct context_paths *paths,
                       struct contexts *contexts);
// Loads what call paths add to this metric of context_metric; those that add nothing are left out.
enum status stacks_load_metric(struct stacks *stacks, const char *metric, struct error *err) MUST_CHECK;
// What samples add to call paths, of instructions and of threads; a file without them is not read for it.
enum status stacks_load_samples(struct stacks *stacks, struct error *err) MUST_CHECK;
// Adds call paths of a run with loaded weights in place of own time: `metric` of the stacks, or one of `sampled`.
void stacks_add_weights(const struct stacks *stacks, const struct stacks_weights *weights, int64_t run_id,
                        struct contexts *contexts);
// Ids of a context and those above it, from the bottom up, in chain[STACKS_DEPTH_MOST]. Returns how many.
uint32_t stacks_chain(const struct contexts *contexts, uint32_t id, uint32_t *chain);
void stacks_put_run(const struct store_run *run, struct buf *out); // "M/L batch 4": level sets are never pooled
// The frame behind a context's name; NULL: the name is a string of the store.
const struct store_frame *stacks_frame(const struct stacks *stacks, uint32_t name);
// As people read it: "main (train.py:12)", "malloc [libc.so.6]", the string itself. Valid UTF-8.
void stacks_put_name(const struct stacks *stacks, uint32_t name, struct buf *out);

// "main (train.py:12);conv;gemm": a context as a line of folded stacks begins.
void stacks_put_folded(const struct stacks *stacks, const struct contexts *contexts, uint32_t id, struct buf *out);

#endif
