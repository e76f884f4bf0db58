// SPDX-License-Identifier: Apache-2.0
// The sweep: spans and samples in the order of track and time, with a stack of the spans that are open. Called by lines.c and by
// A1. Pure.
#include "analyze/lines/innermost.h"

#include "base/saturate.h"

#include <stdlib.h>

struct event { // a span's start, or a sample
  int64_t at_ns, end_ns;
  uint32_t track, row; // row: of the span, of the sample
  bool is_sample;
};

// A span that begins at a sample's time is open; of equal starts the outer span, which ends later, comes first.
static int compare_events(const void *left, const void *right)
{
  const struct event *a = left, *b = right;
  if (a->track != b->track)
    return a->track < b->track ? -1 : 1;
  if (a->at_ns != b->at_ns)
    return a->at_ns < b->at_ns ? -1 : 1;
  if (a->is_sample != b->is_sample)
    return a->is_sample ? 1 : -1;
  if (a->end_ns != b->end_ns)
    return a->end_ns > b->end_ns ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

// Spans of tracks that have samples, and all samples.
static size_t list_events(const struct run_columns *columns, const struct store_samples *samples, struct event *events)
{
  const struct store_spans *spans = &columns->spans;
  struct map tracks = {0};
  size_t count = 0;
  for (size_t i = 0; i < samples->count; i++) {
    *map_at(&tracks, map_number(samples->track_id[i]), NULL) = 1;
    events[count++] = (struct event){samples->time_ns[i], samples->time_ns[i], samples->track_id[i], (uint32_t)i, true};
  }
  for (size_t row = 0; row < spans->count; row++) {
    bool is_open = (spans->flags[row] & STORE_SPAN_OPEN) != 0;
    if (spans->kind[row] == XSP_KIND_EXECUTION || map_find(&tracks, map_number(spans->track_id[row])) == NULL)
      continue;
    int64_t end_ns = is_open ? INT64_MAX : saturate_add(spans->start_ns[row], spans->duration_ns[row]);
    events[count++] = (struct event){spans->start_ns[row], end_ns, spans->track_id[row], (uint32_t)row, false};
  }
  map_done(&tracks);
  return count;
}

uint32_t *innermost_rows(const struct run_columns *columns, const struct store_samples *samples, struct arena *arena)
{
  uint32_t *rows = arena_alloc_array(arena, samples->count + 1, sizeof *rows);
  struct event *events = memory_new(samples->count + columns->spans.count + 1, sizeof *events);
  VECTOR(const struct event *) open = {0};
  size_t count = list_events(columns, samples, events);
  qsort(events, count, sizeof *events, compare_events);
  for (size_t i = 0; i < count; i++) {
    const struct event *event = &events[i];
    if (i > 0 && events[i - 1].track != event->track)
      open.count = 0;
    while (open.count > 0 && open.items[open.count - 1]->end_ns <= event->at_ns)
      open.count--;
    if (event->is_sample)
      rows[event->row] = open.count > 0 ? open.items[open.count - 1]->row : ROW_NONE;
    else
      *vector_add(&open) = event;
  }
  vector_done(&open);
  free(events);
  return rows;
}
