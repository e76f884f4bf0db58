// SPDX-License-Identifier: Apache-2.0
// Steps of ranks that recorded none, as programs of MPI: from one end of a collective to the next. It is chosen once for all of a job's
// ranks: that in which most of them are, of those the one that they are in most often. Called by load.c.
#include "analyze/ranks/ranks.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 3 // collectives of a rank

SORTED_BY(compare_ends, struct rank_end,
          RISING(job) ?: RISING(group) ?: RISING(name) ?: RISING(module) ?: RISING(rank) ?: RISING(end_ns))

struct place { // a rank's ends of one kind of collective
  const struct rank_end *first;
  size_t count;
};
typedef VECTOR(struct place) place_list;

struct choice { // of a kind: places from `first` on
  size_t first, ranks, count;
  int64_t end_ns; // the first
};

void ranks_keep_ends(struct ranks *ranks)
{
  struct store *store = ranks->question->view->store;
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    const struct collective *one = &ranks->collectives.items[i];
    if (ranks_kind_of(store_text(store, one->kind != 0 ? one->kind : one->name, NULL))->waits_for_all)
      *vector_add(&ranks->ends) = (struct rank_end){.job = one->job,
                                                    .group = one->group,
                                                    .name = one->name,
                                                    .module = one->module,
                                                    .rank = one->rank,
                                                    .run = one->run,
                                                    .end_ns = one->end_ns};
  }
}

static bool are_of_one_kind(const struct rank_end *one, const struct rank_end *other)
{
  return one->job == other->job && one->group == other->group && one->name == other->name &&
         one->module == other->module;
}

static void list_places(const struct ranks *ranks, place_list *places)
{
  const struct rank_end *ends = ranks->ends.items;
  for (size_t first = 0, end; first < ranks->ends.count; first = end) {
    for (end = first + 1;
         end < ranks->ends.count && are_of_one_kind(&ends[first], &ends[end]) && ends[end].rank == ends[first].rank;)
      end++;
    if (end - first >= LEAST)
      *vector_add(places) = (struct place){&ends[first], end - first};
  }
}

static void add_steps(struct ranks *ranks, const struct place *place)
{
  const struct rank_end *first = place->first;
  for (size_t i = 1; i < place->count; i++) {
    *vector_add(&ranks->steps) = (struct rank_step){.rank = first->rank,
                                                    .job = first->job,
                                                    .run = first->run,
                                                    .index = RANK_NONE,
                                                    .start_ns = first[i - 1].end_ns,
                                                    .end_ns = first[i].end_ns};
    ranks->items.items[first->rank].steps++;
  }
}

static bool is_better(const struct choice *one, const struct choice *than) // of equally many, that which came first
{
  return (ORDER(than->ranks, one->ranks) ?: ORDER(than->count, one->count) ?: ORDER(one->end_ns, than->end_ns)) < 0;
}

// Among the places of a job, [first, end), by ranks that have no steps so far.
static struct choice choose(const place_list *places, size_t first, size_t end, const bool *has_steps)
{
  struct choice best = {0}, one = {0};
  for (size_t i = first; i < end; i++) {
    const struct place *place = &places->items[i];
    if (i == first || !are_of_one_kind(place->first, place[-1].first))
      one = (struct choice){i, 0, 0, INT64_MAX};
    if (has_steps[place->first->rank])
      continue;
    one.ranks++;
    one.count += place->count;
    one.end_ns = place->first->end_ns < one.end_ns ? place->first->end_ns : one.end_ns;
    best = is_better(&one, &best) ? one : best;
  }
  return best;
}

// The rest of a job's ranks may have another one in common, as those of another group; what is a rank's own is for jobs without any.
static void add_steps_of_job(struct ranks *ranks, const place_list *places, size_t first, size_t end,
                             uint32_t *ret_name)
{
  bool *has_steps = arena_alloc_array(ranks->question->scratch, ranks->items.count + 1, sizeof *has_steps);
  bool is_shared = false;
  for (struct choice best; (best = choose(places, first, end, has_steps)).ranks > (is_shared ? 1 : 0);) {
    is_shared |= best.ranks > 1;
    *ret_name = *ret_name != 0 ? *ret_name : places->items[best.first].first->name;
    for (size_t i = best.first; i < end && are_of_one_kind(places->items[i].first, places->items[best.first].first);
         i++)
      if (!has_steps[places->items[i].first->rank]) {
        has_steps[places->items[i].first->rank] = true;
        add_steps(ranks, &places->items[i]);
      }
  }
}

void ranks_steps_of_collectives(struct ranks *ranks)
{
  place_list places SCOPED(vector_end) = {0};
  uint32_t name = 0;
  vector_sort(&ranks->ends, compare_ends);
  list_places(ranks, &places);
  for (size_t first = 0, end; first < places.count; first = end) {
    for (end = first + 1; end < places.count && places.items[end].first->job == places.items[first].first->job;)
      end++;
    add_steps_of_job(ranks, &places, first, end, &name);
  }
  vector_done(&ranks->ends);
  if (name != 0)
    table_note(&ranks->question->table, "no steps are recorded: a step is from one end of %s to the next",
               store_text(ranks->question->view->store, name, NULL));
}
