// SPDX-License-Identifier: Apache-2.0
// F37, late reduction: gradients are reduced after the backward pass, so that nothing of it hides the communication.
#include "analyze/findings/exchanges.h"
#include "analyze/findings/rules.h"

#include <math.h>

static void add(struct findings *findings, const struct exchanges *of)
{
  struct finding *finding = findings_add(findings);
  finding_at_exchange(findings, finding, of);
  finding->title =
      arena_format(findings->question->arena,
                   "%.3g of %.3g collectives of a step begin after its backward pass, and nothing hides their %s",
                   of->after_passes, of->collectives, findings_time(findings, of->transfer_ms));
  finding->saving_ms = fmin(of->transfer_ms, of->compute_ms);
  finding->saving_basis = "communication without compute and without waiting for others, at most the time of compute";
  finding->advice =
      "reduce gradients as soon as they are there: DistributedDataParallel or FSDP instead of a loop over parameters, "
      "or hooks of parameters with async_op=True";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "after_passes", of->after_passes);
}

static enum status find(struct findings *findings, struct error *err)
{
  struct exchanges of;
  bool has;
  XSP_TRY(findings_exchanges(findings, &of, &has, err));
  bool has_one_pass = has && of.passes > 0 && of.passes <= 1; // of micro-batches only the last one could hide them
  if (has_one_pass &&
      analyze_share_pct(of.after_passes, of.collectives) >= findings_threshold(findings, "late_reduction-share"))
    add(findings, &of);
  return STATUS_OK;
}

const struct finding_rule finding_f37 = {
    .id = "F37",
    .key = "late_reduction",
    .title = "gradients reduced after the backward pass",
    .thresholds = {{"late_reduction-share", "%", 80,
                    "collectives that begin after the step's last backward pass, of all, at least"}},
    .is_general = true,
    .find = find,
};
