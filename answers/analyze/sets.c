// SPDX-License-Identifier: Apache-2.0
// The runs and observations of each set of a view. Of a job whose ranks have too many spans to be held at once, a set has runs at even
// steps. Called by view.c.
#include "analyze/view.h"

#include <string.h>

// What analyses hold of a span is some 300 bytes.
#define SPANS_MOST ((size_t)1 << 19)
#define RUNS_LEAST 8

static bool belongs_to(const struct view_run *run, const struct view_set *set)
{
  return run->is_in_set && level_set_equal(run->run->levels, set->levels) && run->batch_size == set->batch_size;
}

static void list_runs(struct view_set *set, const struct view *view, struct arena *arena)
{
  set->runs = arena_alloc_array(arena, view->run_count + 1, sizeof *set->runs);
  for (size_t i = 0; i < view->run_count; i++)
    if (belongs_to(&view->runs[i], set))
      set->runs[set->run_count++] = &view->runs[i];
}

static void fill_set(struct view_set *set, struct arena *arena)
{
  size_t observations = 0;
  for (size_t i = 0; i < set->run_count; i++)
    observations += set->runs[i]->observation_count;
  set->latencies_ms = arena_alloc_array(arena, observations + 1, sizeof *set->latencies_ms);
  for (size_t i = 0; i < set->run_count; i++) {
    const struct view_run *run = set->runs[i];
    for (size_t k = 0; k < run->observation_count; k++)
      if (!run->observations[k].warmup)
        set->latencies_ms[set->observation_count++] = (double)run->observations[k].duration_ns / 1e6;
    set->inputs += (double)run->accumulated;
  }
  set->inputs += (double)set->batch_size * (double)set->observation_count;
  char text[LEVEL_SET_TEXT_SIZE];
  level_set_format(set->run_count > 0 ? set->runs[0]->recorded : set->levels, text);
  set->levels_text = arena_copy(arena, text, strlen(text));
}

// Spans of a run whose process is a rank of a job; 0: it is none.
static enum status count_spans(struct store *store, int64_t run_id, size_t *ret_count, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_track *tracks;
  struct store_spans spans = {0};
  size_t count;
  bool is_rank = false;
  enum status status = store_tracks(store, run_id, &arena, &tracks, &count, err);
  for (size_t i = 0; status == STATUS_OK && i < count; i++)
    is_rank |= tracks[i].rank.world_size > 1;
  if (is_rank)
    status = store_load_spans(store, run_id, 0, &arena, &spans, err); // no column: the count alone
  *ret_count = spans.count;
  return status;
}

static enum status thin(struct view *view, struct view_set *set, struct arena *arena, struct error *err)
{
  size_t spans = 0, count = 1;
  for (size_t i = 0; set->run_count > RUNS_LEAST && i < set->run_count && count > 0; i++) {
    XSP_TRY(count_spans(view->store, set->runs[i]->run->run_id, &count, err));
    spans += count;
  }
  if (count == 0 || spans <= SPANS_MOST)
    return STATUS_OK;
  size_t chosen = (size_t)((double)set->run_count * (double)SPANS_MOST / (double)spans);
  chosen = chosen < RUNS_LEAST ? RUNS_LEAST : chosen;
  struct view_set *whole = arena_alloc(arena, sizeof *whole);
  *whole = *set;
  *set = (struct view_set){.levels = set->levels, .batch_size = set->batch_size, .run_count = chosen, .whole = whole};
  set->runs = arena_alloc_array(arena, chosen, sizeof *set->runs);
  for (size_t i = 0; i < chosen; i++)
    set->runs[i] = whole->runs[i * whole->run_count / chosen];
  fill_set(set, arena);
  return STATUS_OK;
}

enum status view_fill_sets(struct view *view, struct arena *arena, struct error *err)
{
  for (size_t i = 0; i < view->set_count; i++) {
    list_runs(&view->sets[i], view, arena);
    fill_set(&view->sets[i], arena);
    XSP_TRY(thin(view, &view->sets[i], arena, err));
  }
  return STATUS_OK;
}
