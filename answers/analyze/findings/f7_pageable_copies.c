// SPDX-License-Identifier: Apache-2.0
// F7, pageable copies: copies between host and device whose host memory is pageable, by the names that profilers give them.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

static void add(struct findings *findings, const struct tally *copies)
{
  struct finding *finding = findings_add(findings);
  tally_fill(findings, copies, finding);
  finding->title =
      arena_format(findings->question->arena, "copies of pageable memory take %s of the device %s, %.3g %% of the time",
                   findings_time(findings, finding->time_ms), findings_per_observation(findings), finding->share_pct);
  finding->saving_ms = finding->time_ms;
  finding->saving_basis = "time of these copies on the device, as if copies of pinned memory ran next to other work";
  finding->advice = "copy from pinned memory: pin_memory=True and .to(device, non_blocking=True), or cudaHostAlloc";
  finding->confidence = CONFIDENCE_HIGH;
}

static enum status find(struct findings *findings, struct error *err)
{
  static const char *const pageable[] = {"Memcpy *Pageable*"};
  const struct places *places;
  struct tally copies = {0};
  XSP_TRY(findings_places(findings, &places, err));
  if (!places->has_devices)
    return findings_lack(findings, err, "nothing was executed on a device");
  for (uint32_t i = 0; i < places->count; i++)
    if (places->all[i].own.device_ns > 0 && findings_name_matches(places->all[i].name, pageable, 1))
      tally_add(findings, &copies, i, places->all[i].own.device_ns);
  if (analyze_share_pct(findings_per_observation_ms(findings, copies.total_ns), findings->latency_ms) >
      findings_threshold(findings, "pageable_copies-share"))
    add(findings, &copies);
  return STATUS_OK;
}

const struct finding_rule finding_f7 = {
    .id = "F7",
    .key = "pageable_copies",
    .title = "copies of pageable memory",
    .thresholds = {{"pageable_copies-share", "%", 5, "device time of these copies, of the observation"}},
    .find = find,
};
