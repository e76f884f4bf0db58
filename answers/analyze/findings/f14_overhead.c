// SPDX-License-Identifier: Apache-2.0
// F14, overhead of recording: the observations that the other findings are about take far longer than at fewer levels.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/runs/samples.h"

static void add(struct findings *findings, const struct view_set *before, double overhead_ms, struct interval interval,
                double before_ms)
{
  struct finding *finding = findings_add(findings);
  finding->context = arena_format(findings->question->arena, "levels %s", findings->set->levels_text);
  finding->time_ms = overhead_ms;
  finding->share_pct = analyze_share_pct(overhead_ms, findings->latency_ms);
  finding->title =
      arena_format(findings->question->arena, "recording %s makes observations %.3g %% slower than recording %s",
                   findings->set->levels_text, analyze_share_pct(overhead_ms, before_ms), before->levels_text);
  finding->advice = "trust shares less than latencies of fewer levels (L0); record less: fewer levels, --aggregate";
  finding->confidence = interval.from == INTERVAL_OBSERVATIONS ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
  finding_number(finding, "overhead_ms", overhead_ms);
  finding_number(finding, "overhead_low_ms", interval.low);
  finding_number(finding, "overhead_high_ms", interval.high);
}

static enum status find(struct findings *findings, struct error *err)
{
  struct question *question = findings->question;
  const char *from;
  const struct view_set *before = view_rule(question->view, findings->set->batch_size, XSP_LEVEL_MODEL, &from);
  if (before == NULL || from != NULL || before == findings->set)
    return findings_lack(findings, err, "it has no runs at the model level alone (xsp run --leveled)");
  struct sample deep = analyze_sample_of_set(question, findings->set, 1),
                shallow = analyze_sample_of_set(question, before, 1);
  struct interval interval = interval_of_difference(&deep, &shallow);
  if (analyze_share_pct(interval.low, shallow.latency) > findings_threshold(findings, "overhead-share"))
    add(findings, before, deep.latency - shallow.latency, interval, shallow.latency);
  return STATUS_OK;
}

const struct finding_rule finding_f14 = {
    .id = "F14",
    .key = "overhead",
    .title = "recording that makes figures unsafe",
    .thresholds = {{"overhead-share", "%", 20,
                    "lower end of the interval of what recording adds, of the latency at the model level"}},
    .find = find,
};
