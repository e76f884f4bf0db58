// SPDX-License-Identifier: Apache-2.0
// F15, idle gaps: the device has nothing to do, since the host launches the next work too late, without having waited.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>

static void add(struct findings *findings, const struct device_gaps *gaps, const struct devices_idle *idle)
{
  struct finding *finding = findings_add(findings);
  tally_fill(findings, &gaps->late, finding);
  finding->title =
      arena_format(findings->question->arena, "devices have no work for %s %s: the next launch comes too late",
                   findings_time(findings, finding->time_ms), findings_per_observation(findings));
  double gaps_ms = findings_per_observation_ms(findings, gaps->late.total_ns + gaps->waited.total_ns);
  finding->saving_ms = fmax(idle->idle_ms, gaps_ms); // some gaps end after the observation
  finding->saving_basis = arena_format(findings->question->arena,
                                       "all time in which the %sdevice does not work, also after waits, as if launches "
                                       "came early enough",
                                       idle->device_count > 1 ? "busiest " : "");
  finding->advice = "launch earlier: prepare data before or in another thread, fewer and larger kernels, CUDA graphs";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "executed_ms", findings_per_observation_ms(findings, gaps->executed_ns));
}

static enum status find(struct findings *findings, struct error *err)
{
  struct device_gaps gaps;
  struct devices_idle idle;
  XSP_TRY(device_gaps_load(findings, &gaps, err));
  XSP_TRY(devices_idle_load(findings, &idle, err));
  if (analyze_share_pct(findings_per_observation_ms(findings, gaps.late.total_ns), findings->latency_ms) >
      findings_threshold(findings, "idle_gaps-share"))
    add(findings, &gaps, &idle);
  return STATUS_OK;
}

const struct finding_rule finding_f15 = {
    .id = "F15",
    .key = "idle_gaps",
    .title = "devices idle until the next launch",
    .thresholds = {{"idle_gaps-share", "%", 10, "time without work on any device, of the observation"}},
    .find = find,
};
