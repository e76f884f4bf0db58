// SPDX-License-Identifier: Apache-2.0
// A hash table from a 64-bit key to a 32-bit value that only grows. One thread at a time.
#ifndef XSP_COLLECT_INDEX_H
#define XSP_COLLECT_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct index_slot {
  uint64_t key;
  uint32_t value;
  uint32_t used;
};
struct index {              // starts as {0}
  struct index_slot *slots; // owned
  uint32_t capacity, count; // capacity: a power of two
};

bool index_find(const struct index *index, uint64_t key, uint32_t *ret_value);
bool index_put(struct index *index, uint64_t key, uint32_t value); // replaces; false: out of memory
void index_done(struct index *index);

#endif
