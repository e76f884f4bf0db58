// SPDX-License-Identifier: Apache-2.0
// The arrays that the decoders of OTLP collect a span in: they grow to the largest span and are used again for the next.
#include "otlp/otlp.h"

#include <stdlib.h>
#include <string.h>

// The place of one more item; NULL: no more than OTLP_PARTS_MOST, or out of memory.
static void *one_more(void **items, size_t *count, size_t *capacity, size_t size)
{
  if (*count == *capacity) {
    size_t larger = *capacity == 0 ? 32 : *capacity * 2;
    if (larger > OTLP_PARTS_MOST)
      return NULL;
    void *moved = realloc(*items, larger * size);
    if (moved == NULL)
      return NULL;
    *items = moved;
    *capacity = larger;
  }
  return memset((char *)*items + (*count)++ * size, 0, size);
}

struct otlp_attribute *otlp_parts_attribute(struct otlp_parts *parts)
{
  void *items = parts->attributes;
  void *one = one_more(&items, &parts->attribute_count, &parts->attribute_capacity, sizeof *parts->attributes);
  parts->attributes = items;
  return one;
}

struct otlp_attribute *otlp_parts_inner(struct otlp_parts *parts)
{
  void *items = parts->inner;
  void *one = one_more(&items, &parts->inner_count, &parts->inner_capacity, sizeof *parts->inner);
  parts->inner = items;
  return one;
}

struct otlp_event *otlp_parts_event(struct otlp_parts *parts)
{
  void *items = parts->events;
  void *one = one_more(&items, &parts->event_count, &parts->event_capacity, sizeof *parts->events);
  parts->events = items;
  return one;
}

struct otlp_link *otlp_parts_link(struct otlp_parts *parts)
{
  void *items = parts->links;
  void *one = one_more(&items, &parts->link_count, &parts->link_capacity, sizeof *parts->links);
  parts->links = items;
  return one;
}

void otlp_parts_done(struct otlp_parts *parts)
{
  free(parts->attributes);
  free(parts->inner);
  free(parts->events);
  free(parts->links);
  *parts = (struct otlp_parts){0};
}
