// SPDX-License-Identifier: Apache-2.0
// The cache of a request, for the report's page. It bounds what stays between two questions, not what one question loads.
// Called by question.c and layers.c.
#include "analyze/cache.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct cached_view {
  struct cached_view *next;
  const struct store *store;
  int64_t experiment_id;
  struct view view;
};
struct cached_rows {
  struct cached_rows *next;
  struct arena arena;
  const struct view_run *run; // of a cached view
  struct layer_choice choice;
  struct device_rows_wanted wanted;
  struct layer_rows rows;
  size_t lent_in; // the last question that has it
  bool is_beyond; // the bound: goes after the question
};
struct analyze_cache {
  struct arena arena; // of views
  struct cached_view *views;
  struct cached_rows *rows;
  size_t bytes_most, bytes; // of rows that stay
  size_t question;
};

struct analyze_cache *analyze_cache_new(size_t bytes_most)
{
  struct analyze_cache *cache = memory_new(1, sizeof *cache);
  cache->bytes_most = bytes_most;
  return cache;
}

static void free_rows(struct analyze_cache *cache, bool all)
{
  struct cached_rows **link = &cache->rows;
  while (*link != NULL) {
    struct cached_rows *entry = *link;
    if (!all && !entry->is_beyond) {
      link = &entry->next;
      continue;
    }
    *link = entry->next;
    arena_done(&entry->arena);
    free(entry);
  }
}

void analyze_cache_free(struct analyze_cache *cache)
{
  if (cache == NULL)
    return;
  free_rows(cache, true);
  arena_done(&cache->arena);
  free(cache);
}

void cache_next_question(struct analyze_cache *cache)
{
  if (cache == NULL)
    return;
  free_rows(cache, false);
  cache->question++;
}

// Runs are copied: the caller's live as long as one question.
static enum status add_view(struct analyze_cache *cache, const struct experiment_runs *of, struct view **ret_view,
                            struct error *err)
{
  struct cached_view *entry = arena_alloc(&cache->arena, sizeof *entry);
  struct store_run *copies = arena_alloc_array(&cache->arena, of->run_count + 1, sizeof *copies);
  struct experiment_runs lasting = *of;
  for (size_t i = 0; i < of->run_count; i++) {
    copies[i] = of->runs[i];
    if (copies[i].layer != NULL)
      copies[i].layer = arena_copy(&cache->arena, copies[i].layer, strlen(copies[i].layer));
  }
  lasting.runs = copies;
  *entry =
      (struct cached_view){.next = cache->views, .store = of->store, .experiment_id = of->experiment->experiment_id};
  XSP_TRY(view_load(&lasting, &cache->arena, &entry->view, err));
  cache->views = entry;
  *ret_view = &entry->view;
  return STATUS_OK;
}

enum status cache_view(struct analyze_cache *cache, const struct experiment_runs *of, struct arena *arena,
                       struct view **ret_view, struct error *err)
{
  if (cache == NULL) {
    *ret_view = arena_alloc(arena, sizeof **ret_view);
    return view_load(of, arena, *ret_view, err);
  }
  for (struct cached_view *entry = cache->views; entry != NULL; entry = entry->next)
    if (entry->store == of->store && entry->experiment_id == of->experiment->experiment_id) {
      *ret_view = &entry->view;
      (*ret_view)->experiment = of->experiment; // the one before may be gone
      return STATUS_OK;
    }
  return add_view(cache, of, ret_view, err);
}

static struct cached_rows *find_rows(struct analyze_cache *cache, const struct view_run *run,
                                     const struct layer_choice *choice, const struct device_rows_wanted *wanted)
{
  for (struct cached_rows *entry = cache->rows; entry != NULL; entry = entry->next)
    if (entry->run == run && entry->choice.mode == choice->mode &&
        entry->choice.computing_only == choice->computing_only && entry->wanted.rows == wanted->rows &&
        entry->wanted.metrics == wanted->metrics && entry->lent_in != cache->question)
      return entry;
  return NULL;
}

static enum status load_rows(struct analyze_cache *cache, struct store *store, const struct view_run *run,
                             const struct layer_choice *choice, const struct device_rows_wanted *wanted,
                             struct cached_rows **ret_entry, struct error *err)
{
  struct cached_rows *entry = memory_new(1, sizeof *entry);
  *entry = (struct cached_rows){.next = cache->rows, .run = run, .choice = *choice, .wanted = *wanted};
  enum status status = layer_rows_load(store, run, choice, wanted, &entry->arena, &entry->rows, err);
  if (status != STATUS_OK) {
    arena_done(&entry->arena);
    free(entry);
    return status;
  }
  entry->is_beyond = entry->arena.used_bytes > cache->bytes_most - cache->bytes;
  cache->bytes += entry->is_beyond ? 0 : entry->arena.used_bytes;
  cache->rows = entry;
  *ret_entry = entry;
  return STATUS_OK;
}

enum status cache_layer_rows(struct question *question, const struct view_run *run, enum layer_mode mode,
                             const struct device_rows_wanted *wanted, struct layer_rows **ret_rows, struct error *err)
{
  struct analyze_cache *cache = question->request->cache;
  struct store *store = question->view->store;
  const struct layer_choice choice = {mode, question->request->computing_only};
  if (cache == NULL) {
    *ret_rows = arena_alloc(question->scratch, sizeof **ret_rows);
    return layer_rows_load(store, run, &choice, wanted, question->scratch, *ret_rows, err);
  }
  struct cached_rows *entry = find_rows(cache, run, &choice, wanted);
  if (entry == NULL)
    XSP_TRY(load_rows(cache, store, run, &choice, wanted, &entry, err));
  entry->lent_in = cache->question;
  for (size_t i = 0; i < entry->rows.count; i++)
    entry->rows.items[i].layer = ROW_NONE; // as it was loaded
  *ret_rows = &entry->rows;
  return STATUS_OK;
}
