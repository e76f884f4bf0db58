// SPDX-License-Identifier: Apache-2.0
// Walks up the parents once per span, remembering what is known of the ancestors; then takes children's time off their
// parents'. Called after parents_find.
#include "correlate/relation.h"

#include <string.h>

#define UNKNOWN INT32_MIN // of observations
#define ON_PATH (INT32_MIN + 1)
#define NOT_HELD (UINT32_MAX - 1) // of what relation_hold computes: no row, as no run has so many

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
  uint32_t parent = relation->parents.row[row];
  uint8_t flags = rows_flags(relation->spans, row);
  int32_t observation = parent != ROW_NONE ? relation->observation[parent] : -1;
  bool is_model = relation->spans->level[row] == XSP_LEVEL_MODEL;
  bool begins = relation->parents.has_steps ? (flags & STORE_SPAN_STEP) != 0 : is_model;
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
  int32_t *observation = relation->observation;
  path->rows.count = 0;
  for (uint32_t at = row; at != ROW_NONE && observation[at] == UNKNOWN; at = relation->parents.row[at]) {
    observation[at] = ON_PATH;
    *vector_add(&path->rows) = at;
  }
  uint32_t top = relation->parents.row[path->rows.items[path->rows.count - 1]];
  if (top != ROW_NONE && observation[top] == ON_PATH) {
    size_t first = path->rows.count - 1;
    while (path->rows.items[first] != top)
      first--;
    break_circle(relation, path, first);
    for (size_t i = 0; i < path->rows.count; i++)
      observation[path->rows.items[i]] = UNKNOWN;
    climb_from(relation, row, path); // once: a path leads into one circle at most
    return;
  }
  while (path->rows.count > 0)
    settle(relation, path->rows.items[--path->rows.count]);
}

void relation_climb(struct relation *relation)
{
  size_t count = relation->spans->count, later = 0;
  struct path path = {0};
  relation->plane = arena_alloc_array(&relation->tree_arena, count + 1, 2 * sizeof(uint32_t));
  relation->observation = relation->plane;
  relation->nearest = (uint32_t *)relation->plane + count;
  for (size_t i = 0; i < count; i++)
    relation->observation[i] = UNKNOWN;
  for (size_t i = 0; i < count; i++) {
    uint32_t parent = relation->parents.row[i];
    later += parent != ROW_NONE && parent > i;
    if (relation->observation[i] != UNKNOWN)
      continue;
    if (parent == ROW_NONE || relation->observation[parent] > ON_PATH)
      settle(relation, (uint32_t)i);
    else
      climb_from(relation, (uint32_t)i, &path);
  }
  relation->parents_are_later = later > count / 2;
  vector_done(&path.rows);
}

// ---- what is inherited from parents ----------------------------------------------------------------------------------
#define DEPTH (-1) // instead of a level

// The compiler makes a copy for each `level`.
static inline __attribute__((always_inline)) void inherit(const struct relation *relation, uint32_t row, int level)
{
  uint32_t parent = relation->parents.row[row], *value = relation->nearest;
  if (level == DEPTH)
    value[row] = parent == ROW_NONE ? 0 : value[parent] + 1;
  else if (relation->spans->level[row] == level)
    value[row] = row;
  else
    value[row] = parent == ROW_NONE ? ROW_NONE : value[parent];
}

static inline __attribute__((always_inline)) void hold(const struct relation *relation, int level)
{
  uint32_t count = (uint32_t)relation->spans->count, *value = relation->nearest;
  const uint32_t *parents = relation->parents.row;
  struct path path = {0};
  for (uint32_t i = 0; i < count; i++)
    value[i] = NOT_HELD;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t row = relation->parents_are_later ? count - 1 - i : i;
    if (value[row] == NOT_HELD && (parents[row] == ROW_NONE || value[parents[row]] != NOT_HELD)) {
      inherit(relation, row, level);
      continue;
    }
    for (uint32_t at = row; at != ROW_NONE && value[at] == NOT_HELD; at = parents[at])
      *vector_add(&path.rows) = at;
    while (path.rows.count > 0)
      inherit(relation, path.rows.items[--path.rows.count], level);
  }
  vector_done(&path.rows);
}

void relation_hold(struct relation *relation, enum store_column column)
{
  if (relation->held == column)
    return;
  if (column == STORE_DEPTH)
    hold(relation, DEPTH);
  else if (column == STORE_MODEL_ID)
    hold(relation, XSP_LEVEL_MODEL);
  else if (column == STORE_LAYER_ID)
    hold(relation, XSP_LEVEL_LAYER);
  else
    return;
  relation->held = column;
}

// ---- self times ------------------------------------------------------------------------------------------------------
// What children cover of a span, in eight bytes: few spans take longer than four seconds.
struct relation_cover {
  uint32_t reach, covered; // NOT_NARROW: place in relation->wide, or NOT_WANTED
};
#define NOT_NARROW UINT32_MAX
#define NOT_WANTED UINT32_MAX // of spans whose self time is their duration

// Takes `row` off its parent where both are on one track. The reach is how far the parent's children cover it so far: up
// to there in a forward pass, down to there in a backward one.
static inline void cover(struct relation *relation, const struct store_spans *spans, uint32_t row, bool is_backward)
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
  struct relation_cover *narrow = &relation->cover[parent];
  if (narrow->reach != NOT_NARROW) { // so `to`, at most the parent's duration, fits
    if (to > narrow->reach) {
      narrow->covered += (uint32_t)(to - (from > narrow->reach ? from : narrow->reach));
      narrow->reach = (uint32_t)to;
    }
  } else if (narrow->covered != NOT_WANTED) {
    struct relation_wide *wide = &relation->wide.items[narrow->covered];
    if (to > wide->reach) {
      wide->covered += to - (from > wide->reach ? from : wide->reach);
      wide->reach = to;
    }
  }
}

static void begin_cover(struct relation *relation)
{
  const struct store_spans *spans = relation->spans;
  relation->cover = relation->is_plane_free
                        ? relation->plane
                        : arena_alloc_array(&relation->self_arena, spans->count + 1, sizeof *relation->cover);
  for (size_t i = 0; i < spans->count; i++) {
    struct relation_cover first = {0, 0};
    if (spans->kind[i] == XSP_KIND_EXECUTION || (rows_flags(spans, i) & STORE_SPAN_OPEN)) {
      first = (struct relation_cover){NOT_NARROW, NOT_WANTED};
    } else if (spans->duration_ns[i] >= NOT_NARROW) {
      first = (struct relation_cover){NOT_NARROW, (uint32_t)relation->wide.count};
      (void)vector_add(&relation->wide);
    }
    relation->cover[i] = first;
  }
}

void relation_self(struct relation *relation)
{
  const struct parents *parents = &relation->parents;
  const struct store_spans view = rows_for_ends(relation->spans, parents->has_open);
  const struct store_spans *spans = &view;
  begin_cover(relation);
  for (size_t i = 0; i < parents->forward_count; i++)
    cover(relation, spans, parents->forward_row[i], false);
  uint32_t last_id = 0;
  bool is_backward = false;
  for (size_t i = spans->count; i-- > 0;) {
    if (spans->track_id[i] != last_id) {
      last_id = spans->track_id[i];
      const struct parents_track *track = parents_track_of(parents, last_id);
      is_backward = track != NULL && track->has_host && !track->is_forward;
    }
    if (is_backward)
      cover(relation, spans, (uint32_t)i, true);
  }
}

int64_t relation_self_of(const struct relation *relation, size_t row)
{
  struct relation_cover narrow = relation->cover[row];
  int64_t duration = relation->spans->duration_ns[row];
  if (narrow.reach != NOT_NARROW)
    return duration - narrow.covered;
  return narrow.covered == NOT_WANTED ? duration : duration - (int64_t)relation->wide.items[narrow.covered].covered;
}
