// SPDX-License-Identifier: Apache-2.0
// A hash map from one or two numbers to a number, such as (process, thread) to a track's place. Never in a traced
// process; one thread at a time. Keys may come from a file: the hash is seeded.
#ifndef XSP_BASE_MAP_H
#define XSP_BASE_MAP_H

#include "base/scoped.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_key {
  uint64_t a, b;
};

struct map_slot {
  struct map_key key;
  uint64_t value;
};

struct map {              // starts as {0}
  struct map_slot *slots; // owned; key {0, 0}: free
  size_t slot_count;      // a power of two, or 0
  size_t count;           // keys in the map
  uint64_t seed;
  struct map_slot zero; // the key {0, 0} itself
  bool has_zero;
};

static inline struct map_key map_number(uint64_t number)
{
  return (struct map_key){number, 0};
}

uint64_t *map_find(const struct map *map, struct map_key key); // NULL: not in the map
// The value of `key`, which is added with value 0 where it is missing. *ret_is_new may be NULL.
// A pointer to a value is valid until the next map_at or map_reserve.
uint64_t *map_at(struct map *map, struct map_key key, bool *ret_is_new);
void map_reserve(struct map *map, size_t count); // room for `count` keys in all
void map_done(struct map *map);                  // frees; the map is {0} again

#endif
