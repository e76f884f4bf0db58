// SPDX-License-Identifier: Apache-2.0
// Sorts layers by their start. A program records a span when it ends: what lies within a span comes right before it. Called by
// rows.c.
#include "analyze/layers/start_order.h"

#include "base/arena.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct link {     // of a span with those within it, which follow it in order
  uint32_t next;  // span in order
  uint32_t last;  // of those within it; itself if there are none
  uint32_t below; // span that ended before it, with no span around both yet
};

int layer_starts_compare(const void *left, const void *right)
{
  const struct layer_span *a = left, *b = right;
  return RISING(start_ns) ?: FALLING(duration_ns) ?: RISING(row);
}

static bool rises(const struct layer_span *spans, size_t count)
{
  bool does_rise = true;
  for (size_t i = 1; i < count && does_rise; i++)
    does_rise = layer_starts_compare(&spans[i - 1], &spans[i]) < 0;
  return does_rise;
}

// Each span goes before those that were recorded before it and belong after it. The first one in order.
static uint32_t link_spans(const struct layer_span *spans, uint32_t count, struct link *links)
{
  uint32_t top = NONE, first = NONE;
  for (uint32_t i = 0; i < count; i++) {
    links[i] = (struct link){NONE, i, NONE};
    while (top != NONE && layer_starts_compare(&spans[i], &spans[top]) < 0) {
      if (links[i].next == NONE)
        links[i].last = links[top].last;
      links[links[top].last].next = links[i].next;
      links[i].next = top;
      top = links[top].below;
    }
    links[i].below = top;
    top = i;
  }
  for (; top != NONE; top = links[top].below) {
    links[links[top].last].next = first;
    first = top;
  }
  return first;
}

bool layer_starts_sort(struct layer_span *spans, size_t count)
{
  if (rises(spans, count))
    return true;
  if (count < NONE) {
    struct arena room = {0};
    struct link *links = arena_alloc_array(&room, count, sizeof *links);
    struct layer_span *sorted = arena_alloc_array(&room, count, sizeof *sorted);
    size_t at = 0;
    for (uint32_t i = link_spans(spans, (uint32_t)count, links); i != NONE; i = links[i].next)
      sorted[at++] = spans[i];
    bool is_sorted = rises(sorted, count);
    if (is_sorted)
      memcpy(spans, sorted, count * sizeof *spans);
    arena_done(&room);
    if (is_sorted)
      return true;
  }
  qsort(spans, count, sizeof *spans, layer_starts_compare); // of several threads
  return false;
}
