// SPDX-License-Identifier: Apache-2.0
// Which call launched an execution, and what kind every span is in the end. Private to correlate.
#ifndef XSP_CORRELATE_LAUNCHES_H
#define XSP_CORRELATE_LAUNCHES_H

#include "correlate/id_pages.h"
#include "correlate/survey.h"

struct launches {
  struct id_pages row_of_correlation; // of the outermost call
  bool has_rivals;                    // one that was stored as a launch is among several of one id
  uint8_t *carried;                   // a bit a row: a launch whose id an execution carries; NULL: kinds stay as stored
};

// Of several calls with one id the outermost: earliest start, then latest end, then file order.
static inline bool launches_is_outer(const struct store_spans *spans, uint32_t a, uint32_t b)
{
  if (spans->start_ns[a] != spans->start_ns[b])
    return spans->start_ns[a] < spans->start_ns[b];
  return rows_end(spans, a) > rows_end(spans, b);
}
// A row that is stored as a launch (`is_launch`) or flagged as a call; rows come last first.
static inline void launches_note(struct launches *launches, const struct store_spans *spans, uint32_t row,
                                 bool is_launch, struct arena *arena)
{
  if (rows_correlation(spans, row) == 0)
    return;
  uint64_t id = (uint64_t)spans->correlation_id[row];
  uint32_t *launch = id_pages_slot(&launches->row_of_correlation, arena, id);
  if (*launch != ROW_NONE)
    launches->has_rivals |= is_launch || spans->kind[*launch] == XSP_KIND_LAUNCH;
  if (*launch == ROW_NONE || !launches_is_outer(spans, *launch, row))
    *launch = row;
}
static inline uint32_t launches_find(struct launches *launches, int64_t correlation_id) // ROW_NONE: none
{
  return correlation_id == 0 ? ROW_NONE : id_pages_find(&launches->row_of_correlation, (uint64_t)correlation_id);
}

// Gives executions the parents of their launches: rows and bases, which may carry marks.
void launches_join(struct launches *launches, const struct store_spans *spans, const struct survey *survey,
                   struct arena *arena, uint32_t *parent_row, uint8_t *basis);
// What kinds rows [first_row, first_row + count) have in the end.
void launches_kinds(struct launches *launches, const struct store_spans *spans, size_t first_row, size_t count,
                    uint8_t *ret_kinds);

#endif
