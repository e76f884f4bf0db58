// SPDX-License-Identifier: Apache-2.0
// Tables of the traced process: open addressing with linear probing, without locks. Entries are added, never removed; a
// lookup is a few loads. Any thread; finds nothing half-made after a fork or in a signal handler.
#ifndef XSP_TRACERS_ANNOTATIONS_GUEST_TABLE_H
#define XSP_TRACERS_ANNOTATIONS_GUEST_TABLE_H

#include "tracers/annotations/guest.h"

// ---- from a handle or number, not 0, to a value that may be replaced
struct guest_map_entry {
  uintptr_t key; // atomic; 0: free. Set once
  void *value;   // atomic
};
struct guest_map {
  void *entries;     // atomic: struct guest_map_entry; mapped at the first use, touched as it fills
  uint32_t capacity; // a power of two, given by the owner
  uint32_t used;     // atomic
};

static inline uint32_t guest_map_start(const struct guest_map *map, uintptr_t key)
{
  return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static inline void *guest_map_get(const struct guest_map *map, const void *key) // NULL: not known
{
  const struct guest_map_entry *entries = __atomic_load_n(&map->entries, __ATOMIC_ACQUIRE);
  if (entries == NULL || key == NULL)
    return NULL;
  for (uint32_t place = guest_map_start(map, (uintptr_t)key);; place++) { // ends: a quarter stays free
    const struct guest_map_entry *entry = &entries[place & (map->capacity - 1)];
    uintptr_t found = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
    if (found == (uintptr_t)key)
      return __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE);
    if (found == 0)
      return NULL;
  }
}

// The place of the key's value (atomic), which is NULL until it is set. NULL: no room.
static inline void **guest_map_place(struct guest_map *map, const void *key)
{
  struct guest_map_entry *entries = key == NULL ? NULL : guest_map_once(&map->entries, map->capacity * sizeof *entries);
  if (entries == NULL)
    return NULL;
  for (uint32_t place = guest_map_start(map, (uintptr_t)key);; place++) {
    struct guest_map_entry *entry = &entries[place & (map->capacity - 1)];
    uintptr_t found = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
    if (found == 0) {
      if (__atomic_load_n(&map->used, __ATOMIC_RELAXED) >= map->capacity / 4 * 3)
        return NULL;
      if (__atomic_compare_exchange_n(&entry->key, &found, (uintptr_t)key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(&map->used, 1, __ATOMIC_RELAXED);
        return &entry->value;
      }
    }
    if (found == (uintptr_t)key)
      return &entry->value;
  }
}

// The newest value wins. False: no room.
static inline bool guest_map_put(struct guest_map *map, const void *key, void *value)
{
  void **place = guest_map_place(map, key);
  if (place != NULL)
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
  return place != NULL;
}

// ---- entries by their content: `slots` (atomic) are `capacity` pointers, a power of two, that the owner never fills up
typedef bool guest_is_same(const void *entry, const void *key);

static inline void *guest_find(void *const *slots, uint32_t capacity, uint32_t hash, guest_is_same *is_same,
                               const void *key) // NULL: none
{
  for (uint32_t place = hash;; place++) {
    void *known = __atomic_load_n(&slots[place & (capacity - 1)], __ATOMIC_ACQUIRE);
    if (known == NULL || is_same(known, key))
      return known;
  }
}

// Publishes `fresh`, which is complete. Returns it, or the same entry of another thread that was faster.
static inline void *guest_add(void **slots, uint32_t capacity, uint32_t *count, uint32_t hash, guest_is_same *is_same,
                              const void *key, void *fresh)
{
  for (uint32_t place = hash;; place++) {
    void *known = NULL;
    if (__atomic_compare_exchange_n(&slots[place & (capacity - 1)], &known, fresh, false, __ATOMIC_RELEASE,
                                    __ATOMIC_ACQUIRE)) {
      __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
      return fresh;
    }
    if (is_same(known, key))
      return known;
  }
}

#endif
