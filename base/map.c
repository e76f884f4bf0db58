// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear probing, at most half full; see map.h. A slot is free when its key is {0, 0}, so that key
// has a slot of its own outside the table.
#include "base/map.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

#define FIRST_SLOTS 32u

static bool is_zero(struct map_key key)
{
  return (key.a | key.b) == 0;
}

// The slot with `key`, or the free one where it belongs. The table has a free slot.
static struct map_slot *slot_of(const struct map *map, struct map_key key)
{
  size_t mask = map->slot_count - 1;
  size_t at = (size_t)hash_pair(key.a, key.b, map->seed) & mask;
  while (!is_zero(map->slots[at].key) && (map->slots[at].key.a != key.a || map->slots[at].key.b != key.b))
    at = (at + 1) & mask;
  return &map->slots[at];
}

static void resize(struct map *map, size_t slot_count)
{
  struct map old = *map;
  if (map->seed == 0)
    map->seed = hash_new_seed();
  map->slots = memory_new(slot_count, sizeof *map->slots);
  map->slot_count = slot_count;
  for (size_t i = 0; i < old.slot_count; i++)
    if (!is_zero(old.slots[i].key))
      *slot_of(map, old.slots[i].key) = old.slots[i];
  free(old.slots);
}

uint64_t *map_find(const struct map *map, struct map_key key)
{
  if (is_zero(key))
    return map->has_zero ? (uint64_t *)&map->zero.value : NULL;
  if (map->slot_count == 0)
    return NULL;
  struct map_slot *slot = slot_of(map, key);
  return is_zero(slot->key) ? NULL : &slot->value;
}

uint64_t *map_at(struct map *map, struct map_key key, bool *ret_is_new)
{
  struct map_slot *slot = &map->zero;
  bool is_new = !map->has_zero;
  if (is_zero(key)) {
    map->has_zero = true;
  } else {
    map_reserve(map, map->count + 1);
    slot = slot_of(map, key);
    is_new = is_zero(slot->key);
    slot->key = key;
  }
  map->count += is_new;
  if (ret_is_new != NULL)
    *ret_is_new = is_new;
  return &slot->value;
}

void map_reserve(struct map *map, size_t count)
{
  size_t slot_count = map->slot_count > 0 ? map->slot_count : FIRST_SLOTS;
  if (count > SIZE_MAX / 4)
    memory_exhausted();
  while (slot_count / 2 < count)
    slot_count *= 2;
  if (slot_count != map->slot_count)
    resize(map, slot_count);
}

void map_done(struct map *map)
{
  free(map->slots);
  *map = (struct map){0};
}
