// SPDX-License-Identifier: Apache-2.0
// What program_experiment.c asks of program_spans.c and program_resolve.c.
#ifndef XSP_EXPERIMENT_PROGRAM_EXPERIMENT_PRIVATE_H
#define XSP_EXPERIMENT_PROGRAM_EXPERIMENT_PRIVATE_H

#include "experiment/program_experiment.h"

// ---- program_spans.c: spans of one execution
struct run_spans {
  uint32_t level_mask; // levels that have spans, that of the program itself not counted
  bool has_steps;      // --model-range matched
};
enum status run_spans_look(struct store *store, int64_t run_id, int64_t program_id, struct run_spans *ret_spans,
                           struct error *err) MUST_CHECK;
// Tags whatever an observation of the run can be, so that all of them are warm-up: in the file, in no statistic.
enum status run_spans_mark_warmup(struct store *store, int64_t run_id, int64_t program_id,
                                  struct error *err) MUST_CHECK;

// ---- program_resolve.c: xsp run --resolve
struct program_parts {
  const struct run_experiment_options *options;
  struct run_experiment_result *result;
  struct store *store; // correlated; again when parents were found
  struct streams *streams;
};
// Counts in the result: ambiguous parents, an execution more, an interruption.
enum status program_resolve(const struct program_parts *parts, struct error *err) MUST_CHECK;

#endif
