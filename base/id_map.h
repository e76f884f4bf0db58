// SPDX-License-Identifier: Apache-2.0
// Ids to rows: a direct table where ids are dense, else open addressing.
#ifndef XSP_BASE_ID_MAP_H
#define XSP_BASE_ID_MAP_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define ROW_NONE UINT32_MAX

struct id_map {
  uint32_t *value; // direct: by id; else by slot. ROW_NONE: empty
  uint64_t *key;   // NULL: direct
  uint64_t limit;  // direct: ids below it fit
  uint64_t mask;   // hashed: slots - 1
  size_t used;     // hashed, of a map that grows: slots in use
  uint64_t seed;   // hashed
};

// The same for a map that began as {0} and grows: a direct table while ids stay below `direct_most`.
uint32_t *id_map_grow_slow(struct id_map *map, struct arena *arena, uint64_t id, uint64_t direct_most);
static inline uint32_t *id_map_grow(struct id_map *map, struct arena *arena, uint64_t id, uint64_t direct_most)
{
  return id < map->limit ? &map->value[id] : id_map_grow_slow(map, arena, id, direct_most);
}
uint32_t id_map_find_hashed(const struct id_map *map, uint64_t id);
static inline uint32_t id_map_find(const struct id_map *map, uint64_t id) // ROW_NONE: unknown
{
  if (map->key != NULL)
    return id_map_find_hashed(map, id);
  return id < map->limit ? map->value[id] : ROW_NONE;
}

#endif
