// SPDX-License-Identifier: Apache-2.0
// The tree of gaps between values; see trace_events_private.h. Filled by the reader of trace events, bounded however odd a file is.
#include "importers/trace_events/trace_events_private.h"

#include "base/memory.h"

#include <stdlib.h>

void trace_shapes_init(struct trace_shapes *shapes)
{
  shapes->count = 1;
  shapes->nodes = memory_new(SHAPE_NODES_MOST, sizeof *shapes->nodes); // untouched pages cost nothing
}

void trace_shapes_done(struct trace_shapes *shapes)
{
  free(shapes->nodes);
  arena_done(&shapes->arena);
}

// The number of a key, new or known; 0: no room.
static uint32_t number_key(struct trace_shapes *shapes, struct slice key)
{
  for (uint32_t i = 0; i < shapes->key_count; i++)
    if (shapes->keys[i].length == key.length && memcmp(shapes->keys[i].data, key.data, key.length) == 0)
      return i + 1;
  if (shapes->key_count == SHAPE_KEYS_MOST)
    return 0;
  const char *copy = arena_copy(&shapes->arena, key.data, key.length);
  shapes->keys[shapes->key_count++] = (struct slice){copy, key.length};
  return shapes->key_count;
}

struct trace_shape *trace_shapes_add(struct trace_shapes *shapes, struct trace_shape *parent, const char *bytes,
                                     size_t length, const struct gap *gap)
{
  if (length == 0 || length > SHAPE_GAP_BYTES || !gap->is_plain || parent->child_count == SHAPE_CHILDREN_MOST ||
      shapes->count == SHAPE_NODES_MOST)
    return NULL;
  struct trace_shape *shape = &shapes->nodes[shapes->count];
  *shape = (struct trace_shape){.length = (uint32_t)length, .needed = ~UINT64_C(0) >> (64 - length), .gap = *gap};
  shape->next_span = UINT8_MAX;
  if (gap->end == GAP_NUMBER) {
    shape->next_least = '-'; // to '9', so '.' and '/' too: a number that the scanner refuses
    shape->next_span = '9' - '-';
  } else if (gap->end == GAP_VALUE) {
    shape->next_least = ' ' + 1; // the grammar skips space
    shape->next_span = UINT8_MAX - shape->next_least;
  }
  if (gap->field == FIELD_ARGUMENT) {
    shape->gap.key_number = number_key(shapes, gap->key);
    if (shape->gap.key_number == 0)
      return NULL;
    shape->gap.key = shapes->keys[shape->gap.key_number - 1];
  }
  memcpy(shape->bytes, bytes, length);
  shapes->count++;
  // After its elder siblings: what came first is usually the commonest.
  struct trace_shape **link = &parent->child;
  while (*link != NULL)
    link = &(*link)->sibling;
  *link = shape;
  parent->child_count++;
  return shape;
}
