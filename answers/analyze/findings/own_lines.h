// SPDX-License-Identifier: Apache-2.0
// Time of samples by function and line of the program's own Python code, for rules: which has most of the time of one kind.
#ifndef XSP_ANALYZE_FINDINGS_OWN_LINES_H
#define XSP_ANALYZE_FINDINGS_OWN_LINES_H

#include "analyze/findings/findings.h"
#include "base/interner.h"

struct own_line { // of one kind of time, with what the line calls
  double ns;
  unsigned kind, depth; // depth: lines of the program around it, with itself
  uint32_t context;     // of the line
  size_t function;      // of own_lines.functions
};
struct own_function { // of one kind of time: all its lines
  double ns;
  size_t last_sample; // that was added: a function that calls itself has it once
};
struct own_lines {
  const struct store_call_paths *paths;
  struct map at; // by line's frame and kind
  VECTOR(struct own_line) items;
  struct interner names;  // of functions, with their files
  struct map function_at; // by name and kind
  VECTOR(struct own_function) functions;
  size_t samples;
};

const struct store_frame *own_lines_frame(const struct own_lines *lines, uint32_t context_id);
bool own_lines_is_own(const struct store_frame *frame); // Python code of no installed package
// Counts for the own line at `context_id` and for each of the program's lines around it.
void own_lines_add(struct own_lines *lines, uint32_t context_id, unsigned kind, double ns);
// The innermost function that has most of the kind's `total_ns`, at its line with most, where none has, the line with most; or, of
// what that line calls, the innermost line that has most of its time. NULL: there is none.
const struct own_line *own_lines_main(const struct own_lines *lines, unsigned kind, double total_ns);
// A comprehension is code of the function around it: "produce.<locals>.<listcomp>" -> "produce". NULL, "<module>" -> "the program".
const char *own_lines_function(struct findings *findings, const char *name);
// What the line at `line_id` calls for most of its time, if that is more than `least_ns`; NULL: nothing. `context_ns`: its time by the
// contexts of samples.
const char *own_lines_callee(struct findings *findings, const struct store_call_paths *paths, const double *context_ns,
                             uint32_t line_id, double least_ns);
void own_lines_done(struct own_lines *lines);
// Fills context, context_id, file and line of the finding.
void finding_at_own_line(struct findings *findings, struct finding *finding, const struct own_lines *lines,
                         const struct own_line *line);

#endif
