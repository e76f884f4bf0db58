// SPDX-License-Identifier: Apache-2.0
// The sweep: spans and samples in the order of track and time, with a stack of the spans that are open. Called by lines.c and by
// A1. Pure.
#include "analyze/lines/innermost.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>

struct event { // a span's start, or a sample
  int64_t at_ns, end_ns;
  uint32_t track, row; // row: of the span, of the sample
  bool is_sample;
};

// A span that begins at a sample's time is open; of equal starts the outer span, which ends later, comes first.
SORTED_BY(compare_events, struct event,
          RISING(track) ?: RISING(at_ns) ?: RISING(is_sample) ?: FALLING(end_ns) ?: RISING(row))

typedef VECTOR(struct event) events;

// Whether one of the samples, the first `sample_count` events in their order, is in the span.
static bool has_sample(const struct event *samples, size_t sample_count, const struct event *span)
{
  size_t at = PARTITION_POINT(i, 0, sample_count,
                              samples[i].track < span->track ||
                                  (samples[i].track == span->track && samples[i].at_ns < span->at_ns));
  return at < sample_count && samples[at].track == span->track && samples[at].at_ns < span->end_ns;
}

struct map innermost_threads(const struct store_track *tracks, size_t count)
{
  struct map first_of SCOPED(map_done) = {0}, threads = {0}; // by process and thread, by track
  for (size_t i = 0; i < count; i++) {
    const struct map_key thread = {(uint64_t)tracks[i].process_id, (uint64_t)tracks[i].thread_id};
    const uint64_t track_id = (uint64_t)tracks[i].track_id;
    uint64_t first = track_id;
    if (tracks[i].thread_id != STORE_NONE) {
      bool is_new;
      uint64_t *known = map_at(&first_of, thread, &is_new);
      first = *known = is_new ? first : *known;
    }
    *map_at(&threads, map_number(track_id), NULL) = first;
  }
  return threads;
}

static uint32_t thread_of(const struct map *threads, uint32_t track)
{
  const uint64_t *thread = map_find(threads, map_number(track));
  return thread != NULL ? (uint32_t)*thread : track;
}

// All samples, and the spans that have some: few, where operators are short.
static void list_events(const struct run_columns *columns, const struct store_samples *samples,
                        const struct map *threads, events *ret_events)
{
  const struct store_spans *spans = &columns->spans;
  for (size_t i = 0; i < samples->count; i++)
    *vector_add(ret_events) = (struct event){samples->time_ns[i], samples->time_ns[i],
                                             thread_of(threads, samples->track_id[i]), (uint32_t)i, true};
  if (samples->count == 0)
    return;
  qsort(ret_events->items, samples->count, sizeof *ret_events->items, compare_events);
  for (size_t row = 0; row < spans->count; row++) {
    bool is_open = (spans->flags[row] & STORE_SPAN_OPEN) != 0;
    int64_t end_ns = is_open ? INT64_MAX : saturate_add(spans->start_ns[row], spans->duration_ns[row]);
    const struct event span = {spans->start_ns[row], end_ns, thread_of(threads, spans->track_id[row]), (uint32_t)row,
                               false};
    if (spans->kind[row] != XSP_KIND_EXECUTION && has_sample(ret_events->items, samples->count, &span))
      *vector_add(ret_events) = span;
  }
}

uint32_t *innermost_rows(const struct run_columns *columns, const struct store_samples *samples,
                         const struct map *threads, struct arena *arena)
{
  uint32_t *rows = arena_alloc_array(arena, samples->count + 1, sizeof *rows);
  events listed = {0};
  VECTOR(const struct event *) open SCOPED(vector_end) = {0};
  list_events(columns, samples, threads, &listed);
  vector_sort(&listed, compare_events);
  for (size_t i = 0; i < listed.count; i++) {
    const struct event *event = &listed.items[i];
    if (i > 0 && listed.items[i - 1].track != event->track)
      open.count = 0;
    while (open.count > 0 && open.items[open.count - 1]->end_ns <= event->at_ns)
      open.count--;
    if (event->is_sample)
      rows[event->row] = open.count > 0 ? open.items[open.count - 1]->row : ROW_NONE;
    else
      *vector_add(&open) = event;
  }
  vector_done(&listed);
  return rows;
}
