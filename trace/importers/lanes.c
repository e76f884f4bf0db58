// SPDX-License-Identifier: Apache-2.0
// Events of tracks, paired up when all are known; see lanes.h. Called by the importer of generic Chrome traces.
//
// While a lane is walked, open spans are in three kinds of chains, latest first: all, those of one name, those of one
// level. A span that ended stays in them and is passed over for good when a chain is looked at: no step is taken twice.
#include "importers/lanes.h"

#include "base/sorted.h"

#include <stdlib.h>

#define NONE SIZE_MAX

enum event_kind { EVENT_BEGIN, EVENT_END, EVENT_COMPLETE };
struct lane_event {
  int64_t time_ns;
  union {
    int64_t span_id;
    uint64_t first_tag; // EVENT_END: in lanes->tags
  };
  union {
    int64_t duration_ns;
    uint64_t offset; // EVENT_END
  };
  size_t order;
  union {
    uint32_t name;
    uint32_t tag_count; // EVENT_END
  };
  uint32_t pair_name, category;
  uint8_t level, flags, kind;
};
struct lane {
  uint32_t track_id;
  bool is_unsorted, has_complete;
  VECTOR(struct lane_event) events;
};

enum chain { CHAIN_ALL, CHAIN_NAME, CHAIN_LEVEL, CHAIN_COUNT };
struct open_span {
  size_t event;
  size_t next[CHAIN_COUNT]; // in `opened`; NONE
  int64_t parent_id;        // is_tied: of the innermost span around it; 0: none
  bool is_ended;
  bool is_tied; // begins when a span ended
};
struct pairing { // of one lane after the other
  struct import_lanes *lanes;
  struct lane *lane;
  VECTOR(struct open_span) opened;
  size_t all, levels[XSP_LEVEL_COUNT];
  size_t *names;       // by name: lanes->most_name + 1 of them
  int64_t ended_at_ns; // of the last span of some length
  bool has_ended;
};

// ---- events ----------------------------------------------------------------------------------------------------------
uint32_t import_lanes_add(struct import_lanes *lanes, uint32_t track_id)
{
  vector_add(&lanes->lanes)->track_id = track_id;
  return (uint32_t)lanes->lanes.count;
}

// Lanes of asynchronous spans come by the million, mostly with two events each: vector_add would make room for eight.
static struct lane_event *add_event(struct import_lanes *lanes, uint32_t number, enum event_kind kind, int64_t time_ns)
{
  struct lane *lane = &lanes->lanes.items[number - 1];
  if (lane->events.count == 0) {
    lane->events.items = memory_new(2, sizeof *lane->events.items);
    lane->events.capacity = 2;
  }
  struct lane_event *event = vector_add(&lane->events);
  *event = (struct lane_event){.time_ns = time_ns, .order = lane->events.count, .kind = (uint8_t)kind};
  lane->is_unsorted |= lane->events.count > 1 && event[-1].time_ns > time_ns;
  return event;
}

static void keep_span(struct lane_event *event, const struct store_span *span)
{
  event->span_id = span->span_id;
  event->name = span->name;
  event->category = span->category;
  event->level = span->level;
  event->flags = span->flags;
}

static void keep_name(struct import_lanes *lanes, struct lane_event *event, uint32_t name)
{
  event->pair_name = name;
  if (name > lanes->most_name)
    lanes->most_name = name;
}

enum status import_lanes_complete(struct import_lanes *lanes, uint32_t number, const struct store_span *span,
                                  struct error *err)
{
  struct lane *lane = &lanes->lanes.items[number - 1];
  lane->has_complete = true;
  if (lane->events.count == 0) {
    struct store_span row = *span;
    row.track_id = lane->track_id;
    return import_span(lanes->import, &row, err);
  }
  struct lane_event *event = add_event(lanes, number, EVENT_COMPLETE, span->start_ns);
  keep_span(event, span);
  event->duration_ns = span->duration_ns;
  return STATUS_OK;
}

void import_lanes_begin(struct import_lanes *lanes, uint32_t number, const struct store_span *span, uint32_t name)
{
  struct lane_event *event = add_event(lanes, number, EVENT_BEGIN, span->start_ns);
  keep_span(event, span);
  keep_name(lanes, event, name);
}

void import_lanes_end(struct import_lanes *lanes, uint32_t number, const struct lane_end *end)
{
  struct lane_event *event = add_event(lanes, number, EVENT_END, end->time_ns);
  keep_name(lanes, event, end->name);
  event->offset = end->offset;
  event->first_tag = lanes->tags.count;
}

void import_lanes_end_tag(struct import_lanes *lanes, uint32_t number, const struct store_tag *tag)
{
  const struct lane *lane = &lanes->lanes.items[number - 1];
  lane->events.items[lane->events.count - 1].tag_count++;
  *vector_add(&lanes->tags) = *tag;
}

// ---- pairs -----------------------------------------------------------------------------------------------------------
SORTED_BY(compare_events, struct lane_event, RISING(time_ns) ?: RISING(order))

// The latest span of a chain that is open; NONE.
static size_t latest(const struct pairing *pairing, size_t *head, enum chain chain)
{
  while (*head != NONE && pairing->opened.items[*head].is_ended)
    *head = pairing->opened.items[*head].next[chain];
  return *head;
}

// The parent that a span of this level has by containment: of the lowest level that is not below it the innermost.
static int64_t parent_of(struct pairing *pairing, unsigned level)
{
  for (unsigned i = level + 1; i-- > 0;) {
    size_t found = latest(pairing, &pairing->levels[i], CHAIN_LEVEL);
    if (found != NONE)
      return pairing->lane->events.items[pairing->opened.items[found].event].span_id;
  }
  return 0;
}

static void open_span(struct pairing *pairing, size_t index)
{
  struct lane_event *event = &pairing->lane->events.items[index];
  size_t *heads[CHAIN_COUNT] = {&pairing->all, &pairing->names[event->pair_name], &pairing->levels[event->level]};
  struct open_span open = {.event = index, .is_tied = pairing->has_ended && pairing->ended_at_ns == event->time_ns};
  if (open.is_tied)
    open.parent_id = parent_of(pairing, event->level);
  for (unsigned i = 0; i < CHAIN_COUNT; i++) {
    open.next[i] = *heads[i];
    *heads[i] = pairing->opened.count;
  }
  *vector_add(&pairing->opened) = open;
  event->flags |= STORE_SPAN_OPEN; // until it ends
}

static void give_tags(const struct import_lanes *lanes, const struct lane_event *end, int64_t span_id)
{
  for (uint32_t i = 0; i < end->tag_count; i++) {
    struct store_tag tag = lanes->tags.items[end->first_tag + i];
    tag.span_id = span_id;
    import_tag(lanes->import, &tag);
  }
}

static enum status end_span(struct pairing *pairing, const struct lane_event *end, struct error *err)
{
  struct import *import = pairing->lanes->import;
  bool is_named = end->pair_name != 0;
  size_t found = is_named ? latest(pairing, &pairing->names[end->pair_name], CHAIN_NAME)
                          : latest(pairing, &pairing->all, CHAIN_ALL);
  if (found == NONE && is_named)
    found = latest(pairing, &pairing->names[0], CHAIN_NAME); // began without a name
  if (found == NONE) {
    pairing->lanes->misnamed_count += is_named && latest(pairing, &pairing->all, CHAIN_ALL) != NONE;
    import_skip(import, "end without a beginning");
    return STATUS_OK;
  }
  struct open_span *open = &pairing->opened.items[found];
  struct lane_event *begin = &pairing->lane->events.items[open->event];
  if (__builtin_sub_overflow(end->time_ns, begin->time_ns, &begin->duration_ns))
    return import_broken(import, err, end->offset, "a duration is beyond 64 bits of nanoseconds");
  open->is_ended = true;
  begin->flags &= (uint8_t)~STORE_SPAN_OPEN;
  import_joined(import);
  give_tags(pairing->lanes, end, begin->span_id);
  if (begin->duration_ns > 0) {
    pairing->ended_at_ns = end->time_ns;
    pairing->has_ended = true;
  }
  return STATUS_OK;
}

// A span without length at the end of another lies within both, by its times. Where all spans of a track are pairs, its
// place among them is known.
static void keep_nesting(const struct open_span *open, const struct lane_event *event, struct store_span *span)
{
  if (!open->is_tied || !open->is_ended || event->duration_ns != 0)
    return;
  span->recorded_parent_id = open->parent_id;
  span->flags |= STORE_FLAG_BASIS(open->parent_id != 0 ? BASIS_CONTAINMENT : BASIS_NONE);
}

static enum status emit(const struct pairing *pairing, struct error *err)
{
  size_t opened = 0;
  for (size_t i = 0; i < pairing->lane->events.count; i++) {
    const struct lane_event *event = &pairing->lane->events.items[i];
    if (event->kind == EVENT_END)
      continue;
    struct store_span span = {.span_id = event->span_id,
                              .start_ns = event->time_ns,
                              .duration_ns = event->duration_ns,
                              .track_id = pairing->lane->track_id,
                              .name = event->name,
                              .category = event->category,
                              .level = event->level,
                              .kind = XSP_KIND_SYNC,
                              .flags = event->flags};
    if (event->kind == EVENT_BEGIN && !pairing->lane->has_complete)
      keep_nesting(&pairing->opened.items[opened], event, &span);
    opened += event->kind == EVENT_BEGIN;
    pairing->lanes->open_count += (event->flags & STORE_SPAN_OPEN) != 0;
    XSP_TRY(import_span(pairing->lanes->import, &span, err));
  }
  return STATUS_OK;
}

static enum status pair_up(struct pairing *pairing, struct error *err)
{
  const struct lane *lane = pairing->lane;
  if (lane->is_unsorted)
    vector_sort(&lane->events, compare_events);
  pairing->all = pairing->names[0] = NONE;
  for (unsigned i = 0; i < XSP_LEVEL_COUNT; i++)
    pairing->levels[i] = NONE;
  for (size_t i = 0; i < lane->events.count; i++)
    pairing->names[lane->events.items[i].pair_name] = NONE;
  pairing->opened.count = 0;
  pairing->has_ended = false;
  for (size_t i = 0; i < lane->events.count; i++) {
    if (lane->events.items[i].kind == EVENT_BEGIN)
      open_span(pairing, i);
    else if (lane->events.items[i].kind == EVENT_END)
      XSP_TRY(end_span(pairing, &lane->events.items[i], err));
  }
  return emit(pairing, err);
}

enum status import_lanes_finish(struct import_lanes *lanes, struct error *err)
{
  struct pairing pairing = {.lanes = lanes};
  enum status status = STATUS_OK;
  pairing.names = memory_new((size_t)lanes->most_name + 1, sizeof *pairing.names);
  for (size_t i = 0; i < lanes->lanes.count && status == STATUS_OK; i++) {
    pairing.lane = &lanes->lanes.items[i];
    status = pair_up(&pairing, err);
    vector_done(&pairing.lane->events);
  }
  free(pairing.names);
  vector_done(&pairing.opened);
  return status;
}

void import_lanes_done(struct import_lanes *lanes)
{
  for (size_t i = 0; i < lanes->lanes.count; i++)
    vector_done(&lanes->lanes.items[i].events);
  vector_done(&lanes->lanes);
  vector_done(&lanes->tags);
}
