// SPDX-License-Identifier: Apache-2.0
// F36, small collectives: a step exchanges its data in many small pieces, each of which takes the time of a message.
#include "analyze/findings/exchanges.h"
#include "analyze/findings/rules.h"

static void add(struct findings *findings, const struct exchanges *of)
{
  struct finding *finding = findings_add(findings);
  finding_at_exchange(findings, finding, of);
  finding->title =
      arena_format(findings->question->arena,
                   "ranks meet in %.3g collectives a step of %.3g kB on average, which take %s without compute",
                   of->collectives, of->bytes / of->collectives / 1e3, findings_time(findings, of->transfer_ms));
  finding->saving_ms = of->transfer_ms * (1 - 1 / of->collectives);
  finding->saving_basis = "communication without compute and without waiting for others, of all collectives but one";
  finding->advice =
      "fewer and larger ones: DistributedDataParallel with its usual bucket_cap_mb, one flat buffer of all gradients, "
      "all_reduce_coalesced";
  finding->threshold = findings_threshold_of(findings, "small_collectives-bytes");
  finding->confidence = CONFIDENCE_MEDIUM;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct exchanges of;
  bool has;
  XSP_TRY(findings_exchanges(findings, &of, &has, err));
  if (has && of.collectives >= findings_threshold(findings, "small_collectives-count") &&
      of.bytes / of.collectives < findings_threshold(findings, "small_collectives-bytes"))
    add(findings, &of);
  return STATUS_OK;
}

const struct finding_rule finding_f36 = {
    .id = "F36",
    .key = "small_collectives",
    .title = "many small collectives",
    .thresholds = {{"small_collectives-count", "", 16, "collectives of a rank in a step, at least"},
                   {"small_collectives-bytes", "B", 65536, "their mean size, less than"}},
    .find = find,
};
