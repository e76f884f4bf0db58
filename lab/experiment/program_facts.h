// SPDX-License-Identifier: Apache-2.0
// Figures of a finished file of `xsp run`, for the summary.
#ifndef XSP_EXPERIMENT_PROGRAM_FACTS_H
#define XSP_EXPERIMENT_PROGRAM_FACTS_H

#include "analyze/analyze.h"
#include "correlate/correlate.h"

struct run_facts {
  int64_t run_id; // the execution that shows most: most levels, of those that count
  struct level_set levels;
  size_t set_count; // level sets that were counted
  bool has_steps;   // its observations are spans: predictions, steps
  struct import_account account;
  uint64_t dropped, misused; // in all executions
  const char *folded;        // spans that are in the calling context tree only, for a person; NULL: none. In the arena
};
enum status run_facts(struct store *store, struct arena *arena, struct run_facts *ret_facts,
                      struct error *err) MUST_CHECK;

#endif
