// SPDX-License-Identifier: Apache-2.0
// Open addressing over keys of three numbers. Called once a kernel while kernels are paired; grows, never shrinks.
#include "analyze/kernels/keys.h"

#include <stdlib.h>

struct kernel_slot {
  struct kernel_key key;
  uint32_t number; // UINT32_MAX: empty
};

static struct kernel_slot *find(const struct kernel_keys *keys, struct kernel_key key)
{
  uint64_t hash = ((uint64_t)key.layer << 32 | key.ordinal) * UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ hash >> 29 ^ key.name) * UINT64_C(0xbf58476d1ce4e5b9);
  size_t at = (size_t)(hash ^ hash >> 31) & keys->mask;
  for (;; at = (at + 1) & keys->mask) {
    struct kernel_slot *slot = &keys->slots[at];
    if (slot->number == UINT32_MAX ||
        (slot->key.layer == key.layer && slot->key.ordinal == key.ordinal && slot->key.name == key.name))
      return slot;
  }
}

static bool grow(struct kernel_keys *keys)
{
  struct kernel_keys larger = {.mask = keys->slots == NULL ? 255 : keys->mask * 2 + 1, .count = keys->count};
  larger.slots = malloc((larger.mask + 1) * sizeof *larger.slots);
  if (larger.slots == NULL)
    return false;
  for (size_t i = 0; i <= larger.mask; i++)
    larger.slots[i].number = UINT32_MAX;
  for (size_t i = 0; keys->slots != NULL && i <= keys->mask; i++)
    if (keys->slots[i].number != UINT32_MAX)
      *find(&larger, keys->slots[i].key) = keys->slots[i];
  free(keys->slots);
  *keys = larger;
  return true;
}

uint32_t kernel_keys_add(struct kernel_keys *keys, struct kernel_key key, uint32_t number)
{
  if ((keys->slots == NULL || keys->count * 2 > keys->mask) && !grow(keys))
    return UINT32_MAX;
  struct kernel_slot *slot = find(keys, key);
  if (slot->number == UINT32_MAX) {
    *slot = (struct kernel_slot){key, number};
    keys->count++;
  }
  return slot->number;
}

bool kernel_keys_find(const struct kernel_keys *keys, struct kernel_key key, uint32_t *ret_number)
{
  if (keys->slots == NULL)
    return false;
  *ret_number = find(keys, key)->number;
  return *ret_number != UINT32_MAX;
}

void kernel_keys_done(struct kernel_keys *keys)
{
  free(keys->slots);
  *keys = (struct kernel_keys){0};
}
