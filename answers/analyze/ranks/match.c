// SPDX-License-Identifier: Apache-2.0
// Finds the same collective on all ranks: by group and number in the group, else by kind and order. Called by load.c.
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

// A rank that arrives after another one's end is in another collective. Clocks of one machine differ by less.
#define CLOCK_ERROR_NS 1000000

static int compare_numbers(int64_t a, int64_t b)
{
  return (a > b) - (a < b);
}

static int compare_places(const struct collective *a, const struct collective *b) // that may meet
{
  int order = compare_numbers(a->job, b->job);
  order = order != 0 ? order : compare_numbers(a->group, b->group);
  return order != 0 ? order : compare_numbers(a->name, b->name);
}

static int compare_in_rank(const void *left, const void *right)
{
  const struct collective *a = left, *b = right;
  int order = compare_places(a, b);
  order = order != 0 ? order : compare_numbers(a->rank, b->rank);
  order = order != 0 ? order : compare_numbers(a->sequence, b->sequence);
  return order != 0 ? order : compare_numbers(a->arrival_ns, b->arrival_ns);
}

static int compare_instances(const void *left, const void *right)
{
  const struct collective *a = left, *b = right;
  int order = compare_places(a, b);
  order = order != 0 ? order : compare_numbers(a->sequence, b->sequence);
  return order != 0 ? order : compare_numbers(a->rank, b->rank);
}

// Those without a number get their place among the rank's of the same kind.
static void number(struct ranks *ranks)
{
  struct collective *all = ranks->collectives.items;
  int64_t next = 0;
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    bool goes_on = i > 0 && compare_places(&all[i], &all[i - 1]) == 0 && all[i].rank == all[i - 1].rank;
    next = goes_on ? next + 1 : 0;
    if (all[i].sequence < 0)
      all[i].sequence = next;
  }
}

// The first counts whose name is in the collective's: "allgather" before "gather".
static const struct collective_kind kinds[] = {
    {"allreduce", .waits_for_all = true, .others = 2},
    {"allgather", .waits_for_all = true, .others = 1, .is_gathered = true},
    {"reducescatter", .waits_for_all = true, .others = 1},
    {"alltoall", .waits_for_all = true, .others = 1},
    {"barrier", .waits_for_all = true, .once = 1},
    {"broadcast", .has_root = true, .once = 1},
    {"gather", .has_root = true, .others = 1, .is_gathered = true},
    {"scatter", .has_root = true, .others = 1},
    {"reduce", .has_root = true, .once = 1},
    {"", .once = 1}, // a send and its receive
};

const struct collective_kind *ranks_kind_of(const char *name)
{
  char plain[64] = "";
  size_t length = 0;
  for (; *name != 0 && length + 1 < sizeof plain; name++)
    if (*name != '_')
      plain[length++] = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
  const struct collective_kind *kind = kinds;
  while (strstr(plain, kind->name) == NULL)
    kind++;
  return kind;
}

static const struct collective_kind *kind_of(const struct ranks *ranks, const struct collective *of)
{
  return ranks_kind_of(store_text(ranks->question->view->store, of->name, NULL));
}

bool ranks_wait_for_all(const struct ranks *ranks, const struct collective *of)
{
  return kind_of(ranks, of)->waits_for_all;
}

bool ranks_are_one_instance(const struct collective *a, const struct collective *b)
{
  return compare_places(a, b) == 0 && a->sequence == b->sequence;
}

// `arrivals_ns`: by the job's clock, sorted. With a root it is not known for whom a rank waits: not for those that came after its end.
static void put_waiting(struct collective *of, const int64_t *arrivals_ns, size_t count, bool has_root)
{
  int64_t after_ns = saturate_add(saturate_subtract(of->end_ns, of->ahead_ns), 1);
  size_t came =
      has_root ? sorted_lower_bound(&after_ns, arrivals_ns, count, sizeof *arrivals_ns, sorted_compare_i64) : count;
  int64_t until_ns = saturate_add(arrivals_ns[came > 0 ? came - 1 : 0], of->ahead_ns);
  until_ns = until_ns < of->end_ns ? until_ns : of->end_ns;
  of->waiting_ns = until_ns > of->arrival_ns ? saturate_subtract(until_ns, of->arrival_ns) : 0;
}

// From `first` to `end` are of one instance, a rank after the other. `arrivals_ns`: room for each rank.
static void add_match(struct ranks *ranks, size_t first, size_t end, int64_t *arrivals_ns)
{
  struct collective *all = ranks->collectives.items;
  int64_t last_ns = INT64_MIN, first_end_ns = INT64_MAX;
  uint32_t last = 0, count = 0;
  const struct collective_kind *kind = kind_of(ranks, &all[first]);
  bool is_twice = false, waits = kind->waits_for_all;
  if (!waits && !kind->has_root) {
    ranks->sends += end - first;
    return;
  }
  for (size_t i = first; i < end; i++) {
    is_twice |= i > first && all[i].rank == all[i - 1].rank;
    int64_t end_ns = saturate_subtract(all[i].end_ns, all[i].ahead_ns);
    int64_t arrival_ns = saturate_subtract(all[i].arrival_ns, all[i].ahead_ns);
    first_end_ns = end_ns < first_end_ns ? end_ns : first_end_ns;
    if (!is_twice)
      arrivals_ns[count] = arrival_ns;
    count++;
    if (arrival_ns > last_ns) {
      last_ns = arrival_ns;
      last = (uint32_t)i;
    }
  }
  bool is_late = count > 1 && !is_twice && waits && last_ns - CLOCK_ERROR_NS - ranks->clocks.error_ns > first_end_ns;
  if (is_late)
    ranks->items.items[all[last].rank].late++;
  if (count < 2 || is_twice || is_late) {
    ranks->unmatched += count;
    return;
  }
  qsort(arrivals_ns, count, sizeof *arrivals_ns, sorted_compare_i64);
  for (size_t i = first; i < end; i++) {
    all[i].match = (uint32_t)ranks->matches.count;
    put_waiting(&all[i], arrivals_ns, count, !waits);
  }
  *vector_add(&ranks->matches) = (struct collective_match){.count = count, .has_root = !waits};
}

// Between `first` and `end` are all of a kind in a group; counts, by rank, those in which others are without it.
static void count_missed(struct ranks *ranks, size_t first, size_t end)
{
  const struct collective *all = ranks->collectives.items;
  size_t *times SCOPED(scoped_free) = memory_new(ranks->items.count, sizeof *times), instances = 0;
  for (size_t i = first; i < end; i++) {
    times[all[i].rank]++;
    instances += i == first || !ranks_are_one_instance(&all[i], &all[i - 1]);
  }
  for (size_t i = 0; i < ranks->items.count; i++)
    ranks->items.items[i].missed += times[i] > 0 && times[i] < instances ? instances - times[i] : 0;
}

void ranks_match(struct ranks *ranks)
{
  struct collective *all = ranks->collectives.items;
  size_t count = ranks->collectives.count;
  if (count == 0)
    return;
  qsort(all, count, sizeof *all, compare_in_rank);
  number(ranks);
  qsort(all, count, sizeof *all, compare_instances);
  ranks_align(ranks);
  int64_t *arrivals_ns = arena_alloc_array(ranks->question->scratch, ranks->items.count + 1, sizeof *arrivals_ns);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1;
         end < count && compare_places(&all[first], &all[end]) == 0 && all[first].sequence == all[end].sequence;)
      end++;
    add_match(ranks, first, end, arrivals_ns);
  }
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && compare_places(&all[first], &all[end]) == 0;)
      end++;
    if (ranks_wait_for_all(ranks, &all[first]))
      count_missed(ranks, first, end);
  }
}
