// SPDX-License-Identifier: Apache-2.0
// The core of correlate: a run's spans in, their parents and observations out; whole files by it. Part of correlate.h, for other
// rooms.
#ifndef XSP_CORRELATE_ANSWER_H
#define XSP_CORRELATE_ANSWER_H

#include "store/store.h"

// What is recorded of a call or an execution besides its correlation id. Decides between launches with one id.
struct correlate_facts {
  uint32_t row; // of the run's columns
  // What two spans both have must be equal. 0: not recorded; other numbers mean no more than that equal ones are equal.
  uint64_t device, external_id, kernel; // kernel: the name of the one that a call started, or of the execution
};
// Fills in what is recorded of `count` spans, in the order of their rows.
typedef enum status correlate_load_facts(void *context, struct correlate_facts *facts, size_t count, struct error *err);
struct correlate_question { // of one run
  // Needs start_ns, duration_ns, track_id, level, kind and may have the others as STORE_LEAN loads them.
  const struct store_spans *spans;
  const struct store_track *tracks; // say which have foreign clocks
  size_t track_count;
  const int64_t *warmup_span_ids; // spans with a tag `warmup` (int, not 0)
  size_t warmup_count;
  uint32_t column_mask;             // which derived columns are wanted, for example STORE_ALL_DERIVED
  correlate_load_facts *load_facts; // called only where launches share their id; NULL: nothing more is recorded
  void *context;                    // of load_facts
  bool has_caller; // a span outside the run called all of it: the parent of topmost spans (basis explicit, no row)
  int64_t resolution_ns; // of a source that rounds times; 0: they are exact
};
struct correlate_answer { // arrays live in the arena
  struct store_derived derived;
  struct store_observation *observations;
  size_t observation_count;
  size_t basis[BASIS_COUNT];   // spans by basis
  size_t outside_observations; // spans in no observation
};
// The pure core: no store, no I/O. STATUS_INPUT where ids repeat or times lie outside int64.
enum status correlate_spans(const struct correlate_question *question, struct arena *arena,
                            struct correlate_answer *ret_answer, struct error *err) MUST_CHECK;
// Correlates every run of a store that is being written and puts the result into it. Model spans named "ProfilerStep#N"
// are steps, whether or not they are flagged so. At its peak some 50 bytes a span of the largest run, but
// for leaves (leaves.h).
// A second thread works at runs of 10⁶ spans and more, and is gone on return.
enum status correlate_store(struct store *store, struct error *err) MUST_CHECK;
enum status correlate_store_alone(struct store *store, struct error *err) MUST_CHECK; // on the caller's thread
// Makes sure that an opened file's runs are correlated: where the file lacks it, in memory (store_overlay_derived).
enum status correlate_ensure(struct store *store, struct error *err) MUST_CHECK;
// The calling context tree of a run, in the order of metrics and contexts. `paths` are the file's; the rows live in `arena`.
enum status correlate_context_rows(struct store *store, int64_t run_id, const struct store_call_paths *paths,
                                   struct arena *arena, struct store_context_metric **ret_rows, size_t *ret_count,
                                   struct error *err) MUST_CHECK;
// Makes sure that there is a table context_metric: in a file that is being written, or else, where the file lacks it, in
// memory for SQL. Computed from the samples of runs that were folded, and from the spans of the others.
enum status correlate_context_metrics(struct store *store, struct error *err) MUST_CHECK;

#endif
