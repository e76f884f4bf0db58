// SPDX-License-Identifier: Apache-2.0
// A hash table from two numbers to a third: (process, thread) to track and the like, the numbers being ids of texts.
// Private to collect.
#ifndef XSP_IMPORTERS_PAIR_MAP_H
#define XSP_IMPORTERS_PAIR_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct pair_slot {
  uint32_t a, b, value; // value 0: free
};
struct pair_map { // starts as {0}
  struct pair_slot *slots;
  uint32_t slot_count, used;
  uint64_t seed; // of the hash
};
// Where the pair's value is, 0 where it is new: the caller sets it (not to 0) before the next call. NULL: out of memory.
uint32_t *pair_map_at(struct pair_map *map, uint32_t a, uint32_t b);
uint32_t pair_map_find(const struct pair_map *map, uint32_t a, uint32_t b); // 0: not there
void pair_map_done(struct pair_map *map);

#endif
