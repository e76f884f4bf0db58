// SPDX-License-Identifier: Apache-2.0
// The samples of runs, added up by call path and by thread. Private to lines/.
#ifndef XSP_ANALYZE_LINES_TIMES_H
#define XSP_ANALYZE_LINES_TIMES_H

#include "analyze/lines/innermost.h"
#include "analyze/lines/paths.h"
#include "base/vector.h"

enum sample_part {
  PART_PYTHON,
  PART_NATIVE,
  PART_OPERATOR,
  PART_WAITING,
  SAMPLE_PARTS
}; // as enum path_code, and waits
struct time_of {
  int64_t samples; // on a CPU
  double squares;  // of their times, in ns²
  double ns[SAMPLE_PARTS];
};
struct thread_time {
  const struct store_track *track; // in the question's scratch
  struct time_of time;
  bool is_main; // of the program
};
struct times {
  struct store_call_paths paths;
  struct time_of *of_context; // by id; 0: unknown paths
  VECTOR(struct thread_time) threads;
  double duration_ns;
};

static inline double time_ns(const struct time_of *time)
{
  return time->ns[PART_PYTHON] + time->ns[PART_NATIVE] + time->ns[PART_OPERATOR] + time->ns[PART_WAITING];
}
static inline void time_add(struct time_of *to, const struct time_of *from)
{
  to->samples += from->samples;
  to->squares += from->squares;
  for (size_t i = 0; i < SAMPLE_PARTS; i++)
    to->ns[i] += from->ns[i];
}

// Of a set's runs; lines_times_done frees what is not in the question's scratch, also after an error.
enum status lines_times_load(struct question *question, const struct view_set *set, struct times *ret_times,
                             struct error *err) MUST_CHECK;
void lines_times_done(struct times *times);
// The part that each sample of a run is of. `columns` has INNERMOST_COLUMNS and the category; `rows` are of innermost_rows. The
// array is in `arena`.
uint8_t *lines_times_parts(const struct run_columns *columns, const struct store_call_paths *paths,
                           const struct store_samples *samples, const uint32_t *rows, struct arena *arena);

#endif
