// SPDX-License-Identifier: Apache-2.0
// How much of a traced program its observations cover, and what the rest is.
#ifndef XSP_ANALYZE_RUNS_A1_COVERAGE_H
#define XSP_ANALYZE_RUNS_A1_COVERAGE_H

#include "analyze/view.h"

enum coverage_part { // of the time outside observations, each without those before it
  COVERAGE_START,    // until anything was recorded: the program's start and imports
  COVERAGE_END,      // after all that was recorded
  COVERAGE_COMPILE,
  COVERAGE_INPUT,
  COVERAGE_LOAD,
  COVERAGE_PREDICTIONS, // model spans that are no observations
  COVERAGE_OPERATORS,
  COVERAGE_RANGES, // other spans of the program
  COVERAGE_UNKNOWN,
  COVERAGE_PARTS
};
struct coverage {
  double program_ms;                 // all executions of the set's runs; 0: no span of a program
  double covered_ms;                 // within observations
  double outside_ms[COVERAGE_PARTS]; // they and covered_ms add up to program_ms
};
enum status analyze_coverage(struct question *question, const struct view_set *set, struct coverage *ret_coverage,
                             struct error *err) MUST_CHECK;
// covered_pct and outside, of A1's summary.
enum status analyze_coverage_summarize(struct question *question, const struct view_set *set,
                                       struct error *err) MUST_CHECK;

#endif
