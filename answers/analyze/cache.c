// SPDX-License-Identifier: Apache-2.0
// What was loaded already: by the same question, or, with the cache of a request, by another one. The report's page asks a
// dozen per batch size about the same runs. Called by question.c and layers.c.
#include "analyze/cache.h"
#include "analyze/experiments.h"

struct cached_rows {
  struct cached_rows *next;
  const struct store *store;
  int64_t run_id;
  struct layer_choice choice;
  struct device_rows_wanted wanted;
  struct layer_rows rows;
};

void analyze_cache_done(struct analyze_cache *cache)
{
  arena_done(&cache->arena);
  arena_done(&cache->lasting);
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
    cache->views = arena_alloc_array(&cache->lasting, cache->experiment_count, sizeof *cache->views);
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
  static const struct view_choice usual;
  if (cache == NULL || choice->of_cold_runs || choice->of_library_calls || choice->signature != NULL)
    return load_view(of, choice, arena, ret_view, err);
  struct view **place = &cache->views[of - cache->experiments];
  if (*place == NULL)
    XSP_TRY(load_view(of, &usual, &cache->lasting, place, err));
  *ret_view = *place;
  bool may_differ = choice->batch != 0 && (*place)->kind_count > 1;
  return may_differ ? load_view(of, choice, arena, ret_view, err) : STATUS_OK;
}

void analyze_cache_next_question(struct analyze_cache *cache)
{
  if (cache == NULL || cache->arena.used_bytes <= cache->bytes_most)
    return;
  arena_done(&cache->arena);
  cache->rows = NULL;
}

enum status analyze_cache_layer_rows(struct question *question, const struct view_run *run, enum layer_mode mode,
                                     const struct device_rows_wanted *wanted, const struct layer_rows **ret_rows,
                                     struct error *err)
{
  struct analyze_cache *cache = question->request->cache;
  struct cached_rows **list =
      cache == NULL || run->calls_are_kernels ? &question->rows : &cache->rows; // else the question's own
  struct store *store = question->view->store;
  const struct layer_choice choice = {mode, question->request->computing_only};
  for (struct cached_rows *entry = *list; entry != NULL; entry = entry->next)
    if (entry->store == store && entry->run_id == run->run->run_id && entry->choice.mode == choice.mode &&
        entry->choice.computing_only == choice.computing_only && entry->wanted.rows >= wanted->rows &&
        entry->wanted.metrics >= wanted->metrics) {
      *ret_rows = &entry->rows;
      return STATUS_OK;
    }
  struct arena *arena = cache == NULL ? question->scratch : &cache->arena;
  struct cached_rows *entry = arena_alloc(arena, sizeof *entry);
  *entry = (struct cached_rows){.store = store, .run_id = run->run->run_id, .choice = choice, .wanted = *wanted};
  XSP_TRY(layer_rows_load(store, run, &choice, wanted, question->request, arena, &entry->rows, err));
  entry->next = *list;
  *list = entry;
  *ret_rows = &entry->rows;
  return STATUS_OK;
}
