// SPDX-License-Identifier: Apache-2.0
// Parents of all spans of a run, as rows. Private to correlate; relation.h builds the rest on it.
#ifndef XSP_CORRELATE_PARENTS_H
#define XSP_CORRELATE_PARENTS_H

#include "correlate/correlate.h"
#include "correlate/launches.h"
#include "correlate/sweep.h"

struct parents_track {
  struct sweep_stack level[SWEEP_LEVELS];
  struct sweep_stack *process;  // [SWEEP_LEVELS], of the spans of its process that are on no thread; NULL: none are
  int64_t last_end, last_start; // of the backward sweep
  uint32_t clock;               // equal numbers: the same clock; 0: wall time
  uint8_t last_level;
  bool is_forward;    // rows are not in the order of their ends, or something crosses: needs the forward sweep
  bool has_host;      // has something else than kernel executions, so that its spans can have parents on it
  bool is_threadless; // on no thread and no device: its open spans are in `process`, not in `level`
};
struct parents {
  uint32_t *row;  // the parent's row; ROW_NONE: none, or not in this run
  uint8_t *basis; // enum basis
  // Found by the sweeps, for later phases.
  struct parents_track *track; // by slot
  size_t track_count;
  struct id_map slot_of_track;
  uint32_t *forward_row; // rows of tracks that are `is_forward`, by start, what encloses first
  size_t forward_count;
  struct id_pages *row_of_id; // NULL where ids are dense, or rise and are seldom asked for
  bool ids_are_dense;         // row = id - first id
  bool has_links;             // explicit or by correlation: may run in circles
  bool has_bases;             // some spans were recorded with their basis
  bool has_steps, has_open;
  int64_t first_id;      // where ids are dense
  int64_t resolution_ns; // of the source's times: ends are out by as much; 0: exact
  size_t nested_count;   // spans that end after their parent, by no more than that
  struct launches launches;
  struct arena arena, order_arena, links_arena; // the order's: forward_row; the links': launches
};

// Fills *ret_parents, which parents_done frees, also after an error. Of the question: spans, tracks, resolution_ns. STATUS_INPUT
// where ids repeat or a span ends before it starts or beyond int64. A second thread changes nothing in the result, but
// memory that is exhausted on it ends the process.
enum status parents_find(const struct correlate_question *question, bool may_start_thread, struct parents *ret_parents,
                         struct error *err) MUST_CHECK;
// Afterwards: decides between launches with one id by further facts (struct correlate_question).
enum status parents_learn(const struct store_spans *spans, correlate_load_facts *load, void *context,
                          struct parents *parents, struct error *err) MUST_CHECK;
// Then, where a span outside the run called all of it: it is the parent of the spans above kernel level that have none.
void parents_name_caller(const struct store_spans *spans, struct parents *parents);
void parents_forget_links(struct parents *parents); // call once launches are no longer needed
void parents_done(struct parents *parents);
uint32_t parents_row_of(const struct parents *parents, const struct store_spans *spans, int64_t span_id);

static inline struct parents_track *parents_track_of(const struct parents *parents, uint32_t track_id)
{
  if (track_id == 0)
    return NULL;
  return &parents->track[id_map_find(&parents->slot_of_track, track_id)];
}

#endif
