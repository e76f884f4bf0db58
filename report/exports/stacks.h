// SPDX-License-Identifier: Apache-2.0
// Calling contexts of a run's spans: call paths where spans have them, their parents elsewhere; self times add up to the
// roots'. Used by the exports of stacks and by the page. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_STACKS_H
#define XSP_REPORT_EXPORTS_STACKS_H

#include "report/exports/timeline.h"

struct stacks { // of one file
  struct store *store;
  struct arena arena;
  struct store_call_paths file;        // with frames
  struct context_paths paths;          // numbered as the file's contexts
  uint32_t string_count;               // names below it are strings of the store, the others frames
  struct store_context_metric *folded; // of a file whose spans were folded: its tree, of all runs
  size_t folded_count;
};

// stacks_done frees *ret_stacks, after an error too.
enum status stacks_open(struct store *store, struct stacks *ret_stacks, struct error *err) MUST_CHECK;
void stacks_done(struct stacks *stacks);
// Adds a run's spans. Its self times are those of timeline_nest; executions count in full, launches not at all (their time
// is their execution's).
void stacks_add(const struct stacks *stacks, const struct timeline_run *run, struct contexts *contexts);
// Of a file whose spans were folded: the tree of run `run_id`, instead of stacks_add. `paths` are those of `stacks`, or the same
// with other names.
void stacks_add_folded(const struct stacks *stacks, int64_t run_id, const struct context_paths *paths,
                       struct contexts *contexts);
// The frame behind a context's name; NULL: the name is a string of the store.
const struct store_frame *stacks_frame(const struct stacks *stacks, uint32_t name);
// As people read it: "main (train.py:12)", "malloc [libc.so.6]", the string itself. Valid UTF-8.
void stacks_put_name(const struct stacks *stacks, uint32_t name, struct buf *out);

#endif
