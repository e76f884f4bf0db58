// SPDX-License-Identifier: Apache-2.0
// The level sets at which a program is run if the user named none: those that add something to it. Pure.
#ifndef XSP_EXPERIMENT_PLAN_H
#define XSP_EXPERIMENT_PLAN_H

#include "base/buf.h"
#include "format/level.h"

#define RUN_PLAN_SETS_MAXIMUM 5

struct run_plan {
  struct level_set sets[RUN_PLAN_SETS_MAXIMUM];
  size_t set_count;
  uint32_t absent_mask; // levels that were on in the first execution and published nothing
  bool is_silent;       // nothing was published below the model: the deepest set stays, to show the cost of listening
};
// All levels: what the first execution is recorded with, to find out what there is.
struct level_set run_plan_everything(void);
// `published_mask`: the levels of which a first execution at `recorded` had spans, the program's own span apart.
void run_plan_make(struct level_set recorded, uint32_t published_mask, struct run_plan *ret_plan);
// One sentence about what was left out and why, without a newline; nothing where nothing was.
void run_plan_explain(const struct run_plan *plan, struct buf *out);

#endif
