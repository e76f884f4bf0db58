// SPDX-License-Identifier: Apache-2.0
// Layer rows that were loaded already: by the same question, or, with the cache of a request, by another one (the report's
// page asks a dozen about the same runs). Called by question.c and layers.c.
#include "analyze/cache.h"

struct cached_rows {
  struct cached_rows *next;
  const struct store *store;
  int64_t run_id;
  struct layer_choice choice;
  struct device_rows_wanted wanted;
  struct layer_rows rows;
};

void cache_next_question(struct analyze_cache *cache)
{
  if (cache == NULL || cache->arena.used_bytes <= cache->bytes_most)
    return;
  arena_done(&cache->arena);
  cache->rows = NULL;
}

enum status cache_layer_rows(struct question *question, const struct view_run *run, enum layer_mode mode,
                             const struct device_rows_wanted *wanted, struct layer_rows **ret_rows, struct error *err)
{
  struct analyze_cache *cache = question->request->cache;
  struct cached_rows **list = cache == NULL ? &question->rows : &cache->rows; // else the question's own
  struct store *store = question->view->store;
  const struct layer_choice choice = {mode, question->request->computing_only};
  for (struct cached_rows *entry = *list; entry != NULL; entry = entry->next)
    if (entry->store == store && entry->run_id == run->run->run_id && entry->choice.mode == choice.mode &&
        entry->choice.computing_only == choice.computing_only && entry->wanted.rows >= wanted->rows &&
        entry->wanted.metrics >= wanted->metrics) {
      for (size_t i = 0; i < entry->rows.count; i++)
        entry->rows.items[i].layer = ROW_NONE; // as it was loaded
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
