// SPDX-License-Identifier: Apache-2.0
// The spans of a run by what they are and by the process whose observations they are part of. Filled by time_rows.c, for time_parts.c.
#ifndef XSP_ANALYZE_CAUSES_TIME_ROWS_H
#define XSP_ANALYZE_CAUSES_TIME_ROWS_H

#include "analyze/causes/loaders.h"
#include "analyze/layers/busy.h"
#include "analyze/run_columns.h"
#include "analyze/view.h"
#include "base/saturate.h"

struct time_parts_run {
  const struct view_run *run;
  struct run_columns columns;
  struct map foreign;          // tracks whose times cannot be compared
  struct map devices;          // by id
  struct map loaders;          // which names are a data loader's
  uint32_t api, sync, program; // categories
  size_t *places;              // by observation: its place among those that are no warm-up
  uint32_t *process_of;        // by observation
  size_t process_count;
  uint8_t *part_of;  // by row: enum time_part; TIME_PARTS: none
  uint32_t *rows;    // those of a process together, those of none last
  size_t *first_row; // by process; then of those of none, and the end
  struct loaders_found found;
  bool has_program; // there is the span of a program

  uint32_t process;     // whose observations are measured: ranks of a job run side by side
  struct arena scratch; // while they are
};

// `of->run` is set. Its maps are the caller's to free, also after an error.
enum status time_parts_load_rows(struct question *question, struct arena *arena, struct time_parts_run *of,
                                 struct error *err) MUST_CHECK;

// Rows that the observations of `process` may have: its own and those of none. How many, and one of them.
static inline size_t time_parts_row_count(const struct time_parts_run *of)
{
  const size_t *first = &of->first_row[of->process];
  return first[1] - first[0] + of->first_row[of->process_count + 1] - of->first_row[of->process_count];
}
static inline size_t time_parts_row_at(const struct time_parts_run *of, size_t place)
{
  size_t own = of->first_row[of->process + 1] - of->first_row[of->process];
  return of->rows[place < own ? of->first_row[of->process] + place : of->first_row[of->process_count] + place - own];
}

static inline struct busy_interval time_parts_row_interval(const struct store_spans *spans, size_t row)
{
  return (struct busy_interval){spans->start_ns[row], saturate_add(spans->start_ns[row], spans->duration_ns[row]), 0};
}
#endif
