// SPDX-License-Identifier: Apache-2.0
// Walks up the parents once per span, remembering what is known of the ancestors; then takes children's time off their
// parents'. Called by correlate_spans after parents_find.
#include "correlate/tree.h"

#define UNKNOWN UINT32_MAX
#define ON_PATH (UINT32_MAX - 1)

struct path {
  uint32_t *row;
  size_t count, capacity;
};

static bool path_push(struct path *path, uint32_t row, struct arena *arena)
{
  if (path->count == path->capacity) {
    size_t capacity = path->capacity == 0 ? 256 : path->capacity * 2;
    uint32_t *larger = arena_alloc_array(arena, capacity, sizeof *larger);
    if (larger == NULL)
      return false;
    if (path->count > 0)
      memcpy(larger, path->row, path->count * sizeof *larger);
    path->row = larger;
    path->capacity = capacity;
  }
  path->row[path->count++] = row;
  return true;
}

static void settle(struct tree *tree, uint32_t row)
{
  const struct store_spans *spans = tree->spans;
  struct store_derived *derived = tree->derived;
  uint32_t parent = tree->parents->row[row];
  bool is_open = spans->flags != NULL && (spans->flags[row] & STORE_SPAN_OPEN);
  uint8_t level = spans->level[row];
  int64_t id = spans->span_id[row];
  int64_t model = 0;
  int64_t layer = 0;
  uint32_t observation = ROW_NONE;
  derived->depth[row] = 0;
  if (parent != ROW_NONE) {
    derived->depth[row] = derived->depth[parent] + 1;
    derived->parent_id[row] = spans->span_id[parent];
    model = derived->model_id[parent];
    layer = derived->layer_id[parent];
    observation = tree->observation_row[parent];
  }
  derived->model_id[row] = level == XSP_LEVEL_MODEL ? id : model;
  derived->layer_id[row] = level == XSP_LEVEL_LAYER ? id : layer;
  bool begins = tree->is_step != NULL ? tree->is_step[row] != 0 : level == XSP_LEVEL_MODEL;
  tree->observation_row[row] = observation == ROW_NONE && begins && !is_open ? row : observation;
}

// Rows path[first..] are a circle: the first in the file loses its parent.
static void break_circle(struct tree *tree, const struct path *path, size_t first)
{
  uint32_t least = path->row[first];
  for (size_t i = first; i < path->count; i++)
    least = path->row[i] < least ? path->row[i] : least;
  tree->parents->row[least] = ROW_NONE;
  tree->parents->basis[least] = BASIS_NONE;
}

static bool climb_from(struct tree *tree, uint32_t row, struct path *path, struct arena *arena)
{
  uint32_t *depth = tree->derived->depth;
  path->count = 0;
  for (uint32_t at = row; at != ROW_NONE && depth[at] == UNKNOWN; at = tree->parents->row[at]) {
    depth[at] = ON_PATH;
    if (!path_push(path, at, arena))
      return false;
  }
  uint32_t top = tree->parents->row[path->row[path->count - 1]];
  if (top != ROW_NONE && depth[top] == ON_PATH) {
    size_t first = path->count - 1;
    while (path->row[first] != top)
      first--;
    break_circle(tree, path, first);
    for (size_t i = 0; i < path->count; i++)
      depth[path->row[i]] = UNKNOWN;
    return climb_from(tree, row, path, arena); // once: a path leads into one circle at most
  }
  while (path->count > 0)
    settle(tree, path->row[--path->count]);
  return true;
}

static bool is_recorded(const struct tree *tree, uint32_t row) // with its basis
{
  return tree->parents->has_bases && STORE_BASIS_OF_FLAGS(tree->spans->flags[row]) >= 0;
}

// The parent that the source named for a row and that is not in this run; 0: none such.
static int64_t absent_parent(const struct tree *tree, uint32_t row)
{
  const struct store_spans *spans = tree->spans;
  const struct parents *parents = tree->parents;
  bool is_named = parents->basis[row] == BASIS_EXPLICIT;
  if (is_recorded(tree, row)) // with any basis; one that was lost to break a circle is present
    is_named = parents_row_of(parents, spans, spans->recorded_parent_id[row]) == ROW_NONE;
  return is_named && parents->row[row] == ROW_NONE ? spans->recorded_parent_id[row] : 0;
}

// Parents that are named but absent stay named; an execution takes over its launch's.
static void name_absent(struct tree *tree)
{
  const struct store_spans *spans = tree->spans;
  const struct parents *parents = tree->parents;
  for (size_t i = 0; i < spans->count; i++) {
    if (parents->row[i] != ROW_NONE)
      continue;
    uint32_t from = (uint32_t)i;
    if (parents->basis[i] == BASIS_CORRELATION && !is_recorded(tree, from))
      from = launches_find(&parents->launches, spans->correlation_id[i]);
    tree->derived->parent_id[i] = absent_parent(tree, from);
  }
}

bool tree_climb(struct tree *tree, struct arena *arena)
{
  size_t count = tree->spans->count;
  struct path path = {0};
  memset(tree->derived->depth, 0xff, count * sizeof *tree->derived->depth);
  for (size_t i = 0; i < count; i++) {
    if (tree->derived->depth[i] != UNKNOWN)
      continue;
    uint32_t parent = tree->parents->row[i];
    if (parent == ROW_NONE || tree->derived->depth[parent] < ON_PATH)
      settle(tree, (uint32_t)i);
    else if (!climb_from(tree, (uint32_t)i, &path, arena))
      return false;
  }
  if (tree->parents->has_links)
    name_absent(tree);
  memcpy(tree->derived->basis, tree->parents->basis, count);
  return true;
}

// Takes `row` off its parent where both are on one track. `reach` is how far the parent's children cover it so far: up
// to there in a forward pass, down to there in a backward one.
static void cover(const struct tree *tree, uint32_t row, bool is_backward, int64_t *reach)
{
  const struct store_spans *spans = tree->spans;
  uint32_t parent = tree->parents->row[row];
  if (parent == ROW_NONE || spans->track_id[parent] != spans->track_id[row] || spans->track_id[row] == 0)
    return;
  int64_t parent_start = spans->start_ns[parent];
  int64_t parent_end = parents_end(spans, parent);
  int64_t start = spans->start_ns[row] > parent_start ? spans->start_ns[row] : parent_start;
  int64_t end = parents_end(spans, row) < parent_end ? parents_end(spans, row) : parent_end;
  // Relative to the parent's nearer edge, so that zeroed memory means "nothing covered yet".
  uint64_t from = is_backward ? (uint64_t)parent_end - (uint64_t)end : (uint64_t)start - (uint64_t)parent_start;
  uint64_t to = is_backward ? (uint64_t)parent_end - (uint64_t)start : (uint64_t)end - (uint64_t)parent_start;
  if (end <= start)
    return;
  uint64_t reached = (uint64_t)reach[parent];
  if (to <= reached)
    return;
  tree->derived->self_ns[parent] -= (int64_t)(to - (from > reached ? from : reached));
  reach[parent] = (int64_t)to;
}

bool tree_self(struct tree *tree, struct arena *arena)
{
  const struct store_spans *spans = tree->spans;
  const struct parents *parents = tree->parents;
  int64_t *self = tree->derived->self_ns;
  int64_t *reach = arena_alloc_array(arena, spans->count + 1, sizeof *reach);
  if (reach == NULL)
    return false;
  memcpy(self, spans->duration_ns, spans->count * sizeof *self);
  for (size_t i = 0; i < parents->forward_count; i++)
    cover(tree, parents->forward_row[i], false, reach);
  uint32_t last_id = 0;
  bool is_backward = false;
  for (size_t i = spans->count; i-- > 0;) {
    if (spans->track_id[i] != last_id) {
      last_id = spans->track_id[i];
      const struct parents_track *track = parents_track_of(parents, last_id);
      is_backward = track != NULL && track->has_host && !track->is_forward;
    }
    if (is_backward)
      cover(tree, (uint32_t)i, true, reach);
  }
  for (size_t i = 0; i < spans->count; i++)
    if (spans->kind[i] == XSP_KIND_EXECUTION || (spans->flags != NULL && (spans->flags[i] & STORE_SPAN_OPEN)))
      self[i] = spans->duration_ns[i];
  return true;
}
