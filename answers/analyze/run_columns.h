// SPDX-License-Identifier: Apache-2.0
// The columns of one run in which layers and kernels are found.
#ifndef XSP_ANALYZE_RUN_COLUMNS_H
#define XSP_ANALYZE_RUN_COLUMNS_H

#include "analyze/view.h"
#include "base/id_pages.h"
#include "base/map.h"

struct run_columns {
  struct store *store;
  const struct view_run *run;
  struct arena *arena; // the caller's
  struct store_spans spans;
  struct store_derived derived;            // parent_id, layer_id, observation, and what was asked for
  struct id_pages *row_of_id;              // NULL where ids rise
  int64_t *condensed[CONDENSED_COUNT];     // by row, -1: not recorded; NULL: in no row
  uint32_t kernel, memcpy, memset, module; // string ids of categories; ROW_NONE: no span has it
};

// `columns`: STORE_BIT(…) of further columns, also self_ns and forward_id; span_id, level, parent_id, layer_id and observation are
// always loaded. Others may be there, too. All are shared with what else the question loads, and live as long as it, or are
// `arena`'s: nothing may be written to them.
enum status run_columns_load(struct question *question, const struct view_run *run, uint32_t columns,
                             struct arena *arena, struct run_columns *ret_columns, struct error *err) MUST_CHECK;
// The same in `arena` alone: where there are many runs, and each is looked at once.
enum status run_columns_load_once(struct question *question, const struct view_run *run, uint32_t columns,
                                  struct arena *arena, struct run_columns *ret_columns, struct error *err) MUST_CHECK;
// Numbers the processes of a run's tracks: equal host and process id (none is equal to none). Adds each track id's number to
// `process_of`, which the caller frees (map_done).
enum status run_processes_load(struct store *store, int64_t run_id, struct arena *arena, struct map *process_of,
                               size_t *ret_count, struct error *err) MUST_CHECK;
uint32_t run_columns_category(struct store *store, const char *name);         // its string; ROW_NONE: no span has it
uint32_t run_columns_row(const struct run_columns *columns, int64_t span_id); // ROW_NONE: no such span
// Whether its source added up what devices do in it.
static inline bool run_columns_are_condensed(const struct run_columns *columns)
{
  return columns->condensed[CONDENSED_GPU] != NULL || columns->condensed[CONDENSED_BUSY_START] != NULL;
}
// How many kernels were added up to the row.
static inline uint32_t run_columns_calls(const struct run_columns *columns, size_t row)
{
  int64_t *calls = columns->condensed[CONDENSED_CALLS];
  return calls == NULL || calls[row] < 1 || calls[row] > UINT32_MAX ? 1 : (uint32_t)calls[row];
}
// The observation a span counts in, an index into the run's; false: in none.
static inline bool run_columns_observation(const struct run_columns *columns, size_t row, uint32_t *ret_observation)
{
  int32_t observation = columns->derived.observation[row];
  *ret_observation = (uint32_t)observation;
  return observation >= 0 && (size_t)observation < columns->run->observation_count;
}

#endif
