// SPDX-License-Identifier: Apache-2.0
// correlate_spans: the pure core, from a run's base columns to its derived ones as whole arrays. No store, no I/O.
#include "correlate/relation.h"

#include <stdlib.h>
#include <string.h>

static enum status out_of_memory(struct error *err)
{
  return error_set(err, STATUS_MEMORY, "cannot relate spans", NULL, NULL, "out of memory");
}

// The arrays that are wanted, filled from the relation.
static bool fill_derived(struct relation *relation, struct arena *arena, struct store_derived *derived)
{
  size_t count = relation->spans->count;
  *derived = (struct store_derived){.count = count};
  derived->parent_id = arena_alloc_array(arena, count + 1, sizeof *derived->parent_id);
  derived->model_id = arena_alloc_array(arena, count + 1, sizeof *derived->model_id);
  derived->layer_id = arena_alloc_array(arena, count + 1, sizeof *derived->layer_id);
  derived->self_ns = arena_alloc_array(arena, count + 1, sizeof *derived->self_ns);
  derived->observation = arena_alloc_array(arena, count + 1, sizeof *derived->observation);
  derived->depth = arena_alloc_array(arena, count + 1, sizeof *derived->depth);
  derived->basis = arena_alloc_array(arena, count + 1, sizeof *derived->basis);
  if (relation->parents.launches.carried != NULL)
    derived->kind = arena_alloc_array(arena, count + 1, sizeof *derived->kind);
  if (derived->parent_id == NULL || derived->model_id == NULL || derived->layer_id == NULL ||
      derived->self_ns == NULL || derived->observation == NULL || derived->depth == NULL || derived->basis == NULL ||
      (derived->kind == NULL && relation->parents.launches.carried != NULL))
    return false;
  relation_fill(relation, STORE_PARENT_ID, 0, count, derived->parent_id);
  relation_fill(relation, STORE_MODEL_ID, 0, count, derived->model_id);
  relation_fill(relation, STORE_LAYER_ID, 0, count, derived->layer_id);
  relation_fill(relation, STORE_SELF_NS, 0, count, derived->self_ns);
  relation_fill(relation, STORE_DEPTH, 0, count, derived->depth);
  relation_fill(relation, STORE_BASIS, 0, count, derived->basis);
  if (derived->kind != NULL)
    relation_fill(relation, STORE_DERIVED_KIND, 0, count, derived->kind);
  if (count > 0)
    memcpy(derived->observation, relation->observation, count * sizeof *derived->observation);
  return true;
}

static int compare_ids(const void *left, const void *right)
{
  int64_t a = *(const int64_t *)left;
  int64_t b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

static bool relate(struct relation *relation, const int64_t *warmup_span_ids, size_t warmup_count, struct arena *arena,
                   struct store_derived *ret_derived, struct store_observation **ret_observations,
                   size_t *ret_observation_count, size_t *ret_outside)
{
  int64_t *warmups = arena_alloc_array(arena, warmup_count + 1, sizeof *warmups);
  if (warmups == NULL)
    return false;
  if (warmup_count > 0)
    memcpy(warmups, warmup_span_ids, warmup_count * sizeof *warmups);
  qsort(warmups, warmup_count, sizeof *warmups, compare_ids);
  return relation_climb(relation) &&
         relation_observe(relation, warmups, warmup_count, arena, ret_observations, ret_observation_count,
                          ret_outside) &&
         relation_self(relation) && fill_derived(relation, arena, ret_derived);
}

enum status correlate_spans(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                            const int64_t *warmup_span_ids, size_t warmup_count, struct arena *arena,
                            struct store_derived *ret_derived, struct store_observation **ret_observations,
                            size_t *ret_observation_count, struct correlate_counts *ret_counts, struct error *err)
{
  struct relation relation = {.spans = spans};
  *ret_counts = (struct correlate_counts){0};
  enum status status = parents_find(spans, tracks, track_count, &relation.parents, err);
  if (status == STATUS_OK && !relate(&relation, warmup_span_ids, warmup_count, arena, ret_derived, ret_observations,
                                     ret_observation_count, &ret_counts->outside_observations))
    status = out_of_memory(err);
  for (size_t i = 0; i < spans->count && status == STATUS_OK; i++)
    ret_counts->basis[ret_derived->basis[i]]++;
  relation_done(&relation);
  return status;
}
