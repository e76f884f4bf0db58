// SPDX-License-Identifier: Apache-2.0
// F56, unequal batches: in each step another rank has more to compute, by its tokens or samples, and the others wait for it. One rank that
// mostly has more is F31's.
#include "analyze/findings/ranks.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#define MEETINGS_LEAST 10
#define MORE 1.1          // of the mean of the others
#define ONE_RANKS_PCT 70. // of the explained meetings: one rank that has more so often is F31's

static int64_t tokens_of(const struct rank_step *step)
{
  return step->tokens;
}
static int64_t samples_of(const struct rank_step *step)
{
  return step->samples;
}

struct unequal {
  const char *unit;
  size_t compared, explained; // meetings in which all have a size; those whose slowest rank has more
  size_t *times_slowest;      // of these, by rank
  double more, others;        // mean sizes in these: of the slowest rank, and of each other
  double stalled_ns;          // mean of all ranks, in a compared meeting
};

static void add_meeting(const struct rank_meetings *of, size_t first, size_t end, size_t slowest,
                        int64_t (*size)(const struct rank_step *step), struct unequal *unequal)
{
  double others = 0, stalled_ns = 0, count = (double)(end - first - 1), more = (double)size(of->steps[slowest]);
  for (size_t i = first; i < end; i++) {
    if (size(of->steps[i]) <= 0)
      return;
    others += i != slowest ? (double)size(of->steps[i]) / count : 0;
    stalled_ns += i != slowest ? (double)of->steps[i]->stalled_ns / (count + 1) : 0;
  }
  unequal->compared++;
  if (more <= MORE * others)
    return;
  unequal->explained++;
  unequal->times_slowest[of->steps[slowest]->rank]++;
  unequal->more += more;
  unequal->others += others;
  unequal->stalled_ns += stalled_ns;
}

static struct unequal compare(const struct ranks *ranks, const char *unit,
                              int64_t (*size)(const struct rank_step *step))
{
  size_t *times_slowest = arena_alloc_array(ranks->question->scratch, ranks->items.count + 1, sizeof *times_slowest);
  struct unequal unequal = {.unit = unit, .times_slowest = times_slowest};
  struct rank_meetings of;
  ranks_meet(ranks, &of);
  for (size_t first = 0, end, slowest; first < of.count; first = end) {
    end = ranks_next_meeting(&of, first, &slowest);
    if (slowest != SIZE_MAX)
      add_meeting(&of, first, end, slowest, size, &unequal);
  }
  unequal.more /= (double)unequal.explained;
  unequal.others /= (double)unequal.explained;
  unequal.stalled_ns /= (double)unequal.compared;
  return unequal;
}

static uint32_t most_often(const struct ranks *ranks, const struct unequal *unequal)
{
  uint32_t most = 0;
  for (uint32_t i = 1; i < ranks->items.count; i++)
    if (unequal->times_slowest[i] > unequal->times_slowest[most])
      most = i;
  return most;
}

static void add(struct findings *findings, const struct ranks *ranks, const struct unequal *unequal,
                const struct straggler_places *places)
{
  struct arena *arena = findings->question->arena;
  struct finding *finding = findings_add(findings);
  double steps_pct = analyze_share_pct((double)unequal->explained, (double)unequal->compared);
  const char *where = places->wait_line > 0 ? arena_format(arena, " (%s:%lld)", findings_base_name(places->wait_file),
                                                           (long long)places->wait_line)
                                            : "";
  finding->title = arena_format(
      arena,
      "the slowest of %zu ranks, in turns another one, has %.4g %s in %.3g %% of steps, the others %.4g; "
      "these wait for it in %s%s",
      ranks->items.count, unequal->more, unequal->unit, steps_pct, unequal->others, places->wait_name, where);
  finding->context = "batches of ranks";
  finding->file = findings_keep(findings, places->wait_file);
  finding->line = places->wait_line;
  finding->saving_ms = unequal->stalled_ns / 1e6;
  finding->time_ms = finding->saving_ms;
  finding->share_pct = analyze_share_pct(finding->saving_ms, findings->latency_ms);
  finding->saving_basis =
      "mean waiting of all ranks for the one with more, without what they compute meanwhile, in a step";
  finding->advice =
      "give all ranks of a step as much: sort sequences by length, and share neighbours among the ranks; or "
      "make batches of equally many tokens, not sequences";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "steps_pct", steps_pct);
  finding_number(finding, "more", unequal->more);
  finding_number(finding, "others", unequal->others);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct ranks *ranks;
  struct straggler_places places;
  XSP_TRY(findings_ranks(findings, &ranks, err));
  if (ranks == NULL)
    return STATUS_OK;
  struct unequal unequal = compare(ranks, "tokens", tokens_of);
  if (unequal.compared == 0)
    unequal = compare(ranks, "samples", samples_of);
  double least = findings_threshold(findings, "unequal_batches-steps") / 100 * (double)unequal.compared;
  uint32_t most = most_often(ranks, &unequal);
  if (unequal.compared < MEETINGS_LEAST || (double)unequal.explained < least ||
      (double)unequal.times_slowest[most] >= ONE_RANKS_PCT / 100 * (double)unequal.explained)
    return STATUS_OK;
  XSP_TRY(findings_straggler_places(findings, ranks, most, &places, err));
  add(findings, ranks, &unequal, &places);
  return STATUS_OK;
}

const struct finding_rule finding_f56 = {
    .id = "F56",
    .key = "unequal_batches",
    .title = "batches of other sizes on other ranks",
    .thresholds = {{"unequal_batches-steps", "%", 70,
                    "steps whose slowest rank has a tenth more tokens or samples than the others, of all, at least"}},
    .find = find,
};
