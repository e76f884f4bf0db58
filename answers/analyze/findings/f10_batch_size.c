// SPDX-License-Identifier: Apache-2.0
// F10, batch size: the one that answers is below the optimal one (A1), or the largest was measured and is not yet optimal.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

static struct finding *add(struct findings *findings, const struct batch_point *point, double saving_ms)
{
  struct finding *finding = findings_add(findings);
  finding->context = arena_format(findings->question->arena, "batch size %lld", (long long)point->batch_size);
  finding->time_ms = point->latency.value;
  finding->share_pct = 100;
  finding->saving_ms = saving_ms;
  finding_number(finding, "batch_size", (double)point->batch_size);
  finding_number(finding, "throughput_per_s", point->throughput_per_s);
  return finding;
}

// What the same inputs take in larger batches. `best`: the optimal one, or of those measured the one with most throughput.
static void judge_against(struct findings *findings, const struct batch_point *point, const struct batch_point *best,
                          bool is_optimal)
{
  double same_ms = best->latency.value * (double)point->batch_size / (double)best->batch_size;
  double saving_ms = point->latency.value - same_ms;
  if (!(analyze_share_pct(saving_ms, point->latency.value) > findings_threshold(findings, "batch_size-gain")))
    return;
  struct finding *finding = add(findings, point, saving_ms);
  finding->title =
      arena_format(findings->question->arena, "batch size %lld has %.3g inputs per second, the %s %lld has %.3g",
                   (long long)point->batch_size, point->throughput_per_s, is_optimal ? "optimal" : "best measured",
                   (long long)best->batch_size, best->throughput_per_s);
  finding->saving_basis = is_optimal ? "its latency, less that of as many inputs in batches of the optimal size"
                                     : "its latency, less that of as many inputs in batches of the best size that was "
                                       "measured; larger ones may save more";
  finding->advice = arena_format(findings->question->arena, "batches of %lld, where latency and memory allow it",
                                 (long long)best->batch_size);
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, is_optimal ? "optimal_batch" : "best_batch", (double)best->batch_size);
}

// The largest, whose half is known: latency = fixed + batch size * marginal.
static void judge_largest(struct findings *findings, const struct batch_point *point, const struct batch_point *half)
{
  double fixed_ms = 2 * half->latency.value - point->latency.value;
  double gain_pct = 100 * (point->throughput_per_s / half->throughput_per_s - 1);
  if (!(gain_pct > findings_threshold(findings, "batch_size-gain")) || !(fixed_ms > 0))
    return;
  struct finding *finding = add(findings, point, fixed_ms);
  finding->title = arena_format(findings->question->arena,
                                "doubling to batch size %lld still raised throughput by %.3g %%: larger "
                                "ones were not measured",
                                (long long)point->batch_size, gain_pct);
  finding->saving_basis =
      "the part of the latency that does not grow with the batch size, from this one and its half, as if "
      "spread over very many inputs";
  finding->advice = "measure larger batches (--batch), and use the optimal one (A1)";
  finding->confidence = CONFIDENCE_MEDIUM;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct batches batches;
  XSP_TRY(question_batches(findings->question, &batches, err));
  const struct batch_point *point = batches_find(&batches, findings->set->batch_size);
  if (batches.count < 2 || point == NULL || point->batch_size == 0)
    return findings_lack(findings, err, "it has no runs of several batch sizes");
  const struct batch_point *half = point->batch_size % 2 == 0 ? batches_find(&batches, point->batch_size / 2) : NULL;
  bool is_optimal = batches.optimal != SIZE_MAX;
  size_t best = is_optimal ? batches.optimal : batches.maximum;
  if (best != SIZE_MAX && batches.points[best].batch_size > point->batch_size)
    judge_against(findings, point, &batches.points[best], is_optimal);
  else if (!is_optimal && half != NULL && point == &batches.points[batches.count - 1])
    judge_largest(findings, point, half);
  return STATUS_OK;
}

const struct finding_rule finding_f10 = {
    .id = "F10",
    .key = "batch_size",
    .title = "batch size below the optimum",
    .thresholds = {{"batch_size-gain", "%", 5, "what the larger batch saves, of the latency"}},
    .find = find,
};
