// SPDX-License-Identifier: Apache-2.0
// Growable arrays of any type. Never in a traced process; one thread at a time.
//
//   VECTOR(struct span) spans = {0};
//   struct span *span = vector_add(&spans); // zeroed; valid until the vector grows
//   *vector_add(&spans) = other;
//   vector_sort(&spans, compare_spans);
//   for (size_t i = 0; i < spans.count; i++) use(&spans.items[i]);
//   vector_done(&spans); // or, at once: VECTOR(struct span) spans SCOPED(vector_end) = {0};
//
// The macros evaluate their first argument several times.
#ifndef XSP_BASE_VECTOR_H
#define XSP_BASE_VECTOR_H

#include "base/memory.h"
#include "base/scoped.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VECTOR(type)                                                                                                   \
  struct {                                                                                                             \
    type *items;                                                                                                       \
    size_t count, capacity;                                                                                            \
  }

// A pointer to a new, zeroed last item.
#define vector_add(vector)                                                                                             \
  (vector_reserve(vector, 1), memset(&(vector)->items[(vector)->count], 0, sizeof *(vector)->items),                   \
   &(vector)->items[(vector)->count++])

// Room for `more` items after the last one; they are not zeroed.
#define vector_reserve(vector, more)                                                                                   \
  ((void)((vector)->items =                                                                                            \
              vector_room((vector)->items, (vector)->count, &(vector)->capacity, more, sizeof *(vector)->items)))

// By a comparison as qsort's, see SORTED_BY in base/sorted.h.
#define vector_sort(vector, compare)                                                                                   \
  ((vector)->count > 1 ? qsort((vector)->items, (vector)->count, sizeof *(vector)->items, compare) : (void)0)

// Frees the items; the vector is empty again.
#define vector_done(vector)                                                                                            \
  (free((vector)->items), (vector)->items = NULL, (void)((vector)->count = (vector)->capacity = 0))

// For SCOPED: what vector_done does to a local one. Each begins with the pointer to its items.
static inline void vector_end(void *vector)
{
  scoped_free(vector);
}

// For vector_reserve: `items`, moved where they must grow. Growth doubles, so that adding costs the same on average.
static inline void *vector_room(void *items, size_t count, size_t *capacity, size_t more, size_t item_bytes)
{
  if (more <= *capacity - count)
    return items;
  if (more > SIZE_MAX / 2 - count)
    memory_exhausted();
  size_t wanted = *capacity < 8 ? 8 : *capacity * 2;
  *capacity = wanted < count + more ? count + more : wanted;
  return memory_resize(items, *capacity, item_bytes);
}

#endif
