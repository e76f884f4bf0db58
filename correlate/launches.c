// SPDX-License-Identifier: Apache-2.0
// Executions and the calls that launched them. Called by parents.c when the parents of all others are known, and where kinds
// are written.
#include "correlate/launches.h"

#define ROWS_AHEAD 1024u

static bool is_carried(const struct launches *launches, uint32_t row)
{
  return (launches->carried[row / 8] >> row % 8 & 1) != 0;
}

void launches_join(struct launches *launches, const struct store_spans *spans, const struct survey *survey,
                   struct arena *arena, uint32_t *parent_row, uint8_t *basis)
{
  uint8_t *carried = NULL;
  if (survey->has_calls || launches->has_rivals)
    carried = arena_alloc(arena, spans->count / 8 + 1);
  launches->carried = carried;
  if (!survey->has_executions || launches->row_of_correlation.used == 0)
    return;
  struct id_pages rows = launches->row_of_correlation;
  for (size_t i = 0; i < spans->count; i++) {
    if (i % 8 == 0 && i + ROWS_AHEAD < spans->count) { // a cache line of the widest column
      __builtin_prefetch(spans->correlation_id + i + ROWS_AHEAD);
      __builtin_prefetch(parent_row + i + ROWS_AHEAD, 1);
    }
    if (spans->kind[i] != XSP_KIND_EXECUTION || spans->correlation_id[i] == 0)
      continue;
    uint32_t launch = id_pages_find(&rows, (uint64_t)spans->correlation_id[i]);
    if (launch == ROW_NONE)
      continue;
    if (carried != NULL)
      carried[launch / 8] |= (uint8_t)(1u << launch % 8);
    if (basis[i] & MARK_FINAL)
      continue;
    parent_row[i] = parent_row[launch];
    basis[i] = (uint8_t)((basis[i] & MARKS) | BASIS_CORRELATION);
  }
}

// Stored as a launch, of an id that an execution carries and a more outer call has.
static bool is_deposed(struct launches *launches, const struct store_spans *spans, uint32_t row)
{
  uint32_t launch = launches_find(launches, rows_correlation(spans, row));
  return launch != ROW_NONE && is_carried(launches, launch);
}

void launches_kinds(struct launches *launches, const struct store_spans *spans, size_t first_row, size_t count,
                    uint8_t *ret_kinds)
{
  for (size_t i = 0; i < count; i++) {
    uint32_t row = (uint32_t)(first_row + i);
    uint8_t kind = spans->kind[row];
    bool is_call = kind != XSP_KIND_EXECUTION && (rows_flags(spans, row) & STORE_SPAN_CALL);
    if (is_carried(launches, row))
      kind = XSP_KIND_LAUNCH;
    else if (is_call || (kind == XSP_KIND_LAUNCH && launches->has_rivals && is_deposed(launches, spans, row)))
      kind = XSP_KIND_SYNC;
    ret_kinds[i] = kind;
  }
}
