// SPDX-License-Identifier: Apache-2.0
// F38, search for unused parameters: DistributedDataParallel walks the graph of each forward pass for parameters without gradients.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <string.h>

#define SEARCH "torch.distributed.ddp.reducer::search_unused_parameters"

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct tally tally = {0};
  XSP_TRY(findings_places(findings, &places, err));
  for (uint32_t i = 0; i < places->count; i++)
    if (places->all[i].own.operators.ns > 0 && strcmp(places->all[i].name, SEARCH) == 0)
      tally_add(findings, &tally, i, places->all[i].own.operators.ns);
  double ms = findings_per_observation_ms(findings, tally.total_ns);
  if (tally.ns == NULL ||
      !(analyze_share_pct(ms, findings->latency_ms) >= findings_threshold(findings, "unused_parameters-share")))
    return STATUS_OK;
  struct finding *finding = findings_add(findings);
  tally_fill(findings, &tally, finding);
  finding->title = arena_format(findings->question->arena,
                                "DistributedDataParallel searches for unused parameters in each step, which takes %s",
                                findings_time(findings, ms));
  finding->saving_ms = finding->time_ms;
  finding->saving_basis = "its own time, without the further all-reduce that it needs";
  finding->advice = "find_unused_parameters=False where each step uses all parameters; static_graph=True where all "
                    "steps use the same";
  finding->confidence = CONFIDENCE_HIGH;
  return STATUS_OK;
}

const struct finding_rule finding_f38 = {
    .id = "F38",
    .key = "unused_parameters",
    .title = "searches for unused parameters",
    .thresholds = {{"unused_parameters-share", "%", 1, "time of the search, of the observation, at least"}},
    .find = find,
};
