// SPDX-License-Identifier: Apache-2.0
// Arrows of a timeline: which launch each execution has. Called by timeline_lanes.c, the getters by exports and the page.
// Pure. A hostile file may give one id to all launches and executions: each execution has at most one arrow.
#include "report/exports/timeline.h"

#include "base/sorted.h"

#include <stdlib.h>

ROWS_SORTED_BY(by_correlation, uint32_t, struct store_spans,
               ORDER(of->correlation_id[a], of->correlation_id[b]) ?: ORDER(of->start_ns[a], of->start_ns[b])
                   ?: ORDER(a, b))

ROWS_SORTED_BY(by_launch, uint32_t, uint32_t, ORDER(of[a], of[b]) ?: ORDER(a, b))

// The launch with the execution's id; of several, the only one that starts before it, unless correlate found it
// ambiguous. `launches` are by id, then start.
static uint32_t launch_of(const struct timeline_run *run, const uint32_t *launches, size_t count, uint32_t execution)
{
  const struct store_spans *spans = &run->spans;
  int64_t id = spans->correlation_id[execution];
  size_t at = timeline_lower_bound(spans->correlation_id, launches, count, id);
  if (at == count || spans->correlation_id[launches[at]] != id)
    return TIMELINE_NO_ROW;
  if (at + 1 == count || spans->correlation_id[launches[at + 1]] != id)
    return launches[at];
  bool is_only = spans->start_ns[launches[at]] <= spans->start_ns[execution] &&
                 spans->start_ns[launches[at + 1]] > spans->start_ns[execution];
  return is_only && run->derived.basis[execution] != BASIS_AMBIGUOUS ? launches[at] : TIMELINE_NO_ROW;
}

void timeline_find_arrows(struct arena *arena, struct timeline_run *run)
{
  struct store_spans *spans = &run->spans;
  uint32_t *launches SCOPED(scoped_free) = memory_new(spans->count, sizeof *launches);
  size_t launch_count = 0;
  for (uint32_t row = 0; row < spans->count; row++)
    if (spans->correlation_id[row] != 0 && spans->kind[row] == XSP_KIND_LAUNCH)
      launches[launch_count++] = row;
  timeline_sort_rows(launches, launch_count, by_correlation, spans);
  run->launch_of = arena_alloc_array(arena, spans->count, sizeof *run->launch_of);
  run->execution_order = arena_alloc_array(arena, spans->count, sizeof *run->execution_order);
  for (uint32_t row = 0; row < spans->count; row++) {
    bool is_execution = spans->correlation_id[row] != 0 && spans->kind[row] == XSP_KIND_EXECUTION;
    run->launch_of[row] = is_execution ? launch_of(run, launches, launch_count, row) : TIMELINE_NO_ROW;
    if (run->launch_of[row] != TIMELINE_NO_ROW)
      run->execution_order[run->execution_count++] = row;
  }
  timeline_sort_rows(run->execution_order, run->execution_count, by_launch, run->launch_of);
}

struct timeline_range timeline_executions(const struct timeline_run *run, uint32_t launch)
{
  size_t first = PARTITION_POINT(i, 0, run->execution_count, run->launch_of[run->execution_order[i]] < launch);
  size_t end = first;
  while (end < run->execution_count && run->launch_of[run->execution_order[end]] == launch)
    end++;
  return (struct timeline_range){first, end};
}

uint64_t timeline_flow_id(const struct timeline_run *run, uint32_t execution)
{
  uint64_t id = (uint64_t)run->run->run_id * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)run->spans.span_id[execution];
  id = (id ^ id >> 31) * UINT64_C(0xbf58476d1ce4e5b9); // bijective for one run; spreads runs apart
  return id != 0 ? id : 1;
}
