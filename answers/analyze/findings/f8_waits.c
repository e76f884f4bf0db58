// SPDX-License-Identifier: Apache-2.0
// F8, synchronisation: the host waits for the device before it launches more, so the device has nothing to do meanwhile.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>

static void add(struct findings *findings, const struct device_gaps *gaps, const struct devices_idle *idle)
{
  struct finding *finding = findings_add(findings);
  double waiting_ms = findings_per_observation_ms(findings, gaps->waiting_ns);
  tally_fill(findings, &gaps->waited, finding);
  finding->title =
      arena_format(findings->question->arena, "devices have no work for %s %s after the host waited for them",
                   findings_time(findings, finding->time_ms), findings_per_observation(findings));
  bool are_several = idle->device_count > 1; // another one may have been without work during the calls
  finding->saving_ms = fmin(are_several ? idle->idle_ms : finding->time_ms, waiting_ms);
  finding->saving_basis =
      are_several ? "the host's time in these calls, at most the time in which the busiest device does not work"
                  : "the host's time in these calls or the device's without work after them, whichever is less: "
                    "without the calls one would pass during the other";
  finding->advice = "wait later or less often: no .item(), .cpu() or print of a tensor in each step; launch the next "
                    "work first";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "waiting_ms", waiting_ms);
  finding_number(finding, "executed_ms", findings_per_observation_ms(findings, gaps->executed_ns));
}

static enum status find(struct findings *findings, struct error *err)
{
  struct device_gaps gaps;
  struct devices_idle idle;
  XSP_TRY(device_gaps_load(findings, &gaps, err));
  XSP_TRY(devices_idle_load(findings, &idle, err));
  double least_ns = fmin(gaps.waited.total_ns, gaps.waiting_ns);
  if (analyze_share_pct(findings_per_observation_ms(findings, least_ns), findings->latency_ms) >
      findings_threshold(findings, "waits-share"))
    add(findings, &gaps, &idle);
  return STATUS_OK;
}

const struct finding_rule finding_f8 = {
    .id = "F8",
    .key = "waits",
    .title = "synchronisation that leaves the device without work",
    .thresholds = {{"waits-share", "%", 5, "what could be gained, of the observation"}},
    .find = find,
};
