// SPDX-License-Identifier: Apache-2.0
// F35, gradients reduced in each micro-batch: a step has several backward passes, and all gradients are exchanged in or after each.
#include "analyze/findings/exchanges.h"
#include "analyze/findings/rules.h"

static void add(struct findings *findings, const struct exchanges *of)
{
  struct finding *finding = findings_add(findings);
  finding_at_exchange(findings, finding, of);
  finding->title = arena_format(findings->question->arena,
                                "gradients are reduced in each of %.3g micro-batches of a step, where once would do; "
                                "%s of communication are not hidden",
                                of->passes, findings_time(findings, of->exposed_ms));
  finding->saving_ms = of->exposed_ms * (1 - 1 / of->passes);
  finding->saving_basis = "communication without compute, of all passes but one";
  finding->advice =
      "net.no_sync() around all backward passes of a step but the last (FSDP2: set_requires_gradient_sync(False); "
      "Accelerate: accumulate()); code of one's own reduces after the last one";
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "passes", of->passes);
  finding_number(finding, "steps_pct", of->repeated_pct);
}

static enum status find(struct findings *findings, struct error *err)
{
  struct exchanges of;
  bool has;
  XSP_TRY(findings_exchanges(findings, &of, &has, err));
  if (has && of.passes > 1 && of.repeated_pct >= findings_threshold(findings, "each_micro_batch-steps"))
    add(findings, &of);
  return STATUS_OK;
}

const struct finding_rule finding_f35 = {
    .id = "F35",
    .key = "each_micro_batch",
    .title = "gradients reduced in each micro-batch",
    .thresholds = {{"each_micro_batch-steps", "%", 70,
                    "steps with several backward passes that exchange equal numbers of bytes, of all, at least"}},
    .find = find,
};
