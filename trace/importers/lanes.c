// SPDX-License-Identifier: Apache-2.0
// Stacks of open spans, one a track; see lanes.h. Called by the importer of generic Chrome traces.
#include "importers/lanes.h"

#include "base/memory.h"

#include <stdlib.h>

#define NO_PLACE SIZE_MAX

struct open_span {
  struct store_span span;
  size_t place;        // in `waiting`; NO_PLACE: it leaves when it ends
  size_t waiting_from; // what waits after it starts when it starts
};
struct waiting_span {
  struct store_span span;
  bool is_dropped;
};
struct lane {
  uint32_t track_id;
  struct open_span *stack;
  struct waiting_span *waiting; // in the order of the file
  size_t depth, depth_capacity, waiting_count, waiting_capacity;
};

// Room for one more item. A trace may have a million lanes: most need room for one.
static void *room(void *array, size_t count, size_t *capacity, size_t size)
{
  if (count < *capacity)
    return array;
  *capacity = *capacity == 0 ? 1 : 2 * *capacity;
  return memory_resize(array, *capacity, size);
}

uint32_t lanes_add(struct lanes *lanes, uint32_t track_id)
{
  lanes->lanes = room(lanes->lanes, lanes->count, &lanes->capacity, sizeof *lanes->lanes);
  lanes->lanes[lanes->count++] = (struct lane){.track_id = track_id};
  return (uint32_t)lanes->count;
}

// Takes the next place among those that wait.
static size_t wait_here(struct lane *lane, const struct store_span *span)
{
  lane->waiting = room(lane->waiting, lane->waiting_count, &lane->waiting_capacity, sizeof *lane->waiting);
  lane->waiting[lane->waiting_count] = (struct waiting_span){.span = *span};
  return lane->waiting_count++;
}

static bool starts_with_top(const struct lane *lane, const struct store_span *span)
{
  return lane->depth > 0 && lane->stack[lane->depth - 1].span.start_ns == span->start_ns;
}

enum status lanes_complete(struct lanes *lanes, uint32_t number, const struct store_span *span, struct error *err)
{
  struct lane *lane = &lanes->lanes[number - 1];
  struct store_span row = *span;
  row.track_id = lane->track_id;
  if (!starts_with_top(lane, &row))
    return import_span(lanes->import, &row, err);
  wait_here(lane, &row);
  return STATUS_OK;
}

void lanes_begin(struct lanes *lanes, uint32_t number, const struct store_span *span)
{
  struct lane *lane = &lanes->lanes[number - 1];
  struct open_span open = {.span = *span, .place = NO_PLACE};
  open.span.track_id = lane->track_id;
  if (starts_with_top(lane, span))
    open.place = wait_here(lane, &open.span);
  open.waiting_from = lane->waiting_count;
  lane->stack = room(lane->stack, lane->depth, &lane->depth_capacity, sizeof *lane->stack);
  lane->stack[lane->depth++] = open;
}

const struct store_span *lanes_open(const struct lanes *lanes, uint32_t number)
{
  const struct lane *lane = &lanes->lanes[number - 1];
  return lane->depth == 0 ? NULL : &lane->stack[lane->depth - 1].span;
}

// Lanes of asynchronous spans come by the million, are used once, and would keep their memory to the end.
static void give_back(struct lane *lane)
{
  free(lane->stack);
  free(lane->waiting);
  *lane = (struct lane){.track_id = lane->track_id};
}

// The innermost open span is what it will be.
static enum status leave(struct lanes *lanes, struct lane *lane, bool is_dropped, struct error *err)
{
  struct open_span *open = &lane->stack[--lane->depth];
  if (open->place != NO_PLACE) {
    lane->waiting[open->place] = (struct waiting_span){open->span, is_dropped};
    return STATUS_OK;
  }
  if (!is_dropped)
    XSP_TRY(import_span(lanes->import, &open->span, err));
  for (size_t i = open->waiting_from; i < lane->waiting_count; i++)
    if (!lane->waiting[i].is_dropped)
      XSP_TRY(import_span(lanes->import, &lane->waiting[i].span, err));
  lane->waiting_count = open->waiting_from;
  if (lane->depth == 0)
    give_back(lane);
  return STATUS_OK;
}

enum status lanes_end(struct lanes *lanes, uint32_t number, int64_t duration_ns, struct error *err)
{
  struct lane *lane = &lanes->lanes[number - 1];
  lane->stack[lane->depth - 1].span.duration_ns = duration_ns;
  return leave(lanes, lane, duration_ns < 0, err);
}

enum status lanes_finish(struct lanes *lanes, uint64_t *ret_open, struct error *err)
{
  *ret_open = 0;
  for (size_t i = 0; i < lanes->count; i++) {
    struct lane *lane = &lanes->lanes[i];
    for (; lane->depth > 0; ++*ret_open) {
      lane->stack[lane->depth - 1].span.flags |= STORE_SPAN_OPEN;
      XSP_TRY(leave(lanes, lane, false, err));
    }
  }
  return STATUS_OK;
}

void lanes_done(struct lanes *lanes)
{
  for (size_t i = 0; i < lanes->count; i++)
    give_back(&lanes->lanes[i]);
  free(lanes->lanes);
  *lanes = (struct lanes){0};
}
