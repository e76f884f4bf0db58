// SPDX-License-Identifier: Apache-2.0
// Which runs a question about ranks is about, the ranks in them, the jobs that they are of, and their columns. Called by load.c and
// figures.c.
#include "analyze/ranks/ranks.h"
#include "base/map.h"
#include "base/sorted.h"

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

SORTED_BY(compare_ranks, struct rank, RISING(rank))

struct finding_jobs {
  struct map known; // ranks
  struct map times; // by rank and size of the job: how many runs have it as their only one
  struct map jobs;  // by size and these times: number of the job
  int64_t least_size, most_size;
};

enum { NO_RANK, ONE_RANK, SEVERAL_RANKS }; // of a run

// Adds a run's ranks. `*ret_only`: the only one.
static int add_ranks(struct ranks *ranks, struct finding_jobs *of, const struct store_track *tracks, size_t count,
                     struct store_rank *ret_only)
{
  int found = NO_RANK;
  for (size_t k = 0; k < count; k++) {
    const struct store_rank *rank = &tracks[k].rank;
    if (rank->world_size < 1 || rank->rank < 0)
      continue;
    found = found == NO_RANK || (found == ONE_RANK && ret_only->rank == rank->rank) ? ONE_RANK : SEVERAL_RANKS;
    *ret_only = *rank;
    of->least_size = rank->world_size < of->least_size ? rank->world_size : of->least_size;
    of->most_size = rank->world_size > of->most_size ? rank->world_size : of->most_size;
    bool is_new;
    (void)map_at(&of->known, map_number((uint64_t)rank->rank), &is_new);
    if (is_new)
      *vector_add(&ranks->items) = (struct rank){.rank = rank->rank,
                                                 .local_rank = rank->local_rank,
                                                 .world_size = rank->world_size,
                                                 .host = tracks[k].host,
                                                 .peak_bytes = -1};
  }
  return found;
}

// A run of several ranks is a job. Those of one are the ranks of one, and of another where a rank comes again.
static uint32_t job_of_run(struct ranks *ranks, struct finding_jobs *of, int found, const struct store_rank *only)
{
  if (found != ONE_RANK)
    return found == SEVERAL_RANKS ? ranks->job_count++ : RANK_NONE;
  uint64_t *times = map_at(&of->times, (struct map_key){(uint64_t)only->rank, (uint64_t)only->world_size}, NULL);
  bool is_new;
  uint64_t *job = map_at(&of->jobs, (struct map_key){(uint64_t)only->world_size, (*times)++}, &is_new);
  if (is_new)
    *job = ranks->job_count++;
  return (uint32_t)*job;
}

// Once ranks are sorted: what is wrong with the files that were put together.
static void note_jobs(const struct ranks *ranks, const struct finding_jobs *of)
{
  struct table_builder *table = &ranks->question->table;
  int64_t missing = 0;
  uint64_t least = UINT64_MAX, most = 0, most_rank = 0;
  while ((size_t)missing < ranks->items.count && ranks->items.items[missing].rank == missing)
    missing++;
  for (size_t i = 0; i < of->times.slot_count; i++) {
    const struct map_slot *slot = &of->times.slots[i];
    least = slot->value > 0 && slot->value < least ? slot->value : least;
    if (slot->value > most || (slot->value == most && slot->key.a < most_rank)) {
      most = slot->value;
      most_rank = slot->key.a;
    }
  }
  if (of->least_size < of->most_size)
    table_note(
        table,
        "these are jobs of %lld and of %lld ranks: rows have the ranks of both; import each job's files into one",
        (long long)of->least_size, (long long)of->most_size);
  else if ((uint64_t)of->most_size > ranks->items.count)
    table_note(table, "%lld of %lld ranks are not here, the first is rank %lld; add their files by xsp import or merge",
               (long long)of->most_size - (long long)ranks->items.count, (long long)of->most_size, (long long)missing);
  else if (most > least)
    table_note(
        table,
        "rank %llu is here %llu times, not each rank is: what is here again counts as another execution of the job",
        (unsigned long long)most_rank, (unsigned long long)most);
}

// Ranks of all runs, and the job that each run is of.
enum status ranks_find(struct ranks *ranks, bool *ret_has_first_rank, struct error *err)
{
  struct finding_jobs of = {.least_size = INT64_MAX};
  enum status status = STATUS_OK;
  uint32_t *jobs = arena_alloc_array(ranks->question->scratch, ranks->run_count + 1, sizeof *jobs);
  int64_t *only = arena_alloc_array(ranks->question->scratch, ranks->run_count + 1, sizeof *only);
  ranks->jobs = jobs;
  for (size_t i = 0; i < ranks->run_count && status == STATUS_OK; i++) {
    struct store_track *tracks;
    size_t count;
    struct store_rank rank = {0};
    status = store_tracks(ranks->question->view->store, ranks->runs[i]->run->run_id, ranks->question->scratch, &tracks,
                          &count, err);
    if (status != STATUS_OK)
      break;
    int found = add_ranks(ranks, &of, tracks, count, &rank);
    jobs[i] = job_of_run(ranks, &of, found, &rank);
    only[i] = found == ONE_RANK ? rank.rank : INT64_MIN; // one of several is a job of its own
  }
  if (ranks->items.count > 1) {
    vector_sort(&ranks->items, compare_ranks);
    note_jobs(ranks, &of);
  }
  for (size_t i = 0; i < ranks->run_count && ranks->items.count > 0; i++)
    ret_has_first_rank[i] = only[i] <= ranks->items.items[0].rank;
  map_done(&of.known);
  map_done(&of.times);
  map_done(&of.jobs);
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
