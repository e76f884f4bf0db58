// SPDX-License-Identifier: Apache-2.0
// Walks up the parents once per span, remembering what is known of the ancestors; then takes children's time off their
// parents'. Called after parents_find.
#include "correlate/relation.h"

#include <string.h>

#define UNKNOWN UINT32_MAX
#define ON_PATH (UINT32_MAX - 1)

struct path {
  VECTOR(uint32_t) rows;
};

// Whether `row` lies in an observation of its name, both on no thread: two requests that run side by side. Names are
// loaded where that can be.
static bool is_beside(const struct relation *relation, int32_t observation, uint32_t row)
{
  const struct store_spans *spans = relation->spans;
  uint32_t outer = relation->items.items[observation];
  if (spans->name == NULL || spans->name[row] != spans->name[outer] ||
      relation->parents.basis[row] != BASIS_CONTAINMENT)
    return false;
  const struct parents_track *track = parents_track_of(&relation->parents, spans->track_id[row]);
  const struct parents_track *outer_track = parents_track_of(&relation->parents, spans->track_id[outer]);
  return track != NULL && outer_track != NULL && track->is_threadless && outer_track->is_threadless;
}

static void settle(struct relation *relation, uint32_t row)
{
  const struct store_spans *spans = relation->spans;
  uint32_t parent = relation->parents.row[row];
  uint8_t flags = rows_flags(spans, row);
  uint8_t level = spans->level[row];
  uint32_t depth = 0;
  uint32_t model = ROW_NONE;
  uint32_t layer = ROW_NONE;
  int32_t observation = -1;
  if (parent != ROW_NONE) {
    depth = relation->depth[parent] + 1;
    model = relation->model_row[parent];
    layer = relation->layer_row[parent];
    observation = relation->observation[parent];
  }
  relation->depth[row] = depth;
  relation->model_row[row] = level == XSP_LEVEL_MODEL ? row : model;
  relation->layer_row[row] = level == XSP_LEVEL_LAYER ? row : layer;
  bool begins = relation->parents.has_steps ? (flags & STORE_SPAN_STEP) != 0 : level == XSP_LEVEL_MODEL;
  begins = begins && !(flags & STORE_SPAN_OPEN) && relation->items.count <= INT32_MAX;
  if (begins && (observation < 0 || is_beside(relation, observation, row))) {
    observation = (int32_t)relation->items.count;
    *vector_add(&relation->items) = row;
  }
  relation->observation[row] = observation;
}

static bool is_named(const struct relation *relation, uint32_t row)
{
  return relation->is_named != NULL ? (relation->is_named[row / 8] >> row % 8 & 1) != 0
                                    : rows_recorded_parent(relation->spans, row) != 0;
}

// Rows path[first..] are a circle: the first in the file loses its parent, of those whose parent the source did not name
// if there are any. (A parent with the times of its child, which comes first in the file, would else lie within it.)
static void break_circle(struct relation *relation, const struct path *path, size_t first)
{
  uint32_t least = path->rows.items[first];
  for (size_t i = first; i < path->rows.count; i++) {
    uint32_t row = path->rows.items[i];
    bool row_is_named = is_named(relation, row), least_is_named = is_named(relation, least);
    if (row_is_named == least_is_named ? row < least : least_is_named)
      least = row;
  }
  relation->parents.row[least] = ROW_NONE;
  relation->parents.basis[least] = BASIS_NONE;
}

static void climb_from(struct relation *relation, uint32_t row, struct path *path)
{
  uint32_t *depth = relation->depth;
  path->rows.count = 0;
  for (uint32_t at = row; at != ROW_NONE && depth[at] == UNKNOWN; at = relation->parents.row[at]) {
    depth[at] = ON_PATH;
    *vector_add(&path->rows) = at;
  }
  uint32_t top = relation->parents.row[path->rows.items[path->rows.count - 1]];
  if (top != ROW_NONE && depth[top] == ON_PATH) {
    size_t first = path->rows.count - 1;
    while (path->rows.items[first] != top)
      first--;
    break_circle(relation, path, first);
    for (size_t i = 0; i < path->rows.count; i++)
      depth[path->rows.items[i]] = UNKNOWN;
    climb_from(relation, row, path); // once: a path leads into one circle at most
    return;
  }
  while (path->rows.count > 0)
    settle(relation, path->rows.items[--path->rows.count]);
}

void relation_climb(struct relation *relation)
{
  size_t count = relation->spans->count;
  struct path path = {0};
  for (int i = 0; i < 2; i++)
    relation->plane[i] = arena_alloc_array(&relation->tree_arena, count + 1, 2 * sizeof(uint32_t));
  relation->depth = relation->plane[0];
  relation->model_row = relation->depth + count;
  relation->layer_row = relation->plane[1];
  relation->observation = (int32_t *)(relation->layer_row + count);
  memset(relation->depth, 0xff, count * sizeof *relation->depth);
  for (size_t i = 0; i < count; i++) {
    if (relation->depth[i] != UNKNOWN)
      continue;
    uint32_t parent = relation->parents.row[i];
    bool is_ready = parent == ROW_NONE || relation->depth[parent] < ON_PATH;
    if (is_ready)
      settle(relation, (uint32_t)i);
    else
      climb_from(relation, (uint32_t)i, &path);
  }
  vector_done(&path.rows);
}

// Takes `row` off its parent where both are on one track. `reach` is how far the parent's children cover it so far: up
// to there in a forward pass, down to there in a backward one.
static inline void cover(const struct relation *relation, const struct store_spans *spans, uint32_t row,
                         bool is_backward, int64_t *reach)
{
  uint32_t parent = relation->parents.row[row];
  if (parent == ROW_NONE || spans->track_id[parent] != spans->track_id[row] || spans->track_id[row] == 0)
    return;
  int64_t parent_start = spans->start_ns[parent];
  int64_t parent_end = rows_end(spans, parent);
  int64_t own_end = rows_end(spans, row);
  int64_t start = spans->start_ns[row] > parent_start ? spans->start_ns[row] : parent_start;
  int64_t end = own_end < parent_end ? own_end : parent_end;
  // Relative to the parent's nearer edge, so that zeroed memory means "nothing covered yet".
  uint64_t from = is_backward ? (uint64_t)parent_end - (uint64_t)end : (uint64_t)start - (uint64_t)parent_start;
  uint64_t to = is_backward ? (uint64_t)parent_end - (uint64_t)start : (uint64_t)end - (uint64_t)parent_start;
  if (end <= start)
    return;
  uint64_t reached = (uint64_t)reach[parent];
  if (to <= reached)
    return;
  relation->self_ns[parent] -= (int64_t)(to - (from > reached ? from : reached));
  reach[parent] = (int64_t)to;
}

// Room for self times and for how far each span is covered, zeroed.
static void make_room(struct relation *relation, int64_t **ret_reach)
{
  size_t count = relation->spans->count;
  if (relation->are_planes_free) {
    relation->self_ns = relation->plane[0];
    *ret_reach = relation->plane[1];
    memset(*ret_reach, 0, count * sizeof **ret_reach);
  } else {
    relation->self_ns = arena_alloc_array(&relation->self_arena, count + 1, sizeof *relation->self_ns);
    *ret_reach = arena_alloc_array(&relation->self_arena, count + 1, sizeof **ret_reach);
  }
}

void relation_self(struct relation *relation)
{
  const struct parents *parents = &relation->parents;
  const struct store_spans view = rows_for_ends(relation->spans, parents->has_open);
  const struct store_spans *spans = &view;
  int64_t *reach;
  make_room(relation, &reach);
  int64_t *self = relation->self_ns;
  if (spans->count > 0)
    memcpy(self, spans->duration_ns, spans->count * sizeof *self);
  for (size_t i = 0; i < parents->forward_count; i++)
    cover(relation, spans, parents->forward_row[i], false, reach);
  uint32_t last_id = 0;
  bool is_backward = false;
  for (size_t i = spans->count; i-- > 0;) {
    if (spans->track_id[i] != last_id) {
      last_id = spans->track_id[i];
      const struct parents_track *track = parents_track_of(parents, last_id);
      is_backward = track != NULL && track->has_host && !track->is_forward;
    }
    if (is_backward)
      cover(relation, spans, (uint32_t)i, true, reach);
  }
  for (size_t i = 0; i < spans->count; i++)
    if (spans->kind[i] == XSP_KIND_EXECUTION || (rows_flags(spans, i) & STORE_SPAN_OPEN))
      self[i] = spans->duration_ns[i];
}
