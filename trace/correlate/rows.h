// SPDX-License-Identifier: Apache-2.0
// One row of a run's columns, some of which need no array (STORE_LEAN). Private to correlate.
#ifndef XSP_CORRELATE_ROWS_H
#define XSP_CORRELATE_ROWS_H

#include "base/id_map.h"
#include "correlate/correlate.h"

static inline int64_t rows_id(const struct store_spans *spans, size_t row)
{
  return spans->span_id != NULL ? spans->span_id[row] : spans->first_id + (int64_t)row;
}
static inline int64_t rows_recorded_parent(const struct store_spans *spans, size_t row)
{
  return spans->recorded_parent_id != NULL ? spans->recorded_parent_id[row] : 0;
}
static inline int64_t rows_correlation(const struct store_spans *spans, size_t row)
{
  return spans->correlation_id != NULL ? spans->correlation_id[row] : 0;
}
static inline uint8_t rows_flags(const struct store_spans *spans, size_t row)
{
  return spans->flags != NULL ? spans->flags[row] : 0;
}
// The same columns for whoever asks for ends alone, in no order of the file: flags only where a span never finished.
static inline struct store_spans rows_for_ends(const struct store_spans *spans, bool has_open)
{
  struct store_spans view = *spans;
  view.flags = has_open ? view.flags : NULL;
  return view;
}
static inline int64_t rows_end(const struct store_spans *spans, size_t row)
{
  if (rows_flags(spans, row) & STORE_SPAN_OPEN)
    return INT64_MAX; // never finished: encloses all that came after
  return spans->start_ns[row] + spans->duration_ns[row];
}

#endif
