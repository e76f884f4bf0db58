// SPDX-License-Identifier: Apache-2.0
// Which call launched an execution, and what kind every span is in the end. Private to correlate.
#ifndef XSP_CORRELATE_LAUNCHES_H
#define XSP_CORRELATE_LAUNCHES_H

#include "base/id_pages.h"
#include "base/vector.h"
#include "correlate/survey.h"

struct launch_call { // of calls with one id
  int64_t id, start;
  uint32_t row, process; // process: as in launches.process_of_slot
  uint32_t top;          // of a call in others of its id, on its thread: the outermost one; else its own row
  // Of the first of an id, about all of it: a process, if any is recorded, and whether there are others.
  uint32_t known_process;
  bool is_in_several_processes;
};
struct launches {
  struct id_pages row_of_correlation; // of the launch; LAUNCH_SEVERAL: see `several`
  VECTOR(uint32_t) noted;             // rows of calls that share their id with others
  VECTOR(struct launch_call) several; // launches of an id that has several, by (id, start)
  VECTOR(struct launch_call) nested;  // stored as launches, but in others of their id; by row
  uint8_t *carried;                   // a bit a row: a launch whose id an execution carries; NULL: kinds stay as stored
  uint8_t *launched, *shared;         // a bit a row: a launch of an execution, of several
  size_t shared_count;
  struct correlate_facts *facts; // of `several` and of executions with their ids, by row; NULL: none are recorded
  size_t fact_count;
  // Processes of tracks, from 1 on; 0: none recorded. NULL where a run has at most one.
  const uint32_t *process_of_slot;
  const struct id_map *slot_of_track;
};
#define LAUNCH_SEVERAL (ROW_NONE - 1) // no row: a run has fewer

// A row that is stored as a launch or flagged as a call; rows come last first.
void launches_note_again(struct launches *launches, const struct store_spans *spans, uint32_t row, uint32_t *launch);
static inline void launches_note(struct launches *launches, const struct store_spans *spans, uint32_t row,
                                 struct arena *arena)
{
  if (rows_correlation(spans, row) == 0)
    return;
  uint64_t id = (uint64_t)spans->correlation_id[row];
  uint32_t *launch = id_pages_slot(&launches->row_of_correlation, arena, id);
  if (*launch != ROW_NONE)
    launches_note_again(launches, spans, row, launch);
  else
    *launch = row;
}
// The call that launched an execution. ROW_NONE: none recorded; LAUNCH_SEVERAL: it is not certain which one.
uint32_t launches_of(struct launches *launches, const struct store_spans *spans, uint32_t row);

// Gives executions the parents of their launches: rows and bases, which may carry marks.
void launches_join(struct launches *launches, const struct store_spans *spans, const struct parents_survey *survey,
                   struct arena *arena, uint32_t *parent_row, uint8_t *basis);
// Where launches share their id: loads what else is recorded of them and of their executions, and decides again.
enum status launches_learn(struct launches *launches, const struct store_spans *spans, correlate_load_facts *load,
                           void *context, struct arena *arena, uint32_t *parent_row, uint8_t *basis,
                           struct error *err) MUST_CHECK;
static inline void launches_share(struct launches *launches, uint32_t launch) // an execution has this launch
{
  uint8_t bit = (uint8_t)(1u << launch % 8);
  bool is_new = (launches->launched[launch / 8] & bit) != 0 && (launches->shared[launch / 8] & bit) == 0;
  launches->launched[launch / 8] |= bit;
  launches->shared[launch / 8] |= is_new ? bit : 0;
  launches->shared_count += is_new;
}
// shared_launches.c: where a launch recorded the name of its kernel and has it, executions of other names are ambiguous.
enum status launches_compare_names(struct launches *launches, const struct store_spans *spans,
                                   correlate_load_facts *load, void *context, struct arena *arena, uint32_t *parent_row,
                                   uint8_t *basis, struct error *err) MUST_CHECK;
// What kinds rows [first_row, first_row + count) have in the end.
void launches_kinds(struct launches *launches, const struct store_spans *spans, size_t first_row, size_t count,
                    uint8_t *ret_kinds);
void launches_done(struct launches *launches);

#endif
