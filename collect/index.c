// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear probing. Used for catalog ids and tracks, never in the traced process.
#include "collect/index.h"

#include <stdlib.h>
#include <string.h>

static uint32_t place(const struct index *index, uint64_t key)
{
  key ^= key >> 32;
  key *= UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(key >> 32) & (index->capacity - 1);
}

static struct index_slot *slot_of(const struct index *index, uint64_t key)
{
  uint32_t i = place(index, key);
  while (index->slots[i].used && index->slots[i].key != key)
    i = (i + 1) & (index->capacity - 1);
  return &index->slots[i];
}

bool index_find(const struct index *index, uint64_t key, uint32_t *ret_value)
{
  if (index->count == 0)
    return false;
  const struct index_slot *slot = slot_of(index, key);
  *ret_value = slot->value;
  return slot->used;
}

static bool grow(struct index *index)
{
  struct index bigger = {.capacity = index->capacity ? index->capacity * 2 : 256, .count = index->count};
  if (bigger.capacity == 0 || !(bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots)))
    return false;
  for (uint32_t i = 0; i < index->capacity; i++)
    if (index->slots[i].used)
      *slot_of(&bigger, index->slots[i].key) = index->slots[i];
  free(index->slots);
  *index = bigger;
  return true;
}

bool index_put(struct index *index, uint64_t key, uint32_t value)
{
  if (index->count >= index->capacity / 2 && !grow(index))
    return false;
  struct index_slot *slot = slot_of(index, key);
  index->count += !slot->used;
  *slot = (struct index_slot){key, value, 1};
  return true;
}

void index_done(struct index *index)
{
  free(index->slots);
  memset(index, 0, sizeof *index);
}
