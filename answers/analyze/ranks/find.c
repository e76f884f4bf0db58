// SPDX-License-Identifier: Apache-2.0
// Which runs a question about ranks is about, the ranks in them, the jobs that they are of, and their columns. Called by load.c and
// figures.c.
#include "analyze/ranks/ranks.h"
#include "base/map.h"

#include <stdlib.h>

void ranks_choose_runs(struct ranks *ranks)
{
  const struct view *view = ranks->question->view;
  for (size_t i = 0; i < view->set_count; i++) {
    const struct view_set *set = &view->sets[i];
    if (set->observation_count > 0 && !set->levels.metrics && !set->levels.serial &&
        (ranks->set == NULL || level_set_count(set->levels) > level_set_count(ranks->set->levels)))
      ranks->set = set;
  }
  if (ranks->set != NULL && ranks->set->whole != NULL)
    ranks->set = ranks->set->whole;
  ranks->runs = arena_alloc_array(ranks->question->scratch, view->run_count + 1, sizeof *ranks->runs);
  for (size_t i = 0; ranks->set != NULL && i < view->run_count; i++)
    if (view->runs[i].is_in_set && level_set_equal(view->runs[i].run->levels, ranks->set->levels))
      ranks->runs[ranks->run_count++] = &view->runs[i];
}

static uint32_t find_rank(const struct ranks *ranks, int64_t number)
{
  for (uint32_t i = 0; i < ranks->items.count; i++)
    if (ranks->items.items[i].rank == number)
      return i;
  return RANK_NONE;
}

static int compare_ranks(const void *left, const void *right)
{
  const struct rank *a = left, *b = right;
  return (a->rank > b->rank) - (a->rank < b->rank);
}

// Ranks of all runs, and the job that each run is of: one that has several ranks is a job; others are the ranks of one, and of
// another where a rank comes again.
enum status ranks_find(struct ranks *ranks, uint32_t *job_of, struct error *err)
{
  struct arena *arena = ranks->question->scratch;
  struct map known = {0}, times = {0}; // by number: place + 1; how often it was the only one of a run
  uint32_t alone = 0, together = 0;
  bool *is_together = arena_alloc_array(arena, ranks->run_count + 1, sizeof *is_together);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < ranks->run_count && status == STATUS_OK; i++) {
    struct store_track *tracks;
    size_t count;
    int64_t only = STORE_NONE;
    status = store_tracks(ranks->question->view->store, ranks->runs[i]->run->run_id, arena, &tracks, &count, err);
    for (size_t k = 0; k < count && status == STATUS_OK; k++) {
      const struct store_rank *rank = &tracks[k].rank;
      if (rank->world_size < 1 || rank->rank < 0)
        continue;
      is_together[i] = is_together[i] || (only != STORE_NONE && only != rank->rank);
      only = rank->rank;
      bool is_new;
      (void)map_at(&known, map_number((uint64_t)rank->rank), &is_new);
      if (is_new)
        *vector_add(&ranks->items) = (struct rank){.rank = rank->rank,
                                                   .local_rank = rank->local_rank,
                                                   .world_size = rank->world_size,
                                                   .host = tracks[k].host,
                                                   .peak_bytes = -1};
    }
    job_of[i] = is_together[i] || only == STORE_NONE ? together++
                                                     : (uint32_t)(*map_at(&times, map_number((uint64_t)only), NULL))++;
    alone = !is_together[i] && only != STORE_NONE && job_of[i] >= alone ? job_of[i] + 1 : alone;
  }
  for (size_t i = 0; i < ranks->run_count; i++)
    job_of[i] += is_together[i] ? alone : 0;
  ranks->job_count = alone + together;
  map_done(&known);
  map_done(&times);
  if (ranks->items.count > 1)
    qsort(ranks->items.items, ranks->items.count, sizeof *ranks->items.items, compare_ranks);
  return status;
}

enum status ranks_load_columns(const struct ranks *ranks, uint32_t run, uint32_t columns, struct arena *arena,
                               struct run_columns *ret_columns, struct error *err)
{
  return (ranks->run_count > 1 ? run_columns_load_once : run_columns_load)(ranks->question, ranks->runs[run], columns,
                                                                           arena, ret_columns, err);
}

enum status ranks_of_tracks(const struct ranks *ranks, const struct view_run *run, struct arena *arena,
                            struct map *ret_ranks, struct error *err)
{
  struct store_track *tracks;
  size_t count;
  XSP_TRY(store_tracks(ranks->question->view->store, run->run->run_id, arena, &tracks, &count, err));
  for (size_t i = 0; i < count; i++)
    *map_at(ret_ranks, map_number((uint64_t)tracks[i].track_id), NULL) =
        tracks[i].rank.world_size < 1 ? RANK_NONE : find_rank(ranks, tracks[i].rank.rank);
  return STATUS_OK;
}
