// SPDX-License-Identifier: Apache-2.0
// A run's spans in lanes of strictly nested spans; tags by span. Called by timeline.c, the getters by exports. Pure.
#include "report/exports/timeline.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

// ---- sorting ---------------------------------------------------------------------------------------------------------
// By start, the longer first, the higher level first, then file order (which makes the order total).
ROWS_SORTED_BY(by_start, uint32_t, struct timeline_run,
               ORDER(of->spans.start_ns[a], of->spans.start_ns[b])
                   ?: ORDER(timeline_drawn_end(of, b), timeline_drawn_end(of, a))
                   ?: ORDER(of->spans.level[a], of->spans.level[b]) ?: ORDER(a, b))

// Files have spans by start or by end, so a row is a few places from its own: that of the spans inside it.
#define STEPS_A_ROW 32

void timeline_sort_rows(uint32_t *rows, size_t count, int (*compare)(const void *, const void *, void *), void *context)
{
  size_t left = STEPS_A_ROW * count;
  for (size_t i = 1; i < count; i++) {
    uint32_t row = rows[i];
    size_t at = i;
    for (; at > 0 && left > 0 && compare(&rows[at - 1], &row, context) > 0; at--, left--)
      rows[at] = rows[at - 1];
    rows[at] = row;
  }
  if (left == 0)
    qsort_r(rows, count, sizeof *rows, compare, context);
}

// Into run->order: by track, those of a track by start. Tracks are by id, and describe all spans.
static void sort_by_place(struct timeline_run *run)
{
  size_t *ends SCOPED(scoped_free) = memory_new(run->track_count + 1, sizeof *ends);
  uint32_t *track_of SCOPED(scoped_free) = memory_new(run->spans.count, sizeof *track_of);
  for (size_t row = 0, track = 0; row < run->spans.count; row++) {
    uint32_t track_id = run->spans.track_id[row];
    if (row == 0 || track_id != run->spans.track_id[row - 1])
      track = timeline_find_track(run->tracks[0].track, run->track_count, track_id);
    track_of[row] = (uint32_t)track;
    ends[track + 1]++;
  }
  for (size_t track = 0; track < run->track_count; track++)
    ends[track + 1] += ends[track];
  for (uint32_t row = 0; row < run->spans.count; row++)
    run->order[ends[track_of[row]]++] = row; // then ends[track] is the track's end
  for (size_t track = 0, first = 0; track < run->track_count; first = ends[track++])
    timeline_sort_rows(run->order + first, ends[track] - first, by_start, run);
}

struct tag_at {
  struct store_tag tag;
  size_t position;
};

SORTED_BY(by_span, struct tag_at, RISING(tag.span_id) ?: RISING(position))

void timeline_sort_tags(struct store_tag *tags, size_t count)
{
  bool is_sorted = true;
  for (size_t i = 1; i < count; i++)
    is_sorted &= tags[i - 1].span_id <= tags[i].span_id;
  if (is_sorted)
    return;
  struct tag_at *sorted SCOPED(scoped_free) = memory_new(count, sizeof *sorted);
  for (size_t i = 0; i < count; i++)
    sorted[i] = (struct tag_at){tags[i], i};
  qsort(sorted, count, sizeof *sorted, by_span);
  for (size_t i = 0; i < count; i++)
    tags[i] = sorted[i].tag;
}

// ---- lanes -----------------------------------------------------------------------------------------------------------
// Each span of a track goes to the first lane where it crosses no other. A track may need as many lanes as it has spans,
// so lanes are the leaves of a tree: a node has the least and the largest end under it, where a lane's end is that of its
// innermost open span. Lanes whose span has ended, and the first lane whose end is late enough, are each found from the
// root.
#define NO_END INT64_MAX // of a lane without an open span: it encloses all

struct lane_stack {
  VECTOR(int64_t) ends; // of one lane's open spans, the innermost last
};
struct lane_node {
  int64_t least, largest;
};
struct lane_tree {
  struct lane_stack *lanes;
  struct lane_node *nodes; // the root is 1, a node's children 2n and 2n + 1; leaves from `room` on
  size_t count, room;      // lanes in use; a power of two
};

static void set_end(struct lane_tree *tree, size_t lane)
{
  const struct lane_stack *stack = &tree->lanes[lane];
  int64_t end_ns = stack->ends.count > 0 ? stack->ends.items[stack->ends.count - 1] : NO_END;
  size_t node = tree->room + lane;
  tree->nodes[node] = (struct lane_node){end_ns, end_ns};
  for (node /= 2; node > 0; node /= 2) {
    const struct lane_node *left = &tree->nodes[2 * node], *right = &tree->nodes[2 * node + 1];
    tree->nodes[node] = (struct lane_node){left->least < right->least ? left->least : right->least,
                                           left->largest > right->largest ? left->largest : right->largest};
  }
}

static void grow(struct lane_tree *tree)
{
  size_t room = tree->room == 0 ? 1 : 2 * tree->room;
  tree->lanes = memory_resize(tree->lanes, room, sizeof *tree->lanes);
  memset(tree->lanes + tree->room, 0, (room - tree->room) * sizeof *tree->lanes);
  free(tree->nodes);
  tree->nodes = memory_new(2 * room, sizeof *tree->nodes);
  tree->room = room;
  for (size_t lane = 0; lane < room; lane++)
    set_end(tree, lane);
}

// Pops spans that have ended at `start_ns`, which only grows.
static void end_spans(struct lane_tree *tree, int64_t start_ns)
{
  while (tree->room > 0 && tree->nodes[1].least < NO_END && tree->nodes[1].least <= start_ns) {
    size_t node = 1;
    while (node < tree->room)
      node = tree->nodes[2 * node].least <= start_ns ? 2 * node : 2 * node + 1;
    struct lane_stack *stack = &tree->lanes[node - tree->room];
    while (stack->ends.count > 0 && stack->ends.items[stack->ends.count - 1] <= start_ns)
      stack->ends.count--;
    set_end(tree, node - tree->room);
  }
}

static size_t first_lane(struct lane_tree *tree, int64_t end_ns)
{
  if (tree->room == 0 || tree->nodes[1].largest < end_ns)
    grow(tree);
  size_t node = 1;
  while (node < tree->room)
    node = tree->nodes[2 * node].largest >= end_ns ? 2 * node : 2 * node + 1;
  return node - tree->room;
}

// Chooses a lane for each of the rows of one track; `lane_of` receives it. Returns the number of lanes.
static size_t choose_lanes(const struct timeline_run *run, const uint32_t *rows, size_t count, uint32_t *lane_of)
{
  struct lane_tree tree = {0};
  for (size_t i = 0; i < count; i++) {
    int64_t end_ns = timeline_drawn_end(run, rows[i]);
    end_spans(&tree, run->spans.start_ns[rows[i]]);
    size_t lane = first_lane(&tree, end_ns);
    *vector_add(&tree.lanes[lane].ends) = end_ns;
    set_end(&tree, lane);
    tree.count = lane + 1 > tree.count ? lane + 1 : tree.count;
    lane_of[i] = (uint32_t)lane;
  }
  for (size_t lane = 0; lane < tree.room; lane++)
    vector_done(&tree.lanes[lane].ends);
  free(tree.lanes);
  free(tree.nodes);
  return tree.count;
}

struct lanes {
  VECTOR(struct timeline_lane) all;
};

// Splits rows [first, first+count) of run->order, all of one track, into lanes, in place.
static void split_track(struct timeline *timeline, struct arena *arena, struct timeline_run *run, struct lanes *lanes,
                        size_t track, size_t first, size_t count)
{
  uint32_t *lane_of SCOPED(scoped_free) = memory_new(count, sizeof *lane_of);
  uint32_t *rows SCOPED(scoped_free) = memory_new(count, sizeof *rows);
  const struct timeline_track *drawn = &run->tracks[track];
  size_t lane_count = choose_lanes(run, run->order + first, count, lane_of), from = lanes->all.count;
  for (unsigned i = 0; i < lane_count; i++) {
    bool is_further = i > 0;
    const char *name = is_further ? arena_format(arena, "%s (overlapping %u)", drawn->name, i) : drawn->name;
    int64_t tid = is_further ? timeline_new_tid(timeline, drawn->process) : drawn->tid;
    *vector_add(&lanes->all) = (struct timeline_lane){track, i, tid, name, first, 0};
  }
  struct timeline_lane *all = lanes->all.items + from;
  for (size_t i = 0; i < count; i++)
    all[lane_of[i]].count++;
  for (size_t i = 1; i < lane_count; i++)
    all[i].first = all[i - 1].first + all[i - 1].count;
  memcpy(rows, run->order + first, count * sizeof *rows);
  for (size_t i = 0; i < lane_count; i++)
    all[i].count = 0;
  for (size_t i = 0; i < count; i++) {
    struct timeline_lane *lane = &all[lane_of[i]];
    run->order[lane->first + lane->count++] = rows[i];
  }
}

static void lay(struct timeline *timeline, struct arena *arena, struct timeline_run *run, struct lanes *lanes)
{
  for (size_t first = 0, end; first < run->spans.count; first = end) {
    uint32_t track_id = run->spans.track_id[run->order[first]];
    for (end = first + 1; end < run->spans.count && run->spans.track_id[run->order[end]] == track_id;)
      end++;
    size_t track = timeline_find_track(run->tracks[0].track, run->track_count, track_id); // each is described
    if (run->tracks[track].track->clock == NULL)
      split_track(timeline, arena, run, lanes, track, first, end - first);
  }
}

enum status timeline_lay_lanes(struct timeline *timeline, struct arena *arena, struct timeline_run *run,
                               struct error *err)
{
  struct lanes lanes = {0};
  if (run->spans.count > UINT32_MAX)
    return error_set(err, STATUS_INPUT, "cannot lay out the timeline", NULL, NULL, "a run has 2^32 spans or more");
  if (run->spans.correlation_id != NULL)
    timeline_find_arrows(arena, run);
  run->order = arena_alloc_array(arena, run->spans.count, sizeof *run->order);
  sort_by_place(run);
  lay(timeline, arena, run, &lanes);
  run->lane_count = lanes.all.count; // into the arena, so that the run has one owner
  run->lanes = arena_alloc_array(arena, lanes.all.count, sizeof *run->lanes);
  if (lanes.all.count > 0)
    memcpy(run->lanes, lanes.all.items, lanes.all.count * sizeof *run->lanes);
  vector_done(&lanes.all);
  return STATUS_OK;
}

// ---- getters ---------------------------------------------------------------------------------------------------------
size_t timeline_first_tag(const struct store_tag *tags, size_t count, int64_t span_id)
{
  return count == 0 ? 0 : sorted_lower_bound_i64(span_id, &tags->span_id, count, sizeof *tags);
}

struct timeline_range timeline_tags(const struct timeline_run *run, int64_t span_id)
{
  uint64_t row = run->tag_starts == NULL ? 0 : (uint64_t)span_id - (uint64_t)run->spans.span_id[0];
  if (run->tag_starts != NULL && row < run->spans.count)
    return (struct timeline_range){run->tag_starts[row], run->tag_starts[row + 1]};
  size_t first = timeline_first_tag(run->tags, run->tag_count, span_id), end = first;
  while (end < run->tag_count && run->tags[end].span_id == span_id)
    end++;
  return (struct timeline_range){first, end};
}

size_t timeline_lower_bound(const int64_t *numbers, const uint32_t *order, size_t count, int64_t number)
{
  return PARTITION_POINT(i, 0, count, numbers[order[i]] < number);
}

// ---- walking ---------------------------------------------------------------------------------------------------------
void timeline_walk(const struct timeline_run *run, const struct timeline_lane *lane, const struct timeline_sink *sink)
{
  uint32_t *stack SCOPED(scoped_free) = memory_new(lane->count, sizeof *stack);
  size_t depth = 0;
  for (size_t i = 0; i <= lane->count; i++) {
    uint32_t row = i < lane->count ? run->order[lane->first + i] : 0;
    while (depth > 0 && (i == lane->count || timeline_drawn_end(run, stack[depth - 1]) <= run->spans.start_ns[row])) {
      depth--;
      if (sink->end != NULL && !timeline_is_open(run, stack[depth]))
        sink->end(sink->context, lane, stack[depth]);
    }
    if (i == lane->count)
      break;
    sink->begin(sink->context, lane, row);
    stack[depth++] = row;
  }
}
