// SPDX-License-Identifier: Apache-2.0
// Ends of operations that other threads end. On CPUs the event of a loop, a sort or a large fused operation ends when its thread
// leaves it: the event "end: NAME" has its end. Called by executions.c in the second pass, by events.c in the third.
#include "importers/xplane/ends.h"

#include "base/sorted.h"

// Ends are kept of loops, and of operations that other threads end: most ends follow their operations on the same line.
bool xplane_end_seen(struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event)
{
  struct map_key producer = xplane_producer(x, plane, event->values[STAT_consumer].integer);
  bool is_next = producer.a == x->last_operation.a && producer.b == x->last_operation.b;
  if (is_next && !xplane_is_control(x, event->name->inner))
    return true;
  if (!x->keeps_starts)
    return false;
  *vector_add(&x->ends) =
      (struct xplane_end){event->start_ns, (uint32_t)x->line_first, (uint32_t)(x->starts.count - x->line_first)};
  *map_at(&x->end_at, producer, NULL) = x->ends.count;
  x->has_line_ends = true;
  return true;
}

// Most files have such an end early or none at all: the latter need no memory for starts.
void xplane_survey_restart(struct xplane *x)
{
  x->keeps_starts = true;
  x->runs.count = x->controls.count = x->bodies.count = 0;
  map_done(&x->run_at);
  map_done(&x->body_at);
  x->last_run = 0;
  x->has_steps = false;
  x->last_operation = (struct map_key){0, 0};
}

void xplane_survey_line_end(struct xplane *x)
{
  if (!x->has_line_ends) {
    x->starts.count = x->line_first;
    while (x->start_bases.count > 0 && x->start_bases.items[x->start_bases.count - 1].first >= x->starts.count)
      x->start_bases.count--;
  }
  x->line_first = x->starts.count;
  x->has_line_ends = false;
  x->last_operation = (struct map_key){0, 0};
}

// Four bytes each, within four seconds of one base.
void xplane_keep_start(struct xplane *x, int64_t start_ns)
{
  if (!x->keeps_starts)
    return;
  size_t count = x->start_bases.count;
  uint64_t offset = count > 0 ? (uint64_t)start_ns - (uint64_t)x->start_bases.items[count - 1].ns : UINT64_MAX;
  if (offset > UINT32_MAX) {
    *vector_add(&x->start_bases) = (struct xplane_base){start_ns, x->starts.count};
    offset = 0;
  }
  *vector_add(&x->starts) = (uint32_t)offset;
}

static int64_t start_at(const struct xplane *x, size_t place)
{
  size_t end = PARTITION_POINT(i, 1, x->start_bases.count, x->start_bases.items[i].first <= place);
  return (int64_t)((uint64_t)x->start_bases.items[end - 1].ns + x->starts.items[place]);
}

const struct xplane_end *xplane_end_find(const struct xplane *x, struct map_key producer)
{
  const uint64_t *place = map_find(&x->end_at, producer);
  return place != NULL ? &x->ends.items[*place - 1] : NULL;
}

// The thread that ends an operation runs what comes next before it marks the end: the operation ended where that began.
int64_t xplane_end_of(const struct xplane *x, struct map_key producer, int64_t start_ns, int64_t end_ns)
{
  const struct xplane_end *end = xplane_end_find(x, producer);
  if (end == NULL)
    return end_ns;
  size_t after = (size_t)end->first + end->count;
  size_t next = PARTITION_POINT(i, end->first, after, start_at(x, i) <= start_ns);
  int64_t found_ns = next < after ? start_at(x, next) : end->at_ns;
  return found_ns > end_ns ? found_ns : end_ns;
}

int64_t xplane_operation_end(const struct xplane *x, const struct xplane_plane *plane, const struct xplane_event *event)
{
  return xplane_end_of(x, xplane_producer(x, plane, xplane_number(event, STAT_producer)), event->start_ns,
                       event->end_ns);
}
