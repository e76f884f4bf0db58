// SPDX-License-Identifier: Apache-2.0
// Executions and the calls that launched them. Called by parents.c when the parents of all others are known.
#include "correlate/launches.h"

#include <string.h>

#define ROWS_AHEAD 1024u

void launches_join(struct launches *launches, const struct store_spans *spans, uint32_t *parent_row, uint8_t *basis)
{
  struct id_pages rows = launches->row_of_correlation;
  for (size_t i = 0; i < spans->count; i++) {
    if (i % 8 == 0 && i + ROWS_AHEAD < spans->count) { // a cache line of the widest column
      __builtin_prefetch(spans->correlation_id + i + ROWS_AHEAD);
      __builtin_prefetch(parent_row + i + ROWS_AHEAD, 1);
    }
    if (spans->kind[i] != XSP_KIND_EXECUTION || (basis[i] & MARK_FINAL) || spans->correlation_id[i] == 0)
      continue;
    uint32_t launch = id_pages_find(&rows, (uint64_t)spans->correlation_id[i]);
    if (launch == ROW_NONE)
      continue;
    parent_row[i] = parent_row[launch];
    basis[i] = (uint8_t)((basis[i] & MARKS) | BASIS_CORRELATION);
  }
}

#define CARRIED 0x80u // an execution has the launch's id

// Calls that were stored as launches beside the outermost one of an id that an execution carries.
static void depose_rivals(struct launches *launches, const struct store_spans *spans, uint8_t *kind)
{
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->kind[i] != XSP_KIND_LAUNCH || rows_correlation(spans, i) == 0)
      continue;
    uint32_t launch = launches_find(launches, spans->correlation_id[i]);
    if (launch != i && (kind[launch] & CARRIED))
      kind[i] = XSP_KIND_SYNC;
  }
}

bool launches_kinds(struct launches *launches, const struct store_spans *spans, const struct survey *survey,
                    struct arena *arena, uint8_t **ret_kind)
{
  *ret_kind = NULL;
  if (!survey->has_calls && !launches->has_rivals)
    return true;
  uint8_t *kind = arena_alloc_array(arena, spans->count + 1, sizeof *kind);
  if (kind == NULL)
    return false;
  memcpy(kind, spans->kind, spans->count);
  for (size_t i = 0; i < spans->count && survey->has_calls; i++)
    kind[i] = kind[i] == XSP_KIND_LAUNCH && (spans->flags[i] & STORE_SPAN_CALL) ? XSP_KIND_SYNC : kind[i];
  for (size_t i = 0; i < spans->count && survey->has_executions; i++) {
    if (spans->kind[i] != XSP_KIND_EXECUTION)
      continue;
    uint32_t launch = launches_find(launches, rows_correlation(spans, i));
    if (launch != ROW_NONE)
      kind[launch] = XSP_KIND_LAUNCH | CARRIED;
  }
  if (launches->has_rivals)
    depose_rivals(launches, spans, kind);
  for (size_t i = 0; i < spans->count; i++)
    kind[i] &= (uint8_t)~CARRIED;
  *ret_kind = kind;
  return true;
}
