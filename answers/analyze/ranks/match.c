// SPDX-License-Identifier: Apache-2.0
// Finds the same collective on all ranks: by group and number in the group, else by kind and order. Keeps of each one who came last, not
// its parts: ranks are read one after the other. Called by load.c and figures.c.
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <string.h>

// A rank that arrives after another one's end is in another collective. Clocks of one machine differ by less.
#define CLOCK_ERROR_NS 1000000

static int compare_places(const struct collective *a, const struct collective *b) // that may meet
{
  return RISING(job) ?: RISING(group) ?: RISING(name);
}

SORTED_BY(compare_in_rank, struct collective,
          compare_places(a, b) ?: RISING(rank) ?: RISING(sequence) ?: RISING(arrival_ns))

int ranks_compare_instances(const void *left, const void *right)
{
  const struct collective *a = left, *b = right;
  return compare_places(a, b) ?: RISING(sequence) ?: RISING(rank);
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

// ---- collecting ------------------------------------------------------------------------------------------------------------
static uint32_t place_of(struct ranks *ranks, const struct collective *of) // in `kinds`
{
  bool is_new;
  struct rank_matching *matching = &ranks->matching;
  uint64_t *place = map_at(&matching->places, (struct map_key){(uint64_t)of->job << 32 | of->group, of->name}, &is_new);
  if (is_new) {
    struct store *store = ranks->question->view->store;
    *place = matching->kinds.count;
    *vector_add(&matching->kinds) = (struct collective_place){
        .kind = ranks_kind_of(store_text(store, of->kind != 0 ? of->kind : of->name, NULL)),
        .is_of_parts = of->kind != 0 && of->group != 0 && strcmp(store_text(store, of->group, NULL), "parts") == 0};
  }
  return (uint32_t)*place;
}

// Gives each of the run's collectives its match; those between two ranks have none.
static void find_matches(struct ranks *ranks)
{
  struct rank_matching *matching = &ranks->matching;
  collective_list *all = &ranks->collectives;
  uint32_t place = 0;
  vector_sort(all, compare_in_rank);
  number(ranks);
  for (size_t i = 0; i < all->count; i++) {
    struct collective *one = &all->items[i];
    place = i > 0 && compare_places(one, one - 1) == 0 ? place : place_of(ranks, one);
    struct collective_place *its = &matching->kinds.items[place];
    if (its->is_of_parts || (!its->kind->waits_for_all && !its->kind->has_root))
      continue;
    bool is_new;
    uint64_t *match = map_at(&matching->matches, (struct map_key){place, (uint64_t)one->sequence}, &is_new);
    if (is_new) {
      *match = ranks->matches.count;
      *vector_add(&ranks->matches) = (struct collective_match){.has_root = !its->kind->waits_for_all,
                                                               .base_run = RANK_NONE,
                                                               .last_ns = INT64_MIN,
                                                               .first_end_ns = INT64_MAX};
      its->instances++;
    }
    one->match = (uint32_t)*match;
  }
}

static void add_part(struct ranks *ranks, const struct collective *one)
{
  struct collective_match *match = &ranks->matches.items[one->match];
  int64_t end_ns = saturate_subtract(one->end_ns, one->ahead_ns);
  int64_t arrival_ns = saturate_subtract(one->arrival_ns, one->ahead_ns);
  match->count++;
  match->first_end_ns = end_ns < match->first_end_ns ? end_ns : match->first_end_ns;
  if (arrival_ns > match->last_ns || (arrival_ns == match->last_ns && one->rank < match->last_rank)) {
    match->last_ns = arrival_ns;
    match->last_rank = one->rank;
  }
  if (match->has_root)
    *vector_add(&ranks->matching.arrivals) = (struct collective_arrival){one->match, arrival_ns};
}

void ranks_add_to_matches(struct ranks *ranks)
{
  find_matches(ranks);
  ranks_align(ranks);
  ranks->collective_count += ranks->collectives.count;
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    const struct collective *one = &ranks->collectives.items[i];
    if (one->match == RANK_NONE) {
      ranks->sends++;
      continue;
    }
    ranks->matches.items[one->match].is_twice |= i > 0 && one->match == one[-1].match && one->rank == one[-1].rank;
    add_part(ranks, one);
    if (!ranks->matches.items[one->match].has_root)
      (*map_at(&ranks->matching.times, (struct map_key){(uint64_t)place_of(ranks, one) + 1, one->rank}, NULL))++;
  }
}

// ---- once all are there ----------------------------------------------------------------------------------------------------
SORTED_BY(compare_arrivals, struct collective_arrival, RISING(match) ?: RISING(ns))

void ranks_match(struct ranks *ranks)
{
  struct rank_matching *matching = &ranks->matching;
  vector_sort(&matching->arrivals, compare_arrivals);
  for (size_t i = matching->arrivals.count; i > 0; i--)
    ranks->matches.items[matching->arrivals.items[i - 1].match].first_arrival = i - 1;
  for (size_t i = 0; i < ranks->matches.count; i++) {
    struct collective_match *match = &ranks->matches.items[i];
    bool is_late = match->count > 1 && !match->is_twice && !match->has_root &&
                   match->last_ns - CLOCK_ERROR_NS - ranks->clocks.error_ns > match->first_end_ns;
    if (is_late)
      ranks->items.items[match->last_rank].late++;
    match->is_unmatched = match->count < 2 || match->is_twice || is_late;
    ranks->matched += match->is_unmatched ? 0 : match->count;
  }
  for (size_t i = 0; i < matching->times.slot_count;
       i++) { // collectives of a kind in a group, in which others are without the rank
    const struct map_slot *slot = &matching->times.slots[i];
    size_t instances = slot->value > 0 ? matching->kinds.items[slot->key.a - 1].instances : 0;
    if (slot->value < instances)
      ranks->items.items[slot->key.b].missed += instances - slot->value;
  }
}

// ---- waiting ---------------------------------------------------------------------------------------------------------------
// With a root it is not known for whom a rank waits: not for those that came after its end.
static int64_t last_before_end(const struct ranks *ranks, const struct collective_match *match,
                               const struct collective *of)
{
  const struct collective_arrival *arrivals = &ranks->matching.arrivals.items[match->first_arrival];
  int64_t after_ns = saturate_add(saturate_subtract(of->end_ns, of->ahead_ns), 1);
  size_t came = sorted_lower_bound_i64(after_ns, &arrivals->ns, match->count, sizeof *arrivals);
  return arrivals[came > 0 ? came - 1 : 0].ns;
}

void ranks_put_matches(struct ranks *ranks)
{
  find_matches(ranks);
  ranks_put_ahead(ranks);
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    struct collective *of = &ranks->collectives.items[i];
    const struct collective_match *match = of->match != RANK_NONE ? &ranks->matches.items[of->match] : NULL;
    if (match == NULL || match->is_unmatched) {
      of->match = RANK_NONE;
      continue;
    }
    int64_t last_ns = match->has_root ? last_before_end(ranks, match, of) : match->last_ns;
    int64_t until_ns = saturate_add(last_ns, of->ahead_ns);
    until_ns = until_ns < of->end_ns ? until_ns : of->end_ns;
    of->waiting_ns = until_ns > of->arrival_ns ? saturate_subtract(until_ns, of->arrival_ns) : 0;
  }
}
