// SPDX-License-Identifier: Apache-2.0
// The level sets of `xsp run --leveled`. Each set adds one level to a smaller one, so that L0 can show what that level
// costs: M; with ranges of the application, A/M; then layers, library calls, kernels. Called by program_experiment.c.
#include "experiment/plan.h"

#define BIT(level) XSP_LEVEL_MASK(XSP_LEVEL_##level)

struct level_set run_plan_everything(void)
{
  return (struct level_set){.mask = XSP_LEVEL_MASK_ALL};
}

static void add(struct run_plan *plan, uint32_t mask)
{
  for (size_t i = 0; i < plan->set_count; i++)
    if (plan->sets[i].mask == mask)
      return;
  plan->sets[plan->set_count++] = (struct level_set){.mask = mask};
}

// Library calls have a set next to the kernels', not between layers and kernels: M/L and M/L/K must differ in nothing else
// (L0 --by layer). Where there are both, library calls are recorded with the kernels nowhere.
void run_plan_make(struct level_set recorded, uint32_t published_mask, struct run_plan *ret_plan)
{
  struct run_plan *plan = ret_plan;
  *plan = (struct run_plan){.absent_mask = recorded.mask & ~published_mask & ~BIT(MODEL)};
  uint32_t mask = BIT(MODEL);
  add(plan, mask);
  uint32_t present = published_mask & recorded.mask;
  if (present & BIT(APPLICATION))
    add(plan, mask |= BIT(APPLICATION));
  if (present & BIT(LAYER))
    add(plan, mask |= BIT(LAYER));
  if (present & BIT(LIBRARY))
    add(plan, mask | BIT(LIBRARY));
  if (present & BIT(KERNEL))
    add(plan, mask | BIT(KERNEL));
  plan->is_silent = (present & ~BIT(MODEL)) == 0;
  if (plan->is_silent)
    add(plan, BIT(MODEL) | BIT(LAYER) | BIT(KERNEL));
}

void run_plan_explain(const struct run_plan *plan, struct buf *out)
{
  if (plan->absent_mask == 0)
    return;
  const char *comma = "";
  buf_text(out, "nothing was published at level ");
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    if (plan->absent_mask & XSP_LEVEL_MASK(level)) {
      buf_format(out, "%s%s", comma, level_name(level));
      comma = ", ";
    }
  buf_text(out, plan->is_silent ? ": M/L/K stays, to show what listening costs" : ": level sets with it are left out");
}
