// SPDX-License-Identifier: Apache-2.0
// A run's spans in lanes of strictly nested spans; tags by span; arrows. Called by timeline.c; the getters by the
// encoders. Pure: no store, no I/O.
#include "report/exports/timeline_lanes.h"

#include <stdlib.h>
#include <string.h>

static enum status no_memory(struct error *err)
{
  return error_set(err, STATUS_MEMORY, "cannot lay out the timeline", NULL, "exporting fewer runs", "out of memory");
}

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

static enum status sort_tags(struct timeline_run *run, struct error *err)
{
  bool is_sorted = true;
  for (size_t i = 1; i < run->tag_count; i++)
    is_sorted &= run->tags[i - 1].span_id <= run->tags[i].span_id;
  if (is_sorted)
    return STATUS_OK;
  struct tag_at *sorted = calloc(run->tag_count, sizeof *sorted);
  if (sorted == NULL)
    return no_memory(err);
  for (size_t i = 0; i < run->tag_count; i++)
    sorted[i] = (struct tag_at){run->tags[i], i};
  qsort(sorted, run->tag_count, sizeof *sorted, by_span);
  for (size_t i = 0; i < run->tag_count; i++)
    run->tags[i] = sorted[i].tag;
  free(sorted);
  return STATUS_OK;
}

static enum status sort_asynchronous(struct arena *arena, struct timeline_run *run, struct error *err)
{
  const struct store_spans *spans = &run->spans;
  run->launch_order = arena_alloc_array(arena, spans->count + 1, sizeof *run->launch_order);
  run->execution_order = arena_alloc_array(arena, spans->count + 1, sizeof *run->execution_order);
  if (run->launch_order == NULL || run->execution_order == NULL)
    return no_memory(err);
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
  return STATUS_OK;
}

// ---- lanes -----------------------------------------------------------------------------------------------------------
#define LANES_MOST 256u // of one track; what crosses even these shares the last (and may be drawn cut off)

struct stack { // ends of the spans open at the sweep's place in one lane
  int64_t *ends;
  size_t depth, capacity;
};

// Can a span lie in the lane, given that starts only grow? Pops what has ended.
static bool stack_fits(struct stack *stack, int64_t start_ns, int64_t end_ns)
{
  while (stack->depth > 0 && stack->ends[stack->depth - 1] <= start_ns)
    stack->depth--;
  return stack->depth == 0 || stack->ends[stack->depth - 1] >= end_ns;
}

static bool stack_push(struct stack *stack, int64_t end_ns)
{
  if (stack->depth == stack->capacity) {
    size_t capacity = stack->capacity == 0 ? 64 : stack->capacity * 2;
    int64_t *ends = realloc(stack->ends, capacity * sizeof *ends);
    if (ends == NULL)
      return false;
    stack->ends = ends;
    stack->capacity = capacity;
  }
  stack->ends[stack->depth++] = end_ns;
  return true;
}

// Chooses a lane for each of the rows of one track; `lane_of` receives it. Returns the number of lanes, 0: no memory.
static size_t choose_lanes(const struct timeline_run *run, const uint32_t *rows, size_t count, uint16_t *lane_of)
{
  struct stack *stacks = calloc(LANES_MOST, sizeof *stacks);
  if (stacks == NULL)
    return 0;
  size_t lanes = 1;
  bool has_memory = true;
  for (size_t i = 0; i < count && has_memory; i++) {
    int64_t start_ns = run->spans.start_ns[rows[i]], end_ns = drawn_end(run, rows[i]);
    size_t lane = 0;
    while (lane + 1 < LANES_MOST && !stack_fits(&stacks[lane], start_ns, end_ns))
      lane++;
    lanes = lane + 1 > lanes ? lane + 1 : lanes;
    has_memory = stack_push(&stacks[lane], end_ns);
    lane_of[i] = (uint16_t)lane;
  }
  for (size_t lane = 0; lane < LANES_MOST; lane++)
    free(stacks[lane].ends);
  free(stacks);
  return has_memory ? lanes : 0;
}

static bool add_lane(struct timeline_run *run, size_t *capacity, struct timeline_lane lane)
{
  if (run->lane_count == *capacity) {
    size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
    struct timeline_lane *lanes = realloc(run->lanes, wanted * sizeof *lanes);
    if (lanes == NULL)
      return false;
    run->lanes = lanes;
    *capacity = wanted;
  }
  run->lanes[run->lane_count++] = lane;
  return true;
}

// Splits rows [first, first+count) of run->order, all of one track, into lanes, in place.
static bool split_track(struct timeline_run *run, size_t *capacity, size_t track, size_t first, size_t count)
{
  uint16_t *lane_of = calloc(count, sizeof *lane_of);
  uint32_t *rows = malloc(count * sizeof *rows);
  bool done = lane_of != NULL && rows != NULL;
  size_t lanes = done ? choose_lanes(run, run->order + first, count, lane_of) : 0;
  done = lanes > 0;
  if (done)
    memcpy(rows, run->order + first, count * sizeof *rows);
  size_t at = first;
  for (size_t lane = 0; lane < lanes && done; lane++) {
    size_t lane_first = at;
    for (size_t i = 0; i < count; i++)
      if (lane_of[i] == lane)
        run->order[at++] = rows[i];
    done = add_lane(run, capacity, (struct timeline_lane){track, (unsigned)lane, lane_first, at - lane_first});
  }
  free(lane_of);
  free(rows);
  return done;
}

static size_t find_track(const struct timeline_run *run, uint32_t track_id)
{
  size_t index = 0;
  while (index < run->track_count && run->tracks[index].track->track_id != track_id)
    index++;
  return index;
}

static enum status lay(struct timeline_run *run, struct error *err)
{
  size_t capacity = 0;
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
    if (run->tracks[track].track->clock == NULL && !split_track(run, &capacity, track, first, end - first))
      return no_memory(err);
    first = end;
  }
  return STATUS_OK;
}

enum status timeline_lay_lanes(struct arena *arena, struct timeline_run *run, struct error *err)
{
  XSP_TRY(sort_tags(run, err));
  XSP_TRY(sort_asynchronous(arena, run, err));
  if (run->spans.count > UINT32_MAX)
    return error_set(err, STATUS_INPUT, "cannot lay out the timeline", NULL, NULL, "a run has 2^32 spans or more");
  run->order = arena_alloc_array(arena, run->spans.count + 1, sizeof *run->order);
  if (run->order == NULL)
    return no_memory(err);
  for (size_t row = 0; row < run->spans.count; row++)
    run->order[row] = (uint32_t)row;
  qsort_r(run->order, run->spans.count, sizeof *run->order, by_place, run);
  enum status status = lay(run, err);
  if (status == STATUS_OK) { // into the arena, so that the run has one owner
    struct timeline_lane *lanes = arena_alloc_array(arena, run->lane_count + 1, sizeof *lanes);
    if (lanes == NULL)
      status = no_memory(err);
    else if (run->lane_count > 0)
      memcpy(lanes, run->lanes, run->lane_count * sizeof *lanes);
    free(run->lanes);
    run->lanes = lanes;
  } else {
    free(run->lanes);
    run->lanes = NULL;
  }
  return status;
}

// ---- getters ---------------------------------------------------------------------------------------------------------
void timeline_tags(const struct timeline_run *run, int64_t span_id, size_t *ret_first, size_t *ret_count)
{
  size_t low = 0, high = run->tag_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (run->tags[middle].span_id < span_id)
      low = middle + 1;
    else
      high = middle;
  }
  size_t end = low;
  while (end < run->tag_count && run->tags[end].span_id == span_id)
    end++;
  *ret_first = low;
  *ret_count = end - low;
}

// First position in `order` whose correlation id is not below `correlation_id`.
static size_t lower_bound(const struct timeline_run *run, const uint32_t *order, size_t count, int64_t correlation_id)
{
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (run->spans.correlation_id[order[middle]] < correlation_id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void timeline_executions(const struct timeline_run *run, uint32_t launch, size_t *ret_first, size_t *ret_count)
{
  int64_t id = run->spans.correlation_id[launch];
  size_t first = lower_bound(run, run->execution_order, run->execution_count, id);
  size_t end = first;
  while (id != 0 && end < run->execution_count && run->spans.correlation_id[run->execution_order[end]] == id)
    end++;
  *ret_first = first;
  *ret_count = end - first;
}

bool timeline_has_launch(const struct timeline_run *run, uint32_t execution)
{
  int64_t id = run->spans.correlation_id[execution];
  size_t at = lower_bound(run, run->launch_order, run->launch_count, id);
  return id != 0 && at < run->launch_count && run->spans.correlation_id[run->launch_order[at]] == id;
}

uint64_t timeline_flow_id(const struct timeline_run *run, uint32_t execution)
{
  uint64_t id = (uint64_t)run->run->run_id * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)run->spans.span_id[execution];
  id = (id ^ id >> 31) * UINT64_C(0xbf58476d1ce4e5b9); // bijective for one run; spreads runs apart
  return id != 0 ? id : 1;
}

// ---- walking ---------------------------------------------------------------------------------------------------------
enum status timeline_walk(const struct timeline_run *run, const struct timeline_lane *lane,
                          const struct timeline_sink *sink, struct error *err)
{
  uint32_t *stack = malloc((lane->count + 1) * sizeof *stack);
  if (stack == NULL)
    return no_memory(err);
  size_t depth = 0;
  enum status status = STATUS_OK;
  for (size_t i = 0; i <= lane->count && status == STATUS_OK; i++) {
    uint32_t row = i < lane->count ? run->order[lane->first + i] : 0;
    while (depth > 0 && status == STATUS_OK &&
           (i == lane->count || drawn_end(run, stack[depth - 1]) <= run->spans.start_ns[row])) {
      depth--;
      if (sink->end != NULL && !timeline_is_open(run, stack[depth]))
        status = sink->end(sink->context, lane, stack[depth], err);
    }
    if (i == lane->count || status != STATUS_OK)
      break;
    status = sink->begin(sink->context, lane, row, err);
    stack[depth++] = row;
  }
  free(stack);
  return status;
}
