// SPDX-License-Identifier: Apache-2.0
// The program as a whole, in the summary of `xsp run` and its JSON: the lines with most time, and how much of the time lies in
// observations.
#ifndef XSP_PROGRAMS_XSP_RUN_LINES_H
#define XSP_PROGRAMS_XSP_RUN_LINES_H

#include "programs/xsp/reader.h"

struct run_lines { // run_lines_done frees it
  struct answers answers;
  const struct table *table; // of A22, the first rows; NULL: there are no samples
  double covered_pct;        // of the program's time; NaN: unknown, or it has no steps
};
// `cache`: see struct answers.
enum status run_lines_load(struct store *store, struct analyze_cache *cache, struct run_lines *ret_lines,
                           struct error *err) MUST_CHECK;
void run_lines_done(struct run_lines *lines);
// A line for each of the first rows, and one for what observations cover; nothing of what is unknown.
void run_lines_put(const struct run_lines *lines, struct buf *out);

#endif
