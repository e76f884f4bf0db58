// SPDX-License-Identifier: Apache-2.0
// Handles to records: open addressing with linear probing, keys set once by compare-and-swap. Called from the program's
// threads for every command; never blocks, never frees.
#include "tracers/opencl/table.h"

#include "tracers/annotations/guest.h"

static uint32_t place_of(const struct table *table, uintptr_t key)
{
  return (uint32_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (table->capacity - 1);
}

void *table_get(const struct table *table, const void *key)
{
  const struct table_entry *entries = __atomic_load_n(&table->entries, __ATOMIC_ACQUIRE);
  if (entries == NULL || key == NULL)
    return NULL;
  uint32_t place = place_of(table, (uintptr_t)key);
  for (uint32_t i = 0; i < table->capacity; i++) {
    const struct table_entry *entry = &entries[(place + i) & (table->capacity - 1)];
    uintptr_t found = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
    if (found == (uintptr_t)key)
      return __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE);
    if (found == 0)
      return NULL;
  }
  return NULL;
}

bool table_put(struct table *table, const void *key, void *value)
{
  struct table_entry *entries = NULL;
  if (key != NULL)
    entries = guest_map_once(&table->entries, table->capacity * sizeof *entries);
  if (entries == NULL)
    return false;
  uint32_t place = place_of(table, (uintptr_t)key);
  for (uint32_t i = 0; i < table->capacity; i++) {
    struct table_entry *entry = &entries[(place + i) & (table->capacity - 1)];
    uintptr_t found = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
    if (found == 0) {
      // A quarter stays free, so that a probe for a key that is not there ends soon.
      if (__atomic_load_n(&table->used, __ATOMIC_RELAXED) >= table->capacity / 4 * 3)
        return false;
      if (__atomic_compare_exchange_n(&entry->key, &found, (uintptr_t)key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(&table->used, 1, __ATOMIC_RELAXED);
        found = (uintptr_t)key;
      }
    }
    if (found == (uintptr_t)key) {
      __atomic_store_n(&entry->value, value, __ATOMIC_RELEASE);
      return true;
    }
  }
  return false;
}
