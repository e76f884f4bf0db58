// SPDX-License-Identifier: Apache-2.0
// A run's spans in lanes of strictly nested spans; tags by span; arrows. Called by timeline.c, the getters by
// exports. Pure.
#include "report/exports/timeline.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

// ---- sorting ---------------------------------------------------------------------------------------------------------
static int compare(int64_t a, int64_t b)
{
  return (a > b) - (a < b);
}

static int64_t drawn_end(const struct timeline_run *run, uint32_t row)
{
  return timeline_is_open(run, row) ? INT64_MAX : timeline_end(run, row);
}

// By track, then start, the longer first, the higher level first, then file order (which makes the order total).
static int by_place(const void *left, const void *right, void *context)
{
  const struct timeline_run *run = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  const struct store_spans *spans = &run->spans;
  int order = compare(spans->track_id[a], spans->track_id[b]);
  if (order == 0)
    order = compare(spans->start_ns[a], spans->start_ns[b]);
  if (order == 0)
    order = compare(drawn_end(run, b), drawn_end(run, a));
  if (order == 0)
    order = compare(spans->level[a], spans->level[b]);
  return order != 0 ? order : compare(a, b);
}

static int by_correlation(const void *left, const void *right, void *context)
{
  const struct timeline_run *run = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  int order = compare(run->spans.correlation_id[a], run->spans.correlation_id[b]);
  return order != 0 ? order : compare(a, b);
}

struct tag_at {
  struct store_tag tag;
  size_t position;
};

static int by_span(const void *left, const void *right)
{
  const struct tag_at *a = left, *b = right;
  int order = compare(a->tag.span_id, b->tag.span_id);
  return order != 0 ? order : compare((int64_t)a->position, (int64_t)b->position);
}

void timeline_sort_tags(struct store_tag *tags, size_t count)
{
  bool is_sorted = true;
  for (size_t i = 1; i < count; i++)
    is_sorted &= tags[i - 1].span_id <= tags[i].span_id;
  if (is_sorted)
    return;
  struct tag_at *sorted = memory_new(count, sizeof *sorted);
  for (size_t i = 0; i < count; i++)
    sorted[i] = (struct tag_at){tags[i], i};
  qsort(sorted, count, sizeof *sorted, by_span);
  for (size_t i = 0; i < count; i++)
    tags[i] = sorted[i].tag;
  free(sorted);
}

static void sort_asynchronous(struct arena *arena, struct timeline_run *run)
{
  const struct store_spans *spans = &run->spans;
  run->launch_order = arena_alloc_array(arena, spans->count, sizeof *run->launch_order);
  run->execution_order = arena_alloc_array(arena, spans->count, sizeof *run->execution_order);
  for (uint32_t row = 0; row < spans->count; row++) {
    if (spans->correlation_id[row] == 0)
      continue;
    if (spans->kind[row] == XSP_KIND_LAUNCH)
      run->launch_order[run->launch_count++] = row;
    else if (spans->kind[row] == XSP_KIND_EXECUTION)
      run->execution_order[run->execution_count++] = row;
  }
  qsort_r(run->launch_order, run->launch_count, sizeof(uint32_t), by_correlation, run);
  qsort_r(run->execution_order, run->execution_count, sizeof(uint32_t), by_correlation, run);
}

// ---- lanes -----------------------------------------------------------------------------------------------------------
#define LANES_MOST 256u // of one track; spans that cross in all of them share the last (and may be drawn cut off)

struct stack {
  VECTOR(int64_t) ends; // of one lane's open spans
};

// Does a span fit into the lane, given that starts only grow? Pops spans that have ended.
static bool stack_fits(struct stack *stack, int64_t start_ns, int64_t end_ns)
{
  while (stack->ends.count > 0 && stack->ends.items[stack->ends.count - 1] <= start_ns)
    stack->ends.count--;
  return stack->ends.count == 0 || stack->ends.items[stack->ends.count - 1] >= end_ns;
}

// Chooses a lane for each of the rows of one track; `lane_of` receives it. Returns the number of lanes.
static size_t choose_lanes(const struct timeline_run *run, const uint32_t *rows, size_t count, uint16_t *lane_of)
{
  struct stack stacks[LANES_MOST] = {0};
  size_t lanes = 1;
  for (size_t i = 0; i < count; i++) {
    int64_t start_ns = run->spans.start_ns[rows[i]], end_ns = drawn_end(run, rows[i]);
    size_t lane = 0;
    while (lane + 1 < LANES_MOST && !stack_fits(&stacks[lane], start_ns, end_ns))
      lane++;
    lanes = lane + 1 > lanes ? lane + 1 : lanes;
    *vector_add(&stacks[lane].ends) = end_ns;
    lane_of[i] = (uint16_t)lane;
  }
  for (size_t lane = 0; lane < LANES_MOST; lane++)
    vector_done(&stacks[lane].ends);
  return lanes;
}

struct lanes {
  VECTOR(struct timeline_lane) all;
};

// Splits rows [first, first+count) of run->order, all of one track, into lanes, in place.
static void split_track(struct arena *arena, struct timeline_run *run, struct lanes *lanes, size_t track, size_t first,
                        size_t count)
{
  uint16_t *lane_of = memory_new(count, sizeof *lane_of);
  uint32_t *rows = memory_new(count, sizeof *rows);
  size_t lane_count = choose_lanes(run, run->order + first, count, lane_of), at = first;
  memcpy(rows, run->order + first, count * sizeof *rows);
  for (unsigned lane = 0; lane < lane_count; lane++) {
    const char *name = run->tracks[track].name;
    if (lane > 0)
      name = arena_format(arena, "%s (overlapping %u)", name, lane);
    size_t lane_first = at;
    for (size_t i = 0; i < count; i++)
      if (lane_of[i] == lane)
        run->order[at++] = rows[i];
    *vector_add(&lanes->all) = (struct timeline_lane){track, lane, name, lane_first, at - lane_first};
  }
  free(lane_of);
  free(rows);
}

static size_t find_track(const struct timeline_run *run, uint32_t track_id)
{
  size_t index = 0;
  while (index < run->track_count && run->tracks[index].track->track_id != track_id)
    index++;
  return index;
}

static enum status lay(struct arena *arena, struct timeline_run *run, struct lanes *lanes, struct error *err)
{
  for (size_t first = 0; first < run->spans.count;) {
    uint32_t track_id = run->spans.track_id[run->order[first]];
    size_t end = first;
    while (end < run->spans.count && run->spans.track_id[run->order[end]] == track_id)
      end++;
    size_t track = find_track(run, track_id);
    if (track == run->track_count)
      return error_set(err, STATUS_INPUT, "cannot lay out the timeline", NULL, NULL,
                       "run %lld has spans on track %u, which it does not describe", (long long)run->run->run_id,
                       track_id);
    if (run->tracks[track].track->clock == NULL)
      split_track(arena, run, lanes, track, first, end - first);
    first = end;
  }
  return STATUS_OK;
}

enum status timeline_lay_lanes(struct arena *arena, struct timeline_run *run, struct error *err)
{
  struct lanes lanes = {0};
  if (run->spans.count > UINT32_MAX)
    return error_set(err, STATUS_INPUT, "cannot lay out the timeline", NULL, NULL, "a run has 2^32 spans or more");
  timeline_sort_tags(run->tags, run->tag_count);
  sort_asynchronous(arena, run);
  run->order = arena_alloc_array(arena, run->spans.count, sizeof *run->order);
  for (size_t row = 0; row < run->spans.count; row++)
    run->order[row] = (uint32_t)row;
  qsort_r(run->order, run->spans.count, sizeof *run->order, by_place, run);
  enum status status = lay(arena, run, &lanes, err);
  run->lane_count = lanes.all.count; // into the arena, so that the run has one owner
  run->lanes = arena_alloc_array(arena, lanes.all.count, sizeof *run->lanes);
  if (lanes.all.count > 0)
    memcpy(run->lanes, lanes.all.items, lanes.all.count * sizeof *run->lanes);
  vector_done(&lanes.all);
  return status;
}

// ---- getters ---------------------------------------------------------------------------------------------------------
size_t timeline_first_tag(const struct store_tag *tags, size_t count, int64_t span_id)
{
  return count == 0 ? 0 : sorted_lower_bound_i64(span_id, &tags->span_id, count, sizeof *tags);
}

struct timeline_range timeline_tags(const struct timeline_run *run, int64_t span_id)
{
  size_t first = timeline_first_tag(run->tags, run->tag_count, span_id), end = first;
  while (end < run->tag_count && run->tags[end].span_id == span_id)
    end++;
  return (struct timeline_range){first, end};
}

size_t timeline_lower_bound(const int64_t *numbers, const uint32_t *order, size_t count, int64_t number)
{
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (numbers[order[middle]] < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct timeline_range timeline_executions(const struct timeline_run *run, uint32_t launch)
{
  const int64_t *ids = run->spans.correlation_id;
  size_t first = timeline_lower_bound(ids, run->execution_order, run->execution_count, ids[launch]), end = first;
  while (ids[launch] != 0 && end < run->execution_count && ids[run->execution_order[end]] == ids[launch])
    end++;
  return (struct timeline_range){first, end};
}

bool timeline_has_launch(const struct timeline_run *run, uint32_t execution)
{
  const int64_t *ids = run->spans.correlation_id;
  size_t at = timeline_lower_bound(ids, run->launch_order, run->launch_count, ids[execution]);
  return ids[execution] != 0 && at < run->launch_count && ids[run->launch_order[at]] == ids[execution];
}

uint64_t timeline_flow_id(const struct timeline_run *run, uint32_t execution)
{
  uint64_t id = (uint64_t)run->run->run_id * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)run->spans.span_id[execution];
  id = (id ^ id >> 31) * UINT64_C(0xbf58476d1ce4e5b9); // bijective for one run; spreads runs apart
  return id != 0 ? id : 1;
}

// ---- walking ---------------------------------------------------------------------------------------------------------
void timeline_walk(const struct timeline_run *run, const struct timeline_lane *lane, const struct timeline_sink *sink)
{
  uint32_t *stack = memory_new(lane->count, sizeof *stack);
  size_t depth = 0;
  for (size_t i = 0; i <= lane->count; i++) {
    uint32_t row = i < lane->count ? run->order[lane->first + i] : 0;
    while (depth > 0 && (i == lane->count || drawn_end(run, stack[depth - 1]) <= run->spans.start_ns[row])) {
      depth--;
      if (sink->end != NULL && !timeline_is_open(run, stack[depth]))
        sink->end(sink->context, lane, stack[depth]);
    }
    if (i == lane->count)
      break;
    sink->begin(sink->context, lane, row);
    stack[depth++] = row;
  }
  free(stack);
}
