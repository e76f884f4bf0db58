// SPDX-License-Identifier: Apache-2.0
// What was loaded already: by the same question, or, with the cache of a request, by another one. The report's page asks a
// dozen per batch size about the same runs. Called by question.c and layers.c.
#include "analyze/cache.h"
#include "analyze/experiments.h"

#include <string.h>

#define SHARED_BYTES_MOST ((size_t)1 << 30) // what a question keeps beyond it would be more than it needs at a time

struct cached_rows {
  struct cached_rows *next;
  const struct store *store;
  int64_t run_id;
  size_t observation_count;
  const bool *is_warmup; // by observation
  bool calls_are_kernels;
  struct layer_choice choice;
  struct device_rows_wanted wanted;
  struct layer_rows rows;
};

void analyze_cache_done(struct analyze_cache *cache)
{
  arena_done(&cache->arena);
  arena_done(&cache->lasting);
  *cache = (struct analyze_cache){.bytes_most = cache->bytes_most, .findings_follow = cache->findings_follow};
}

enum status analyze_cache_experiments(struct analyze_cache *cache, struct store *const *stores, size_t store_count,
                                      struct arena *arena, struct experiment_runs **ret_experiments, size_t *ret_count,
                                      struct error *err)
{
  if (cache == NULL)
    return experiments_list(stores, store_count, arena, ret_experiments, ret_count, NULL, err);
  if (cache->experiments == NULL) {
    XSP_TRY(experiments_list(stores, store_count, &cache->lasting, &cache->experiments, &cache->experiment_count, NULL,
                             err));
    cache->views = arena_alloc_array(&cache->lasting, cache->experiment_count + 1, sizeof *cache->views);
    cache->views_of_all = arena_alloc_array(&cache->lasting, cache->experiment_count + 1, sizeof *cache->views);
    cache->findings = arena_alloc_array(&cache->lasting, cache->experiment_count + 1, sizeof *cache->findings);
  }
  *ret_experiments = cache->experiments;
  *ret_count = cache->experiment_count;
  return STATUS_OK;
}

static enum status load_view(const struct experiment_runs *of, const struct view_choice *choice, struct arena *arena,
                             struct view **ret_view, struct error *err)
{
  struct view *view = arena_alloc(arena, sizeof *view);
  XSP_TRY(view_load(of, choice, arena, view, err));
  *ret_view = view;
  return STATUS_OK;
}

enum status analyze_cache_view(struct analyze_cache *cache, const struct experiment_runs *of,
                               const struct view_choice *choice, struct arena *arena, struct view **ret_view,
                               struct error *err)
{
  bool is_of_all = choice->signature != NULL && strcmp(choice->signature, VIEW_ALL_KINDS) == 0;
  const struct view_choice usual = {.signature = is_of_all ? VIEW_ALL_KINDS : NULL};
  if (cache == NULL || choice->of_cold_runs || choice->of_library_calls || (choice->signature != NULL && !is_of_all))
    return load_view(of, choice, arena, ret_view, err);
  struct view **place = &(is_of_all ? cache->views_of_all : cache->views)[of - cache->experiments];
  if (*place == NULL)
    XSP_TRY(load_view(of, &usual, &cache->lasting, place, err));
  *ret_view = *place;
  bool may_differ = choice->batch != 0 && (*place)->kind_count > 1 && !is_of_all;
  return may_differ ? load_view(of, choice, arena, ret_view, err) : STATUS_OK;
}

void analyze_cache_next_question(struct analyze_cache *cache)
{
  if (cache == NULL || cache->arena.used_bytes <= cache->bytes_most)
    return;
  arena_done(&cache->arena);
  cache->shared = NULL;
}

struct analyze_shared *analyze_cache_shared(const struct analyze_request *request, struct arena *scratch)
{
  struct analyze_cache *cache = request->cache;
  struct arena *arena = cache != NULL ? &cache->arena : scratch;
  if (cache != NULL && cache->shared != NULL)
    return cache->shared;
  struct analyze_shared *shared = arena_alloc(arena, sizeof *shared);
  *shared = (struct analyze_shared){.arena = arena, .bytes_most = SHARED_BYTES_MOST};
  if (cache != NULL)
    cache->shared = shared;
  return shared;
}

// Whether the views' kinds of calls leave out the same observations of the run.
static bool is_same_run(const struct cached_rows *entry, const struct view_run *run)
{
  bool is_same = entry->run_id == run->run->run_id && entry->calls_are_kernels == run->calls_are_kernels &&
                 entry->observation_count == run->observation_count;
  for (size_t i = 0; is_same && i < run->observation_count; i++)
    is_same = entry->is_warmup[i] == run->observations[i].warmup;
  return is_same;
}

static struct cached_rows *add_rows(struct analyze_shared *shared, struct store *store, const struct view_run *run)
{
  struct cached_rows *entry = arena_alloc(shared->arena, sizeof *entry);
  bool *is_warmup = arena_alloc_array(shared->arena, run->observation_count + 1, sizeof *is_warmup);
  for (size_t i = 0; i < run->observation_count; i++)
    is_warmup[i] = run->observations[i].warmup;
  *entry = (struct cached_rows){.store = store,
                                .run_id = run->run->run_id,
                                .observation_count = run->observation_count,
                                .is_warmup = is_warmup,
                                .calls_are_kernels = run->calls_are_kernels};
  return entry;
}

enum status analyze_cache_layer_rows(struct question *question, const struct view_run *run, enum layer_mode mode,
                                     const struct device_rows_wanted *wanted, const struct layer_rows **ret_rows,
                                     struct error *err)
{
  struct analyze_shared *shared = question->shared;
  struct store *store = question->view->store;
  const struct layer_choice choice = {mode, question->request->computing_only};
  for (struct cached_rows *entry = shared->rows; entry != NULL; entry = entry->next)
    if (entry->store == store && is_same_run(entry, run) && entry->choice.mode == choice.mode &&
        entry->choice.computing_only == choice.computing_only && entry->wanted.rows >= wanted->rows &&
        entry->wanted.metrics >= wanted->metrics && entry->wanted.by_capture == wanted->by_capture) {
      *ret_rows = &entry->rows;
      return STATUS_OK;
    }
  struct cached_rows *entry = add_rows(shared, store, run);
  entry->choice = choice;
  entry->wanted = *wanted;
  XSP_TRY(layer_rows_load(question, run, &choice, wanted, shared->arena, &entry->rows, err));
  entry->next = shared->rows;
  shared->rows = entry;
  *ret_rows = &entry->rows;
  return STATUS_OK;
}
