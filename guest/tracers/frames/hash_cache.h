// SPDX-License-Identifier: Apache-2.0
// A cache from a 128-bit hash to a number other than 0: of a stack to its call path, of an instruction to how its frame is
// unwound. Any thread, without locks; never allocates after it was mapped. It may forget.
//
// An entry is two words, written one after the other: `value` is 32 bits of the hash and the number, `check` is 64 other bits
// of the hash XOR value. A reader between two writers' words finds a sum that matches no key. So 96 bits of hash decide.
// Keys are addresses, which nobody chooses against us: of a million stacks, two are taken for one with probability 2^-57.
#ifndef XSP_TRACERS_FRAMES_HASH_CACHE_H
#define XSP_TRACERS_FRAMES_HASH_CACHE_H

#include "tracers/annotations/guest.h"

struct hash128 {
  uint64_t low, high;
};

// State and words are multiplied; adding the words again keeps the map from losing what a product loses.
static inline void hash128_add(struct hash128 *hash, uint64_t first, uint64_t second)
{
  uint64_t left = hash->low ^ first ^ UINT64_C(0x9e3779b97f4a7c15);
  uint64_t right = hash->high ^ second ^ UINT64_C(0xd1b54a32d192ed03);
  unsigned __int128 product = (unsigned __int128)left * right;
  hash->low = (uint64_t)product + right;
  hash->high = (uint64_t)(product >> 64) ^ left;
}

// Begins with words: a state is never set to words, which would cancel those that are added.
static inline struct hash128 hash128_of(uint64_t first, uint64_t second)
{
  struct hash128 hash = {0, 0};
  hash128_add(&hash, first, second);
  return hash;
}

#define HASH_CACHE_WAYS 4
#define HASH_CACHE_SETS (1u << 15) // 131,072 numbers in 2 MiB, touched as it fills
#define HASH_CACHE_FIRST 512u      // these sets fill before the others: few numbers touch few pages

struct hash_cache_entry {
  uint64_t check, value; // atomic; 0: free
};
struct hash_cache_set { // one cache line
  _Alignas(64) struct hash_cache_entry way[HASH_CACHE_WAYS];
};
struct hash_cache {
  struct hash_cache_set *sets; // HASH_CACHE_SETS; NULL: not mapped
};

static inline bool hash_cache_map(struct hash_cache *cache) // false: no memory
{
  cache->sets = (struct hash_cache_set *)guest_map(HASH_CACHE_SETS * sizeof *cache->sets);
  return cache->sets != NULL;
}

// A hash has two sets: of the first ones, and of the others where that one is full.
static inline struct hash_cache_set *hash_cache_set_of(const struct hash_cache *cache, const struct hash128 *hash,
                                                       bool is_first)
{
  uint64_t mixed = hash->low ^ hash->high;
  return &cache->sets[is_first ? mixed % HASH_CACHE_FIRST
                               : HASH_CACHE_FIRST + mixed % (HASH_CACHE_SETS - HASH_CACHE_FIRST)];
}

static inline uint32_t hash_cache_find(const struct hash_cache *cache, const struct hash128 *hash) // 0: not there
{
  for (int turn = 0; turn < 2; turn++) {
    const struct hash_cache_set *set = hash_cache_set_of(cache, hash, turn == 0);
    for (uint32_t way = 0; way < HASH_CACHE_WAYS; way++) {
      uint64_t value = __atomic_load_n(&set->way[way].value, __ATOMIC_ACQUIRE);
      uint64_t check = __atomic_load_n(&set->way[way].check, __ATOMIC_RELAXED);
      if ((check ^ value) == hash->low && value >> 32 == hash->high >> 32)
        return (uint32_t)value;
      if (value == 0) // the other set has nothing of this one's
        return 0;
    }
  }
  return 0;
}

static inline uint32_t hash_cache_used_ways(const struct hash_cache_set *set)
{
  uint32_t way = 0;
  while (way < HASH_CACHE_WAYS && __atomic_load_n(&set->way[way].value, __ATOMIC_RELAXED) != 0)
    way++;
  return way;
}

// Takes a free place of its sets, else that of another number in the second, which is forgotten. `number` is not 0.
static inline void hash_cache_put(struct hash_cache *cache, const struct hash128 *hash, uint32_t number)
{
  struct hash_cache_set *set = hash_cache_set_of(cache, hash, true);
  uint32_t way = hash_cache_used_ways(set);
  if (way == HASH_CACHE_WAYS) {
    set = hash_cache_set_of(cache, hash, false);
    way = hash_cache_used_ways(set);
  }
  struct hash_cache_entry *entry = &set->way[way < HASH_CACHE_WAYS ? way : hash->high % HASH_CACHE_WAYS];
  uint64_t value = hash->high >> 32 << 32 | number;
  __atomic_store_n(&entry->check, hash->low ^ value, __ATOMIC_RELAXED);
  __atomic_store_n(&entry->value, value, __ATOMIC_RELEASE);
}

#endif
