// SPDX-License-Identifier: Apache-2.0
// The program's line with most time of the main thread in the loop, by samples.
#ifndef XSP_ANALYZE_FINDINGS_BUSIEST_LINE_H
#define XSP_ANALYZE_FINDINGS_BUSIEST_LINE_H

#include "analyze/findings/findings.h"

struct busiest_line {
  const char *file; // NULL: there are no samples, or none of the program's own code but imports
  int64_t line;
  const char *function; // NULL: unknown
  const char *callee;   // what it calls for most of its time; NULL: nothing
  double pct;           // of the main thread's time in the loop, without imports
  bool mostly_waits;
};
enum status findings_busiest_line(struct findings *findings, struct busiest_line *ret_line,
                                  struct error *err) MUST_CHECK;
// Fills file and line of the finding, and its context, the line's function, where it has none.
void finding_at_sampled_line(struct findings *findings, struct finding *finding, const struct busiest_line *line);
// Puts the finding at the line of the program's own code with most of the observations' time; where operators have no call paths, as
// those of graphs, at that of the samples.
enum status finding_at_busiest(struct findings *findings, struct finding *finding, struct error *err) MUST_CHECK;
// The same, among lines that call the model: a wrong call is mended there, not in the model.
enum status finding_at_call(struct findings *findings, struct finding *finding, struct error *err) MUST_CHECK;
// On a busy machine all that the program does waits for processors, also what passes between operators. Samples do not show these
// waits: where they have waits of other kinds, the bound is raised by as much as the loop is longer than its samples, to at most a
// part of the line's share of them. Its basis says so.
enum status finding_saves_line(struct findings *findings, struct finding *finding, double part,
                               struct error *err) MUST_CHECK;

#endif
