// SPDX-License-Identifier: Apache-2.0
// See layer_pairs.h. Called by layer_differences.c.
#include "experiment/evaluation/layer_pairs.h"

#include "base/interner.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BY_ORDER_MOST 4096u // layers of a model: time and memory grow with the product

static size_t pair_by_name(const struct layer_name *first, size_t first_count, const struct layer_name *other,
                           size_t other_count, size_t *partners)
{
  struct interner names SCOPED(interner_done) = {0};
  size_t found = 0;
  size_t *places SCOPED(scoped_free) = memory_new(other_count + 1, sizeof *places);
  for (size_t i = 0; i < other_count; i++)
    places[interner_at(&names, other[i].name, strlen(other[i].name))] = i;
  for (size_t i = 0; i < first_count; i++) {
    uint32_t id = 0;
    bool has_one = interner_find(&names, first[i].name, strlen(first[i].name), &id);
    partners[i] = has_one ? places[id] : SIZE_MAX;
    found += has_one;
  }
  return found;
}

// "Conv", "Conv2D" and "Convolution" are one.
static bool is_same_type(const struct layer_name *first, const struct layer_name *other)
{
  return strncasecmp(first->type, other->type, 4) == 0;
}

// The longest common sequence of types.
static void pair_by_order(const struct layer_name *first, size_t first_count, const struct layer_name *other,
                          size_t other_count, size_t *partners)
{
  size_t width = other_count + 1;
  uint16_t *longest SCOPED(scoped_free) =
      memory_new((first_count + 1) * width, sizeof *longest); // of what follows both places
  for (size_t i = first_count; i-- > 0;)
    for (size_t k = other_count; k-- > 0;) {
      uint16_t down = longest[(i + 1) * width + k], right = longest[i * width + k + 1];
      longest[i * width + k] = is_same_type(&first[i], &other[k]) ? (uint16_t)(longest[(i + 1) * width + k + 1] + 1)
                               : down > right                     ? down
                                                                  : right;
    }
  for (size_t i = 0, k = 0; i < first_count && k < other_count;) {
    if (is_same_type(&first[i], &other[k]))
      partners[i++] = k++;
    else if (longest[(i + 1) * width + k] >= longest[i * width + k + 1])
      i++;
    else
      k++;
  }
}

const size_t *layer_pairs(const struct layer_name *first, size_t first_count, const struct layer_name *other,
                          size_t other_count, struct arena *arena, bool *ret_by_order)
{
  size_t *partners = arena_alloc_array(arena, first_count + 1, sizeof *partners);
  size_t fewer = first_count < other_count ? first_count : other_count;
  size_t found = pair_by_name(first, first_count, other, other_count, partners);
  *ret_by_order = 2 * found < fewer && first_count <= BY_ORDER_MOST && other_count <= BY_ORDER_MOST;
  for (size_t i = 0; i < first_count && *ret_by_order; i++)
    partners[i] = SIZE_MAX;
  if (*ret_by_order)
    pair_by_order(first, first_count, other, other_count, partners);
  return partners;
}
