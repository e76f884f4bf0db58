// SPDX-License-Identifier: Apache-2.0
// Instants "[memory]" (profile_memory=True): what operators allocated, on the host and on devices. Called by events.c for
// each, and by kineto.c at the end: only then is it known which operator of the thread is the innermost one around each.
#include "base/saturate.h"
#include "base/sorted.h"
#include "importers/kineto/kineto.h"

#include <stdlib.h>

bool kineto_memory(struct kineto *kineto, const struct trace_event *event)
{
  const struct trace_argument *bytes = slice_is(event->name, "[memory]") ? trace_find(event, "Bytes") : NULL;
  struct kineto_allocation allocation = {.time_ns = event->start_ns};
  if (bytes == NULL || event->phase != 'i' || !event->has_start || !trace_int64(&bytes->value, &allocation.bytes))
    return false;
  kineto->has_memory = true;
  if (allocation.bytes <= 0) {
    import_skip(kineto->import, "memory freed");
    return true;
  }
  struct kineto_track *track = kineto_track(kineto, TRACK_HOST, event, &event->process_id, &event->thread_id);
  *vector_add(&track->allocations) = allocation;
  return true;
}

// ---- the sweep of a thread -------------------------------------------------------------------------------------------
struct open_layer {
  int64_t end_ns, span_id, bytes;
};
struct sweep {
  struct kineto *kineto;
  VECTOR(struct open_layer) layers; // the innermost last
};

static void close_layer(struct sweep *sweep)
{
  const struct open_layer *layer = &sweep->layers.items[--sweep->layers.count];
  import_tag_int(sweep->kineto->import, layer->span_id, sweep->kineto->strings.alloc_bytes, layer->bytes);
  import_tag_int(sweep->kineto->import, layer->span_id, sweep->kineto->strings.alloc_own_bytes, layer->bytes);
}

static void close_ended(struct sweep *sweep, int64_t time_ns)
{
  while (sweep->layers.count > 0 && sweep->layers.items[sweep->layers.count - 1].end_ns < time_ns)
    close_layer(sweep);
}

static void allocate(struct sweep *sweep, const struct kineto_allocation *allocation)
{
  close_ended(sweep, allocation->time_ns);
  if (sweep->layers.count == 0) {
    import_skip(sweep->kineto->import, "memory allocated outside operators");
    return;
  }
  struct open_layer *layer = &sweep->layers.items[sweep->layers.count - 1];
  layer->bytes = saturate_add(layer->bytes, allocation->bytes);
  import_joined(sweep->kineto->import);
}

SORTED_BY(by_time, struct kineto_allocation, RISING(time_ns))

static void sweep_track(struct sweep *sweep, struct kineto_track *track)
{
  struct kineto_allocation *allocations = track->allocations.items;
  size_t count = track->allocations.count, next = 0;
  if (count > 0)
    qsort(allocations, count, sizeof *allocations, by_time);
  call_thread_sort(&track->thread);
  for (size_t i = 0; i < track->thread.intervals.count; i++) {
    const struct call_interval *interval = &track->thread.intervals.items[i];
    int64_t span_id = call_interval_layer(interval);
    if (span_id == 0)
      continue;
    for (; next < count && allocations[next].time_ns < interval->start_ns; next++)
      allocate(sweep, &allocations[next]);
    close_ended(sweep, interval->start_ns);
    *vector_add(&sweep->layers) = (struct open_layer){.end_ns = interval->end_ns, .span_id = span_id};
  }
  for (; next < count; next++)
    allocate(sweep, &allocations[next]);
  while (sweep->layers.count > 0)
    close_layer(sweep);
}

void kineto_memory_end(struct kineto *kineto)
{
  struct sweep sweep = {.kineto = kineto};
  for (size_t i = 0; kineto->has_memory && i < kineto->tracks.all.count; i++)
    sweep_track(&sweep, kineto->tracks.all.items[i]);
  vector_done(&sweep.layers);
}
