// SPDX-License-Identifier: Apache-2.0
// Maps span ids, correlation ids and track ids to rows. Ids come from files, so sparse and hostile ones must stay cheap:
// the direct table is never larger than four entries an id.
#include "correlate/id_map.h"

#include <string.h>

static uint64_t mix(uint64_t id)
{
  id ^= id >> 31;
  id *= UINT64_C(0x9e3779b97f4a7c15);
  return id ^ id >> 29;
}

bool id_map_init(struct id_map *map, struct arena *arena, size_t count, uint64_t largest)
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
    map->key = arena_alloc_array(arena, entries, sizeof *map->key);
    if (map->key == NULL)
      return false;
  }
  map->value = arena_alloc_array(arena, entries, sizeof *map->value);
  if (map->value == NULL)
    return false;
  memset(map->value, 0xff, entries * sizeof *map->value);
  return true;
}

uint32_t *id_map_slot(struct id_map *map, uint64_t id)
{
  if (map->key == NULL)
    return &map->value[id];
  uint64_t at = mix(id) & map->mask;
  while (map->value[at] != ROW_NONE && map->key[at] != id)
    at = (at + 1) & map->mask;
  map->key[at] = id;
  return &map->value[at];
}

uint32_t id_map_find(const struct id_map *map, uint64_t id)
{
  if (map->value == NULL)
    return ROW_NONE;
  if (map->key == NULL)
    return id < map->limit ? map->value[id] : ROW_NONE;
  uint64_t at = mix(id) & map->mask;
  while (map->value[at] != ROW_NONE && map->key[at] != id)
    at = (at + 1) & map->mask;
  return map->value[at];
}
