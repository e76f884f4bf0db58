// SPDX-License-Identifier: Apache-2.0
// The slowest rank: steps of all ranks with the same number are compared by their time alone, which is the step without communication.
#include "analyze/ranks/ranks.h"

#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double rank_figure(const struct ranks *ranks, uint32_t rank, int64_t (*of)(const struct rank_step *step), double unit)
{
  const struct rank *its = &ranks->items.items[rank];
  double *values SCOPED(scoped_free) = memory_new(its->steps + 1, sizeof *values), sum = 0;
  size_t count = 0;
  for (size_t i = its->first_step; i < its->end_step; i++) {
    const struct rank_step *step = ranks->by_rank[i];
    if (!step->is_kept)
      continue;
    values[count] = (double)of(step) / unit;
    sum += values[count++];
  }
  double figure = count == 0                              ? (double)NAN
                  : question_is_by_value(ranks->question) ? question_statistic(ranks->question, values, count)
                                                          : sum / (double)count;
  return figure;
}

// Steps of all ranks that belong together are neighbours.
SORTED_BY(compare_meetings, struct rank_step *const,
          ORDER((*a)->job, (*b)->job) ?: ORDER((*a)->number, (*b)->number) ?: ORDER((*a)->rank, (*b)->rank))

void ranks_meet(const struct ranks *ranks, struct rank_meetings *ret_meetings)
{
  struct arena *arena = ranks->question->scratch;
  *ret_meetings =
      (struct rank_meetings){.steps = arena_alloc_array(arena, ranks->steps.count + 1, sizeof *ret_meetings->steps)};
  for (size_t i = 0; i < ranks->steps.count; i++)
    ret_meetings->steps[ret_meetings->count++] = &ranks->steps.items[i];
  qsort(ret_meetings->steps, ret_meetings->count, sizeof *ret_meetings->steps, compare_meetings);
}

size_t ranks_next_meeting(const struct rank_meetings *of, size_t first, size_t *ret_slowest)
{
  size_t end = first, slowest = first;
  bool counts = true;
  for (; end < of->count && of->steps[end]->job == of->steps[first]->job &&
         of->steps[end]->number == of->steps[first]->number;
       end++) {
    counts = counts && !of->steps[end]->is_warmup;
    if (rank_step_alone_ns(of->steps[end]) > rank_step_alone_ns(of->steps[slowest]))
      slowest = end;
  }
  *ret_slowest = counts && end - first > 1 ? slowest : SIZE_MAX;
  return end;
}

// By rank; returns how many meetings are compared.
static size_t count_slowest(const struct rank_meetings *of, size_t *times_slowest)
{
  size_t compared = 0;
  for (size_t first = 0, slowest; first < of->count;) {
    first = ranks_next_meeting(of, first, &slowest);
    if (slowest == SIZE_MAX)
      continue;
    times_slowest[of->steps[slowest]->rank]++;
    compared++;
  }
  return compared;
}

// In each meeting: time of the rank alone less the mean of the others', and how long the others stood still.
static size_t compare_with_others(const struct rank_meetings *of, uint32_t rank, double *differences,
                                  double *stalled_ms)
{
  size_t count = 0;
  for (size_t first = 0, end, slowest; first < of->count; first = end) {
    double alone_ns = NAN, others_ns = 0, others_stalled_ns = 0;
    end = ranks_next_meeting(of, first, &slowest);
    for (size_t i = first; i < end && slowest != SIZE_MAX; i++) {
      if (of->steps[i]->rank == rank)
        alone_ns = (double)rank_step_alone_ns(of->steps[i]);
      else {
        others_ns += (double)rank_step_alone_ns(of->steps[i]);
        others_stalled_ns += (double)of->steps[i]->stalled_ns;
      }
    }
    double others = (double)(end - first - 1);
    if (isnan(alone_ns))
      continue;
    differences[count] = (alone_ns - others_ns / others) / 1e6;
    stalled_ms[count++] = others_stalled_ns / others / 1e6;
  }
  return count;
}

static void judge(const struct ranks *ranks, double threshold_pct, struct slowest *slowest)
{
  double least_ms = rank_figure_ms(ranks, slowest->rank, rank_step_ns) * threshold_pct / 100;
  slowest->verdict = slowest->low_ms > 0 && slowest->difference_ms >= least_ms ? "slower"
                     : slowest->high_ms < least_ms                             ? "none found"
                                                                               : "not decided";
}

void ranks_slowest(const struct ranks *ranks, double threshold_pct, struct slowest *ret_slowest)
{
  struct arena *arena = ranks->question->scratch;
  struct rank_meetings of;
  ranks_meet(ranks, &of);
  size_t *times_slowest = arena_alloc_array(arena, ranks->items.count + 1, sizeof *times_slowest);
  size_t compared = count_slowest(&of, times_slowest);
  *ret_slowest = (struct slowest){.rank = RANK_NONE, .verdict = "not decided"};
  double longest_ms = 0, sum_ms = 0;
  size_t active = 0;
  for (uint32_t i = 0; i < ranks->items.count; i++) {
    double alone_ms = rank_figure_ms(ranks, i, rank_step_alone_ns);
    if (isnan(alone_ms))
      continue;
    active++;
    sum_ms += alone_ms;
    longest_ms = fmax(longest_ms, alone_ms);
    if (ret_slowest->rank == RANK_NONE || times_slowest[i] > times_slowest[ret_slowest->rank])
      ret_slowest->rank = i;
  }
  if (ret_slowest->rank == RANK_NONE)
    return;
  const struct rank *its = &ranks->items.items[ret_slowest->rank]; // in a meeting at most once
  double *differences = arena_alloc_array(arena, its->end_step - its->first_step + 1, sizeof *differences);
  double *stalled_ms = arena_alloc_array(arena, its->end_step - its->first_step + 1, sizeof *stalled_ms);
  size_t count = compare_with_others(&of, ret_slowest->rank, differences, stalled_ms);
  ret_slowest->waiting_ms = count > 0 ? estimate_trimmed(stalled_ms, count).mean : NAN;
  struct estimate estimate = estimate_trimmed(differences, count);
  double reach_ms = estimate_reach(estimate, 0.95);
  ret_slowest->steps_pct = analyze_share_pct((double)times_slowest[ret_slowest->rank], (double)compared);
  ret_slowest->difference_ms = count > 0 ? estimate.mean : NAN;
  ret_slowest->low_ms = estimate.mean - reach_ms;
  ret_slowest->high_ms = estimate.mean + reach_ms;
  ret_slowest->balance_pct = analyze_share_pct(sum_ms / (double)active, longest_ms);
  ret_slowest->alone_ms = rank_figure_ms(ranks, ret_slowest->rank, rank_step_alone_ns);
  judge(ranks, threshold_pct, ret_slowest);
}
