// SPDX-License-Identifier: Apache-2.0
// Time by line of the user's own code, from samples of threads. A22 shows it; findings and the summary of `xsp run` use it, too.
// Figures of spans are in none of it.
#ifndef XSP_ANALYZE_LINES_LINES_H
#define XSP_ANALYZE_LINES_LINES_H

#include "analyze/view.h"

enum lines_by { LINES_BY_LINE, LINES_BY_FUNCTION, LINES_BY_FILE, LINES_BY_THREAD, LINES_BY_PROCESS };

struct line {                  // a row; what it is by decides which of the names it has
  const char *file, *function; // file NULL: unknown, then the function may be a library's name
  int64_t line;                // 0: unknown. Of a function: the line with most time
  const char *name;            // of a thread or a process
  int64_t process_id, thread_id;
  int64_t samples; // on a CPU
  double squares;  // of their times, in ns²
  double python_ns, native_ns, operator_ns;
  double waiting_ns;   // whole waits: without an error
  double error_ns;     // of the time on a CPU, half of the 95 % interval; NaN: no sample
  const char *hottest; // of what it calls; NULL: it calls nothing
};
struct lines {
  struct line *items; // by time, falling
  size_t count;
  struct line total;          // all samples on CPUs; waiting: of the main thread
  double other_waiting_ns;    // of all other threads, whose waits count for a line only if their call path has one
  double main_ns;             // the main thread, on a CPU and waiting
  double duration_ns;         // of the program: its own span, else from the first sample to the last
  int64_t dropped;            // records that are lost, samples or others
  const struct view_set *set; // the runs that they are of: totals, with all their threads
};

static inline double line_cpu_ns(const struct line *line)
{
  return line->python_ns + line->native_ns + line->operator_ns;
}
static inline double line_ns(const struct line *line)
{
  return line_cpu_ns(line) + line->waiting_ns;
}

// Of the set with most levels that has samples. STATUS_NO where none has. Names live in the question's scratch.
enum status lines_load(struct question *question, enum lines_by by, struct lines *ret_lines,
                       struct error *err) MUST_CHECK;
// Half of the 95 % interval of `part_ns`, the time of some of the samples whose time is `all_ns`; `_squares`: of the single samples'
// times. Samples stand for different times, so their numbers alone give too little.
double lines_error_ns(double part_ns, double part_squares, double all_ns, double all_squares);
bool lines_by_parse(const char *text, enum lines_by *ret_by); // "line", "function", …

#endif
