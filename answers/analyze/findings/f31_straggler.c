// SPDX-License-Identifier: Apache-2.0
// F31, straggling rank: one process of a job takes longer for its part of each step, and the others wait for it in collectives.
#include "analyze/findings/ranks.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <string.h>

// Tokens, or else samples, in a step of the rank and the mean of the others'; NULL: unknown, or they do not differ by a tenth.
static const char *more_work(const struct ranks *ranks, uint32_t rank, double *ret_own, double *ret_others)
{
  for (int of_tokens = 1; of_tokens >= 0; of_tokens--) {
    double own = 0, others = 0;
    size_t own_count = 0, others_count = 0;
    for (size_t i = 0; i < ranks->steps.count; i++) {
      const struct rank_step *step = &ranks->steps.items[i];
      int64_t work = of_tokens ? step->tokens : step->samples;
      if (work <= 0)
        continue;
      *(step->rank == rank ? &own : &others) += (double)work;
      *(step->rank == rank ? &own_count : &others_count) += 1;
    }
    *ret_own = own / (double)own_count;
    *ret_others = others / (double)others_count;
    if (own_count > 0 && others_count > 0 && *ret_own > 1.1 * *ret_others)
      return of_tokens ? "tokens" : "samples";
  }
  return NULL;
}

static const char *title_of(struct findings *findings, const struct ranks *ranks, const struct slowest *slowest,
                            const struct straggler_places *places)
{
  struct arena *arena = findings->question->arena;
  double own, others;
  const char *waits = places->wait_line > 0
                          ? arena_format(arena, "%s (%s:%lld)", places->wait_name,
                                         findings_base_name(places->wait_file), (long long)places->wait_line)
                          : places->wait_name;
  const char *title = arena_format(
      arena, "rank %lld is the slowest of %zu ranks in %.3g %% of steps, by %s; the others wait for it in %s",
      (long long)ranks->items.items[slowest->rank].rank, ranks->items.count, slowest->steps_pct,
      findings_time(findings, slowest->difference_ms), waits);
  const char *work = more_work(ranks, slowest->rank, &own, &others);
  if (work != NULL)
    title = arena_format(arena, "%s; its steps have %.4g %s, theirs %.4g", title, own, work, others);
  return title;
}

static void add(struct findings *findings, const struct ranks *ranks, const struct slowest *slowest,
                const struct straggler_places *places)
{
  struct finding *finding = findings_add(findings);
  double own, others;
  finding->title = title_of(findings, ranks, slowest, places);
  finding->context =
      arena_format(findings->question->arena, "rank %lld", (long long)ranks->items.items[slowest->rank].rank);
  finding->file = findings_keep(findings, places->slow_line > 0 ? places->slow_file : places->wait_file);
  finding->line = places->slow_line > 0 ? places->slow_line : places->wait_line;
  finding->time_ms = slowest->alone_ms;
  finding->share_pct = analyze_share_pct(slowest->waiting_ms, findings->latency_ms);
  finding->saving_ms = slowest->waiting_ms;
  finding->saving_basis = "waiting of the other ranks, without what they compute meanwhile, in a step";
  finding->advice =
      more_work(ranks, slowest->rank, &own, &others) != NULL
          ? "give each rank as much work: shards of equal size (DistributedSampler), batches of equal length"
          : "look at what this rank does more at this line: its share of the data, logging or saving on one rank "
            "only, other programs on its machine";
  finding->confidence = slowest->low_ms > slowest->difference_ms / 2 ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
  finding_number(finding, "rank", (double)ranks->items.items[slowest->rank].rank);
  finding_number(finding, "steps_pct", slowest->steps_pct);
  finding_number(finding, "difference_ms", slowest->difference_ms);
  finding_number(finding, "difference_low_ms", slowest->low_ms);
  finding_number(finding, "difference_high_ms", slowest->high_ms);
  finding_number(finding, "line_excess_ms", places->slow_ms);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct ranks *ranks;
  struct slowest slowest;
  struct straggler_places places;
  XSP_TRY(findings_ranks(findings, &ranks, err));
  if (ranks == NULL) // nobody waits for others
    return STATUS_OK;
  if (ranks->matched == 0 && ranks->sends == 0)
    return findings_lack(findings, err, "no collective was found on several ranks");
  double least_pct = findings_threshold(findings, "straggler-difference");
  ranks_slowest(ranks, least_pct, &slowest);
  double least_ms = slowest.alone_ms * least_pct / 100;
  if (slowest.rank == RANK_NONE || !(slowest.low_ms >= least_ms) ||
      !(slowest.steps_pct >= findings_threshold(findings, "straggler-steps")))
    return STATUS_OK;
  XSP_TRY(findings_straggler_places(findings, ranks, slowest.rank, &places, err));
  // Where samples show less than half of it, it mostly waits for a processor, which they do not show.
  double difference_pct = analyze_share_pct(slowest.difference_ms, slowest.alone_ms);
  if (places.sampled_pct < fmax(least_pct, difference_pct / 2))
    return STATUS_OK;
  add(findings, ranks, &slowest, &places);
  return STATUS_OK;
}

const struct finding_rule finding_f31 = {
    .id = "F31",
    .key = "straggler",
    .title = "a rank that the others wait for",
    .thresholds = {{"straggler-steps", "%", 70, "steps in which the rank is the slowest, of all, at least"},
                   {"straggler-difference", "%", 5,
                    "lower end of the interval of what its time outside of communication is longer, of that time, at "
                    "least"}},
    .find = find,
};
