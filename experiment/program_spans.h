// SPDX-License-Identifier: Apache-2.0
// Questions about the spans of one execution, and tags for them.
#ifndef XSP_EXPERIMENT_PROGRAM_SPANS_H
#define XSP_EXPERIMENT_PROGRAM_SPANS_H

#include "store/store.h"

struct run_spans {
  uint32_t level_mask; // levels that have spans, that of the program itself not counted
  bool has_steps;      // --model-range matched
};
enum status run_spans_look(struct store *store, int64_t run_id, int64_t program_id, struct run_spans *ret_spans,
                           struct error *err) MUST_CHECK;
// Tags whatever an observation of the run can be, so that all of them are warm-up: in the file, in no statistic.
enum status run_spans_mark_warmup(struct store *store, int64_t run_id, int64_t program_id,
                                  struct error *err) MUST_CHECK;

#endif
