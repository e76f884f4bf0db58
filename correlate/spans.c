// SPDX-License-Identifier: Apache-2.0
// correlate_spans: the pure core, from a run's base columns to its derived ones. No store, no I/O.
#include "correlate/tree.h"

static enum status out_of_memory(struct error *err)
{
  return error_set(err, STATUS_MEMORY, "cannot relate spans", NULL, NULL, "out of memory");
}

// One byte a row, set where the row's id is listed or it has the flag; NULL where none is.
static bool mark_rows(const struct parents *parents, const struct store_spans *spans, const int64_t *ids, size_t count,
                      uint8_t flag, struct arena *arena, uint8_t **ret_marks)
{
  uint8_t flags = 0;
  for (size_t i = 0; i < spans->count && flag != 0 && spans->flags != NULL; i++)
    flags |= spans->flags[i];
  *ret_marks = NULL;
  if (count == 0 && !(flags & flag))
    return true;
  uint8_t *marks = arena_alloc_array(arena, spans->count + 1, 1);
  if (marks == NULL)
    return false;
  for (size_t i = 0; i < spans->count && (flags & flag); i++)
    marks[i] = (spans->flags[i] & flag) != 0;
  bool is_any = (flags & flag) != 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t row = parents_row_of(parents, spans, ids[i]);
    if (row == ROW_NONE)
      continue;
    marks[row] = 1;
    is_any = true;
  }
  *ret_marks = is_any ? marks : NULL;
  return true;
}

static bool allocate(struct store_derived *derived, size_t count, struct arena *arena)
{
  *derived = (struct store_derived){.count = count};
  derived->parent_id = arena_alloc_array(arena, count + 1, sizeof *derived->parent_id);
  derived->model_id = arena_alloc_array(arena, count + 1, sizeof *derived->model_id);
  derived->layer_id = arena_alloc_array(arena, count + 1, sizeof *derived->layer_id);
  derived->self_ns = arena_alloc_array(arena, count + 1, sizeof *derived->self_ns);
  derived->observation = arena_alloc_array(arena, count + 1, sizeof *derived->observation);
  derived->depth = arena_alloc_array(arena, count + 1, sizeof *derived->depth);
  derived->basis = arena_alloc_array(arena, count + 1, sizeof *derived->basis);
  return derived->parent_id != NULL && derived->model_id != NULL && derived->layer_id != NULL &&
         derived->self_ns != NULL && derived->observation != NULL && derived->depth != NULL && derived->basis != NULL;
}

static enum status correlate_in(struct arena *scratch, const struct store_spans *spans,
                                const struct store_track *tracks, size_t track_count, const int64_t *warmup_span_ids,
                                size_t warmup_count, const int64_t *step_span_ids, size_t step_count,
                                struct arena *arena, struct store_derived *ret_derived,
                                struct store_observation **ret_observations, size_t *ret_observation_count,
                                struct correlate_counts *ret_counts, struct error *err)
{
  struct parents parents;
  uint8_t *is_step;
  uint8_t *is_warmup;
  XSP_TRY(parents_find(spans, tracks, track_count, scratch, &parents, err));
  if (!mark_rows(&parents, spans, step_span_ids, step_count, STORE_SPAN_STEP, scratch, &is_step) ||
      !mark_rows(&parents, spans, warmup_span_ids, warmup_count, 0, scratch, &is_warmup) ||
      !allocate(ret_derived, spans->count, arena))
    return out_of_memory(err);
  struct tree tree = {spans, &parents, ret_derived, NULL, is_step};
  tree.observation_row = arena_alloc_array(scratch, spans->count + 1, sizeof *tree.observation_row);
  if (tree.observation_row == NULL || !tree_climb(&tree, scratch) || !tree_self(&tree, scratch) ||
      !observations_find(&tree, is_warmup, arena, ret_observations, ret_observation_count,
                         &ret_counts->outside_observations))
    return out_of_memory(err);
  if (parents.kind != NULL) {
    ret_derived->kind = arena_alloc_array(arena, spans->count + 1, sizeof *ret_derived->kind);
    if (ret_derived->kind == NULL)
      return out_of_memory(err);
    memcpy(ret_derived->kind, parents.kind, spans->count);
  }
  for (size_t i = 0; i < spans->count; i++)
    ret_counts->basis[ret_derived->basis[i]]++;
  return STATUS_OK;
}

enum status correlate_spans(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                            const int64_t *warmup_span_ids, size_t warmup_count, const int64_t *step_span_ids,
                            size_t step_count, struct arena *arena, struct store_derived *ret_derived,
                            struct store_observation **ret_observations, size_t *ret_observation_count,
                            struct correlate_counts *ret_counts, struct error *err)
{
  struct arena scratch = {0};
  *ret_counts = (struct correlate_counts){0};
  enum status status =
      correlate_in(&scratch, spans, tracks, track_count, warmup_span_ids, warmup_count, step_span_ids, step_count,
                   arena, ret_derived, ret_observations, ret_observation_count, ret_counts, err);
  arena_done(&scratch);
  return status;
}
