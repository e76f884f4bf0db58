// SPDX-License-Identifier: Apache-2.0
// Which line of a data set takes the time of the loader, in the program or in the loader's processes, by samples. For F6.
#ifndef XSP_ANALYZE_FINDINGS_INPUT_LINES_H
#define XSP_ANALYZE_FINDINGS_INPUT_LINES_H

#include "analyze/findings/own_lines.h"

struct input_lines {
  struct own_lines lines;
  double all_ns, cpu_ns;       // of all samples of own code that a loader calls; of those on a CPU
  double loader_ns, bare_ns;   // of all samples in loaders; of those in no other Python code than PyTorch's
  size_t processes;            // most that run at once, with the program's; 0: no samples
  double resizing_ns;          // of all_ns, in functions that make pictures smaller
  unsigned kind;               // in work_kinds[], that has half of it; WORK_NONE
  const struct own_line *main; // the line with most; NULL: no samples, or no such code
};
enum status input_lines_load(struct findings *findings, struct input_lines *ret_lines, struct error *err) MUST_CHECK;
// Where the program asks for the next batch: what calls PyTorch's loader, or the loader's range; of several the one with most
// time in the observations. In f6_input_pipeline.c.
void finding_at_loader(struct findings *findings, const struct places *places, struct finding *finding);
void input_lines_done(struct input_lines *lines);

#endif
