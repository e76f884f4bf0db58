// SPDX-License-Identifier: Apache-2.0
// Steps of ranks that recorded none, as programs of MPI: from one end of the collective that the rank is in most often to the next. Called
// by load.c.
#include "analyze/ranks/ranks.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 3 // collectives of a rank

struct place { // of a collective among the others of its rank, kind and group
  const struct collective *of;
  size_t count;
};

static int compare_kinds(const struct place *a, const struct place *b)
{
  const struct collective *one = a->of, *other = b->of;
  return ORDER(one->rank, other->rank) ?: ORDER(one->group, other->group) ?: ORDER(one->name, other->name)
         ?: ORDER(one->module, other->module);
}

SORTED_BY(compare_places, struct place, compare_kinds(a, b) ?: ORDER(a->of->end_ns, b->of->end_ns))

static void add_steps(struct ranks *ranks, uint32_t run, const struct place *first)
{
  for (size_t i = 1; i < first->count; i++) {
    *vector_add(&ranks->steps) = (struct rank_step){.rank = first->of->rank,
                                                    .job = ranks->jobs[run],
                                                    .run = run,
                                                    .index = RANK_NONE,
                                                    .start_ns = first[i - 1].of->end_ns,
                                                    .end_ns = first[i].of->end_ns};
    ranks->items.items[first->of->rank].steps++;
  }
}

static bool is_better(const struct place *one, const struct place *than) // of equally many, that which came first
{
  return than == NULL || one->count > than->count || (one->count == than->count && one->of->end_ns < than->of->end_ns);
}

void ranks_steps_of_collectives(struct ranks *ranks, uint32_t run)
{
  const collective_list *all = &ranks->collectives;
  struct place *places = arena_alloc_array(ranks->question->scratch, all->count + 1, sizeof *places);
  struct store *store = ranks->question->view->store;
  size_t count = 0;
  for (size_t i = 0; i < all->count; i++) {
    const struct collective *one = &all->items[i];
    if (ranks_kind_of(store_text(store, one->kind != 0 ? one->kind : one->name, NULL))->waits_for_all)
      places[count++] = (struct place){.of = one};
  }
  qsort(places, count, sizeof *places, compare_places);
  const struct place *best = NULL;
  uint32_t noted = 0;
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && compare_kinds(&places[first], &places[end]) == 0;)
      end++;
    places[first].count = end - first;
    best = end - first >= LEAST && is_better(&places[first], best) ? &places[first] : best;
    if (best == NULL || (end < count && places[end].of->rank == places[first].of->rank))
      continue;
    add_steps(ranks, run, best);
    noted = best->of->name;
    best = NULL;
  }
  if (noted != 0 && run == 0)
    table_note(&ranks->question->table, "no steps are recorded: a step is from one end of %s to the next",
               store_text(store, noted, NULL));
}
