// SPDX-License-Identifier: Apache-2.0
// Clocks of ranks on several machines, or of files that count from their own zero: a collective in which all wait for each other ends at
// the same time everywhere. The median over many takes off how much later one of two ranks notices the end. Called by match.c
// and load.c.
#include "analyze/ranks/ranks.h"

#include "base/map.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define COLLECTIVES_LEAST 3

struct difference { // of a rank's end of an instance against that of the job's first rank
  uint32_t job, rank;
  int64_t ns;
};
typedef VECTOR(struct difference) difference_list;

SORTED_BY(compare_differences, struct difference, RISING(job) ?: RISING(rank) ?: RISING(ns))

// Whether times of ranks in runs compare as they are: on one machine, and by its clock.
static bool share_clock(const struct ranks *ranks, uint32_t rank, uint32_t run, uint32_t other_rank, uint32_t other_run)
{
  const char *host = ranks->items.items[rank].host, *other = ranks->items.items[other_rank].host;
  bool is_one_host = (host == NULL && other == NULL) || (host != NULL && other != NULL && strcmp(host, other) == 0);
  return is_one_host &&
         (run == other_run || (ranks->runs[run]->run->epoch_is_unix && ranks->runs[other_run]->run->epoch_is_unix));
}

// In collectives in which all wait for each other; the first rank of a job is before the others.
static void compare_ends(struct ranks *ranks, difference_list *differences)
{
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    const struct collective *one = &ranks->collectives.items[i];
    struct collective_match *match = one->match != RANK_NONE ? &ranks->matches.items[one->match] : NULL;
    if (match == NULL || match->has_root)
      continue;
    if (one->rank == 0 && match->base_run == RANK_NONE) {
      match->base_run = one->run;
      match->base_end_ns = one->end_ns;
    } else if (match->base_run != RANK_NONE && !share_clock(ranks, 0, match->base_run, one->rank, one->run))
      *vector_add(differences) =
          (struct difference){one->job, one->rank, saturate_subtract(one->end_ns, match->base_end_ns)};
  }
}

void ranks_align(struct ranks *ranks)
{
  difference_list differences = {0};
  compare_ends(ranks, &differences);
  vector_sort(&differences, compare_differences);
  for (size_t first = 0, end; first < differences.count; first = end) {
    const struct difference *items = differences.items;
    for (end = first + 1;
         end < differences.count && items[end].job == items[first].job && items[end].rank == items[first].rank;)
      end++;
    size_t count = end - first, cut = count / 40; // 2.5 % at each end
    if (count < COLLECTIVES_LEAST)
      continue;
    *map_at(&ranks->matching.ahead_ns, (struct map_key){items[first].job, items[first].rank}, NULL) =
        (uint64_t)items[first + count / 2].ns;
    int64_t error_ns = saturate_subtract(items[end - 1 - cut].ns, items[first + cut].ns) / 2;
    ranks->clocks.aligned++;
    ranks->clocks.collectives += count;
    ranks->clocks.error_ns = error_ns > ranks->clocks.error_ns ? error_ns : ranks->clocks.error_ns;
  }
  vector_done(&differences);
  ranks_put_ahead(ranks);
}

static int64_t ahead_of(const struct ranks *ranks, uint32_t job, uint32_t rank)
{
  const uint64_t *ns = map_find(&ranks->matching.ahead_ns, (struct map_key){job, rank});
  return ns != NULL ? (int64_t)*ns : 0;
}

void ranks_put_ahead(struct ranks *ranks)
{
  for (size_t i = 0; ranks->clocks.aligned > 0 && i < ranks->collectives.count; i++) {
    struct collective *one = &ranks->collectives.items[i];
    one->ahead_ns = ahead_of(ranks, one->job, one->rank);
  }
}

// Once all runs are read for the last time. Only within the first job of a file. Of a rank whose clock
// is another than that of the first one with steps, and could not be compared, it is not known when it starts and ends.
void ranks_compare_times(struct ranks *ranks)
{
  const struct rank_step *base = NULL;
  size_t count = 0;
  int64_t *starts_ns = arena_alloc_array(ranks->question->scratch, ranks->items.count + 1, sizeof *starts_ns);
  for (size_t i = 0; i < ranks->items.count; i++) {
    struct rank *rank = &ranks->items.items[i];
    int64_t ahead_ns = ahead_of(ranks, 0, (uint32_t)i);
    const struct rank_step *step = rank->first_step < rank->end_step ? ranks->by_rank[rank->first_step] : NULL;
    base = base == NULL ? step : base;
    if (step == NULL ||
        !(share_clock(ranks, base->rank, base->run, step->rank, step->run) || (base->rank == 0 && ahead_ns != 0))) {
      rank->last_ns = INT64_MIN;
      continue;
    }
    rank->last_ns = saturate_subtract(rank->last_ns, ahead_ns);
    if (step->job == 0)
      starts_ns[count++] = rank->later_ns = saturate_subtract(step->start_ns, ahead_ns);
  }
  if (count == 0)
    return;
  qsort(starts_ns, count, sizeof *starts_ns, sorted_compare_i64);
  for (size_t i = 0; i < ranks->items.count; i++)
    if (ranks->items.items[i].later_ns != 0)
      ranks->items.items[i].later_ns = saturate_subtract(ranks->items.items[i].later_ns, starts_ns[(count - 1) / 2]);
}
