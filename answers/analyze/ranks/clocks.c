// SPDX-License-Identifier: Apache-2.0
// Clocks of ranks on several machines, or of files that count from their own zero: a collective in which all wait for each other ends at
// the same time everywhere. The median over many takes off how much later one of two ranks notices the end. Called by match.c, load.c.
#include "analyze/ranks/ranks.h"

#include "base/map.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define COLLECTIVES_LEAST 3

struct difference { // of a rank's end of an instance against the first rank's of the job
  uint32_t job, rank;
  int64_t ns;
};
typedef VECTOR(struct difference) difference_list;

static int compare_differences(const void *left, const void *right)
{
  const struct difference *a = left, *b = right;
  if (a->job != b->job)
    return a->job < b->job ? -1 : 1;
  if (a->rank != b->rank)
    return a->rank < b->rank ? -1 : 1;
  return (a->ns > b->ns) - (a->ns < b->ns);
}

// Whether times of ranks in runs compare as they are: on one machine, and by its clock.
static bool share_clock(const struct ranks *ranks, uint32_t rank, uint32_t run, uint32_t other_rank, uint32_t other_run)
{
  const char *host = ranks->items.items[rank].host, *other = ranks->items.items[other_rank].host;
  bool is_one_host = (host == NULL && other == NULL) || (host != NULL && other != NULL && strcmp(host, other) == 0);
  return is_one_host &&
         (run == other_run || (ranks->runs[run]->run->epoch_is_unix && ranks->runs[other_run]->run->epoch_is_unix));
}

// Between `first` and `end`, of one instance, by rank: with the first rank of the job in it, which the others are compared with.
static void compare_ends(const struct ranks *ranks, size_t first, size_t end, difference_list *differences)
{
  const struct collective *all = ranks->collectives.items;
  for (size_t i = first + 1; i < end; i++)
    if (all[first].rank == 0 && !share_clock(ranks, 0, all[first].run, all[i].rank, all[i].run))
      *vector_add(differences) =
          (struct difference){all[i].job, all[i].rank, saturate_subtract(all[i].end_ns, all[first].end_ns)};
}

void ranks_align(struct ranks *ranks)
{
  const struct collective *all = ranks->collectives.items;
  difference_list differences = {0};
  struct map ahead_ns SCOPED(map_done) = {0}; // by rank of a job
  for (size_t first = 0, end; first < ranks->collectives.count; first = end) {
    for (end = first + 1; end < ranks->collectives.count && ranks_are_one_instance(&all[first], &all[end]);)
      end++;
    if (ranks_wait_for_all(ranks, &all[first]))
      compare_ends(ranks, first, end, &differences);
  }
  if (differences.count > 1)
    qsort(differences.items, differences.count, sizeof *differences.items, compare_differences);
  for (size_t first = 0, end; first < differences.count; first = end) {
    const struct difference *items = differences.items;
    for (end = first + 1;
         end < differences.count && items[end].job == items[first].job && items[end].rank == items[first].rank;)
      end++;
    size_t count = end - first, cut = count / 40; // 2.5 % at each end
    if (count < COLLECTIVES_LEAST)
      continue;
    *map_at(&ahead_ns, (struct map_key){items[first].job, items[first].rank}, NULL) =
        (uint64_t)items[first + count / 2].ns;
    int64_t error_ns = saturate_subtract(items[end - 1 - cut].ns, items[first + cut].ns) / 2;
    ranks->clocks.aligned++;
    ranks->clocks.collectives += count;
    ranks->clocks.error_ns = error_ns > ranks->clocks.error_ns ? error_ns : ranks->clocks.error_ns;
  }
  for (size_t i = 0; ranks->clocks.aligned > 0 && i < ranks->collectives.count; i++) {
    struct collective *one = &ranks->collectives.items[i];
    const uint64_t *ns = map_find(&ahead_ns, (struct map_key){one->job, one->rank});
    one->ahead_ns = ns != NULL ? (int64_t)*ns : 0;
  }
  vector_done(&differences);
}

// Once collectives are matched, which have how far a rank's clock is ahead. Only within the first job of a file. Of a rank whose clock
// is another than that of the first one with steps, and could not be compared, it is not known when it starts and ends.
void ranks_compare_times(struct ranks *ranks)
{
  const struct rank_step *base = NULL;
  size_t count = 0;
  int64_t *starts_ns = arena_alloc_array(ranks->question->scratch, ranks->items.count + 1, sizeof *starts_ns);
  int64_t *ahead_ns = arena_alloc_array(ranks->question->scratch, ranks->items.count + 1, sizeof *ahead_ns);
  for (size_t i = 0; i < ranks->collectives.count; i++)
    if (ranks->collectives.items[i].job == 0)
      ahead_ns[ranks->collectives.items[i].rank] = ranks->collectives.items[i].ahead_ns;
  for (size_t i = 0; i < ranks->items.count; i++) {
    struct rank *rank = &ranks->items.items[i];
    const struct rank_step *step = rank->first_step < rank->end_step ? ranks->by_rank[rank->first_step] : NULL;
    base = base == NULL ? step : base;
    if (step == NULL ||
        !(share_clock(ranks, base->rank, base->run, step->rank, step->run) || (base->rank == 0 && ahead_ns[i] != 0))) {
      rank->last_ns = INT64_MIN;
      continue;
    }
    rank->last_ns = saturate_subtract(rank->last_ns, ahead_ns[i]);
    if (step->job == 0)
      starts_ns[count++] = rank->later_ns = saturate_subtract(step->start_ns, ahead_ns[i]);
  }
  if (count == 0)
    return;
  qsort(starts_ns, count, sizeof *starts_ns, sorted_compare_i64);
  for (size_t i = 0; i < ranks->items.count; i++)
    if (ranks->items.items[i].later_ns != 0)
      ranks->items.items[i].later_ns = saturate_subtract(ranks->items.items[i].later_ns, starts_ns[(count - 1) / 2]);
}
