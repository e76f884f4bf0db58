// SPDX-License-Identifier: Apache-2.0
// Open addressing over 12-byte slots, at most half of them used. Which ids stand together in a pair is up to the file.
#include "importers/pair_map.h"

#include "base/hash.h"

#include <stdlib.h>

static struct pair_slot *find(const struct pair_map *map, uint32_t a, uint32_t b)
{
  uint32_t at = (uint32_t)hash_number((uint64_t)a << 32 | b, map->seed) & (map->slot_count - 1);
  while (map->slots[at].value != 0 && (map->slots[at].a != a || map->slots[at].b != b))
    at = (at + 1) & (map->slot_count - 1);
  return &map->slots[at];
}

static bool grow(struct pair_map *map)
{
  uint32_t slot_count = map->slot_count == 0 ? 64 : 2 * map->slot_count;
  struct pair_slot *slots = slot_count == 0 ? NULL : calloc(slot_count, sizeof *slots);
  if (slots == NULL)
    return false;
  struct pair_map grown = {.slots = slots, .slot_count = slot_count, .used = map->used, .seed = hash_new_seed()};
  for (uint32_t i = 0; i < map->slot_count; i++)
    if (map->slots[i].value != 0)
      *find(&grown, map->slots[i].a, map->slots[i].b) = map->slots[i];
  free(map->slots);
  *map = grown;
  return true;
}

uint32_t *pair_map_at(struct pair_map *map, uint32_t a, uint32_t b)
{
  if (2 * map->used >= map->slot_count && !grow(map))
    return NULL;
  struct pair_slot *slot = find(map, a, b);
  if (slot->value == 0) {
    slot->a = a;
    slot->b = b;
    map->used++;
  }
  return &slot->value;
}

uint32_t pair_map_find(const struct pair_map *map, uint32_t a, uint32_t b)
{
  return map->slot_count == 0 ? 0 : find(map, a, b)->value;
}

void pair_map_done(struct pair_map *map)
{
  free(map->slots);
  *map = (struct pair_map){0};
}
