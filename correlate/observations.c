// SPDX-License-Identifier: Apache-2.0
// The observations of a run (its predictions, training steps, …) and which one each span belongs to. Called by
// correlate_spans after tree_climb, which found the observation among each span's ancestors.
#include "correlate/tree.h"

#include <stdlib.h>

struct item { // an observation that is a span
  int64_t start, end;
  uint32_t row;
  uint32_t clock;
  uint32_t longer; // the latest earlier one that ends later, or ROW_NONE
};
struct list {
  struct item *item;
  size_t count;
  uint32_t *index_of_row; // sorted position by row; only rows that are observations are set
};

static uint32_t clock_of(const struct tree *tree, size_t row)
{
  const struct parents_track *track = parents_track_of(tree->parents, tree->spans->track_id[row]);
  return track == NULL ? 0 : track->clock;
}

static int compare_items(const void *left, const void *right)
{
  const struct item *a = left;
  const struct item *b = right;
  if (a->start != b->start)
    return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static bool list_items(const struct tree *tree, struct arena *arena, struct list *ret_list)
{
  size_t count = 0;
  for (size_t i = 0; i < tree->spans->count; i++)
    count += tree->observation_row[i] == i;
  *ret_list = (struct list){arena_alloc_array(arena, count + 1, sizeof(struct item)), 0, NULL};
  ret_list->index_of_row = arena_alloc_array(arena, tree->spans->count + 1, sizeof *ret_list->index_of_row);
  if (ret_list->item == NULL || ret_list->index_of_row == NULL)
    return false;
  for (size_t i = 0; i < tree->spans->count; i++)
    if (tree->observation_row[i] == i)
      ret_list->item[ret_list->count++] = (struct item){tree->spans->start_ns[i], parents_end(tree->spans, i),
                                                        (uint32_t)i, clock_of(tree, i), ROW_NONE};
  qsort(ret_list->item, count, sizeof *ret_list->item, compare_items);
  for (size_t i = 0; i < count; i++) {
    ret_list->index_of_row[ret_list->item[i].row] = (uint32_t)i;
    size_t earlier = i; // one past the candidate
    while (earlier > 0 && ret_list->item[earlier - 1].end <= ret_list->item[i].end) {
      uint32_t longer = ret_list->item[earlier - 1].longer;
      earlier = longer == ROW_NONE ? 0 : (size_t)longer + 1;
    }
    ret_list->item[i].longer = earlier == 0 ? ROW_NONE : (uint32_t)(earlier - 1);
  }
  return true;
}

// The latest started observation of the span's clock in whose [start, end) `time` lies; -1: none.
static int32_t by_time(const struct list *list, int64_t time, uint32_t clock)
{
  size_t low = 0;
  size_t high = list->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (list->item[middle].start <= time)
      low = middle + 1;
    else
      high = middle;
  }
  while (low > 0) {
    const struct item *item = &list->item[low - 1];
    if (item->end > time && item->clock == clock)
      return (int32_t)(low - 1);
    if (item->end > time)
      low--; // a foreign clock's
    else
      low = item->longer == ROW_NONE ? 0 : (size_t)item->longer + 1;
  }
  return -1;
}

static int32_t by_ancestor(const struct tree *tree, const struct list *list, size_t row)
{
  uint32_t observation = tree->observation_row[row];
  return observation == ROW_NONE ? -1 : (int32_t)list->index_of_row[observation];
}

static int32_t belongs_to(const struct tree *tree, const struct list *list, size_t row)
{
  const struct store_spans *spans = tree->spans;
  int32_t observation = by_ancestor(tree, list, row);
  if (observation >= 0)
    return observation;
  if (spans->kind[row] == XSP_KIND_EXECUTION) {
    uint32_t launch = launches_find(&tree->parents->launches, spans->correlation_id[row]);
    if (launch != ROW_NONE) {
      observation = by_ancestor(tree, list, launch);
      return observation >= 0 ? observation : by_time(list, spans->start_ns[launch], clock_of(tree, launch));
    }
  }
  return by_time(list, spans->start_ns[row], clock_of(tree, row));
}

// A run without model spans is one observation, from its first start to its last end, of wall time where it has any.
static bool whole_run(const struct tree *tree, struct arena *arena, struct store_observation **ret_observations,
                      size_t *ret_count, size_t *ret_outside)
{
  const struct store_spans *spans = tree->spans;
  uint32_t clock = clock_of(tree, 0);
  for (size_t i = 0; i < spans->count && clock != 0; i++)
    if (clock_of(tree, i) == 0)
      clock = 0;
  int64_t start = INT64_MAX;
  int64_t end = INT64_MIN;
  for (size_t i = 0; i < spans->count; i++) {
    bool is_inside = clock_of(tree, i) == clock;
    tree->derived->observation[i] = is_inside ? 0 : -1;
    *ret_outside += !is_inside;
    if (!is_inside)
      continue;
    start = spans->start_ns[i] < start ? spans->start_ns[i] : start;
    int64_t span_end = spans->start_ns[i] + spans->duration_ns[i]; // an open span counts as far as it is known
    end = span_end > end ? span_end : end;
  }
  *ret_observations = arena_alloc_array(arena, 1, sizeof **ret_observations);
  if (*ret_observations == NULL)
    return false;
  int64_t duration;
  if (__builtin_sub_overflow(end, start, &duration))
    duration = INT64_MAX;
  **ret_observations = (struct store_observation){.observation = 0, .start_ns = start, .duration_ns = duration};
  *ret_count = 1;
  return true;
}

bool observations_find(const struct tree *tree, const uint8_t *is_warmup, struct arena *arena,
                       struct store_observation **ret_observations, size_t *ret_count, size_t *ret_outside)
{
  const struct store_spans *spans = tree->spans;
  *ret_observations = NULL;
  *ret_count = 0;
  *ret_outside = 0;
  bool has_models = false;
  for (size_t i = 0; i < spans->count && !has_models; i++)
    has_models = spans->level[i] == XSP_LEVEL_MODEL;
  if (!has_models && tree->is_step == NULL && spans->count > 0)
    return whole_run(tree, arena, ret_observations, ret_count, ret_outside);
  struct list list;
  if (!list_items(tree, arena, &list))
    return false;
  *ret_observations = arena_alloc_array(arena, list.count + 1, sizeof **ret_observations);
  if (*ret_observations == NULL)
    return false;
  for (size_t i = 0; i < list.count; i++) {
    uint32_t row = list.item[i].row;
    (*ret_observations)[i] =
        (struct store_observation){(int64_t)i, spans->span_id[row], spans->start_ns[row], spans->duration_ns[row],
                                   is_warmup != NULL && is_warmup[row] != 0};
  }
  *ret_count = list.count;
  for (size_t i = 0; i < spans->count; i++) {
    tree->derived->observation[i] = belongs_to(tree, &list, i);
    *ret_outside += tree->derived->observation[i] < 0;
  }
  return true;
}
