// SPDX-License-Identifier: Apache-2.0
// Maps span ids, correlation ids and track ids to rows. Ids come from files, so sparse and hostile ones must stay cheap:
// the direct table is never larger than four entries an id.
#include "base/id_map.h"

#include "base/hash.h"

#include <string.h>

// Room for `count` different ids, none above `largest`.
static void id_map_init(struct id_map *map, struct arena *arena, size_t count, uint64_t largest)
{
  *map = (struct id_map){0};
  size_t entries;
  if (largest < UINT64_C(4) * count + 1024) {
    entries = (size_t)largest + 1;
    map->limit = entries;
  } else {
    entries = 16;
    while (entries < count * 2)
      entries *= 2;
    map->mask = entries - 1;
    map->seed = hash_new_seed();
    map->key = arena_alloc_array(arena, entries, sizeof *map->key);
  }
  map->value = arena_alloc_array(arena, entries, sizeof *map->value);
  memset(map->value, 0xff, entries * sizeof *map->value);
}

// The slot of an id, empty (ROW_NONE) where it is new. At most `count` different ids may be asked for.
static uint32_t *id_map_slot(struct id_map *map, uint64_t id)
{
  if (map->key == NULL)
    return &map->value[id];
  uint64_t at = hash_number(id, map->seed) & map->mask;
  while (map->value[at] != ROW_NONE && map->key[at] != id)
    at = (at + 1) & map->mask;
  map->key[at] = id;
  return &map->value[at];
}

static void grow_direct(struct id_map *map, struct arena *arena, uint64_t id)
{
  uint64_t limit = map->limit * 2 > id ? map->limit * 2 : id + 1;
  uint32_t *value = arena_alloc_array(arena, limit, sizeof *value);
  memset(value, 0xff, limit * sizeof *value);
  if (map->limit > 0)
    memcpy(value, map->value, map->limit * sizeof *value);
  map->value = value;
  map->limit = limit;
}

// Puts everything into a hashed map of twice the room.
static void grow_hashed(struct id_map *map, struct arena *arena)
{
  size_t slots = map->key == NULL ? map->limit : map->mask + 1;
  struct id_map larger;
  id_map_init(&larger, arena, slots > 512 ? slots : 512, UINT64_MAX);
  for (size_t i = 0; i < slots; i++)
    if (map->value[i] != ROW_NONE) {
      *id_map_slot(&larger, map->key == NULL ? i : map->key[i]) = map->value[i];
      larger.used++;
    }
  *map = larger;
}

uint32_t *id_map_grow_slow(struct id_map *map, struct arena *arena, uint64_t id, uint64_t direct_most)
{
  if (map->key == NULL && id < direct_most) {
    grow_direct(map, arena, id);
    return &map->value[id];
  }
  if (map->key == NULL || map->used > map->mask / 2)
    grow_hashed(map, arena);
  uint32_t *slot = id_map_slot(map, id);
  map->used += *slot == ROW_NONE;
  return slot;
}

uint32_t id_map_find_hashed(const struct id_map *map, uint64_t id)
{
  uint64_t at = hash_number(id, map->seed) & map->mask;
  while (map->value[at] != ROW_NONE && map->key[at] != id)
    at = (at + 1) & map->mask;
  return map->value[at];
}
