// SPDX-License-Identifier: Apache-2.0
// Which span is the innermost at a time, on a track: one sweep by time over a run's spans and samples.
#ifndef XSP_ANALYZE_LINES_INNERMOST_H
#define XSP_ANALYZE_LINES_INNERMOST_H

#include "analyze/run_columns.h"

#define INNERMOST_COLUMNS                                                                                              \
  (STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_KIND) |      \
   STORE_BIT(STORE_FLAGS))

// By sample, the row of the span on its track that began last and has not ended by its time; ROW_NONE: none. A span that never
// finished has no end; executions are on no thread. `columns` has INNERMOST_COLUMNS. The array is in `arena`.
// `threads`: of innermost_threads.
uint32_t *innermost_rows(const struct run_columns *columns, const struct store_samples *samples,
                         const struct map *threads, struct arena *arena);
// By track id: the first track of its thread. A profile that was added to a run has tracks of its own for the run's threads.
struct map innermost_threads(const struct store_track *tracks, size_t count);

#endif
