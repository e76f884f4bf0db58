// SPDX-License-Identifier: Apache-2.0
// Objects by their addresses; see known.h. Called by the doors, at each inference. The address hashes to an entry. At most 64
// from there on are compared, up to the first that was never used, without a lock.
//
//   address --hash-->  | other | removed | address: site, state | free |
//
// One thread at a time adds: two that took an entry each for one address would both change the program's object. Others
// yield meanwhile, for some 64 comparisons. What a fork left behind in a child is its parent's process number, which does not count.
#include "frameworks/onnxruntime/known.h"

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#define PROBES 64u
#define REMOVED 1u
#define WAITS_MAXIMUM 100000

static struct known *entry_at(struct known_table *table, const void *address, uint32_t probe)
{
  uint64_t first = ((uint64_t)(uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
  return &table->entries[(first + probe) % KNOWN_ENTRIES];
}

struct known *ort_known_find(struct known_table *table, const void *address)
{
  uintptr_t key = (uintptr_t)address;
  for (uint32_t i = 0; i < PROBES && key > REMOVED; i++) {
    struct known *known = entry_at(table, address, i);
    uintptr_t there = __atomic_load_n(&known->key, __ATOMIC_ACQUIRE);
    if (there == key)
      return known;
    if (there == 0)
      return NULL;
  }
  return NULL;
}

// False: another thread never ends, as one that this one interrupted by a signal.
static bool begin_adding(struct known_table *table)
{
  const uint32_t own = (uint32_t)getpid();
  for (int waits = 0; waits < WAITS_MAXIMUM; waits++) {
    uint32_t holder = __atomic_load_n(&table->adding, __ATOMIC_RELAXED);
    if (holder != own &&
        __atomic_compare_exchange_n(&table->adding, &holder, own, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return true;
    sched_yield();
  }
  return false;
}

static void end_adding(struct known_table *table)
{
  __atomic_store_n(&table->adding, 0, __ATOMIC_RELEASE);
}

static struct known *free_entry(struct known_table *table, const void *address)
{
  for (uint32_t i = 0; i < PROBES && (uintptr_t)address > REMOVED; i++) {
    struct known *known = entry_at(table, address, i);
    if (__atomic_load_n(&known->key, __ATOMIC_ACQUIRE) <= REMOVED)
      return known;
  }
  return NULL;
}

static void begin_new(struct known *known, const void *address)
{
  known->site = NULL;
  known->guard = NULL;
  known->batch = -1;
  __atomic_store_n(&known->state, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&known->key, (uintptr_t)address, __ATOMIC_RELEASE); // partner: ort_known_find
}

static struct known *add(struct known_table *table, const void *address, bool stays)
{
  if (!begin_adding(table))
    return NULL;
  struct known *known = ort_known_find(table, address);
  bool is_new = known == NULL;
  if (is_new)
    known = free_entry(table, address);
  if (known != NULL && (is_new || !stays))
    begin_new(known, address);
  end_adding(table);
  return known;
}

struct known *ort_known_add(struct known_table *table, const void *address)
{
  return add(table, address, false);
}

struct known *ort_known_get(struct known_table *table, const void *address)
{
  struct known *known = ort_known_find(table, address);
  return known != NULL ? known : add(table, address, true);
}

void ort_known_remove(struct known_table *table, const void *address)
{
  struct known *known = ort_known_find(table, address);
  if (known != NULL)
    __atomic_store_n(&known->key, REMOVED, __ATOMIC_RELEASE);
}
