// SPDX-License-Identifier: Apache-2.0
// Clocks of ranks on several machines, or of files that count from their own zero: a collective in which all wait for each other ends at
// the same time everywhere. The median over many takes off how much later one of two ranks notices the end. Called by match.c.
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"

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

// Whether times of both compare as they are: on one machine, and by its clock.
static bool share_clock(const struct ranks *ranks, const struct collective *a, const struct collective *b)
{
  const char *host = ranks->items.items[a->rank].host, *other = ranks->items.items[b->rank].host;
  bool is_one_host = (host == NULL && other == NULL) || (host != NULL && other != NULL && strcmp(host, other) == 0);
  return a->run == b->run
             ? is_one_host
             : is_one_host && ranks->runs[a->run]->run->epoch_is_unix && ranks->runs[b->run]->run->epoch_is_unix;
}

// Between `first` and `end`, of one instance, by rank: with the first rank of the job in it, which the others are compared with.
static void compare_ends(const struct ranks *ranks, size_t first, size_t end, difference_list *differences)
{
  const struct collective *all = ranks->collectives.items;
  for (size_t i = first + 1; i < end; i++)
    if (all[first].rank == 0 && !share_clock(ranks, &all[first], &all[i]))
      *vector_add(differences) =
          (struct difference){all[i].job, all[i].rank, saturate_subtract(all[i].end_ns, all[first].end_ns)};
}

static void put_offset(struct ranks *ranks, const struct difference *of, int64_t ahead_ns)
{
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    struct collective *one = &ranks->collectives.items[i];
    if (one->job == of->job && one->rank == of->rank)
      one->ahead_ns = ahead_ns;
  }
}

void ranks_align(struct ranks *ranks)
{
  const struct collective *all = ranks->collectives.items;
  difference_list differences = {0};
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
    put_offset(ranks, &items[first], items[first + count / 2].ns);
    int64_t error_ns = saturate_subtract(items[end - 1 - cut].ns, items[first + cut].ns) / 2;
    ranks->clocks.aligned++;
    ranks->clocks.collectives += count;
    ranks->clocks.error_ns = error_ns > ranks->clocks.error_ns ? error_ns : ranks->clocks.error_ns;
  }
  vector_done(&differences);
}
