// SPDX-License-Identifier: Apache-2.0
// A table from handles (addresses) to what is known about them. Entries are replaced, never removed: an address that the
// driver gives out again is the same entry. Any thread, no lock; a lookup is a few loads.
#ifndef XSP_TRACERS_OPENCL_TABLE_H
#define XSP_TRACERS_OPENCL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct table_entry {
  uintptr_t key; // atomic; 0: free. Set once.
  void *value;   // atomic
};
struct table {
  void *entries;     // atomic: struct table_entry; made at the first put, in memory that is touched as it fills
  uint32_t capacity; // a power of two, given by the owner
  uint32_t used;     // atomic
};

void *table_get(const struct table *table, const void *key); // NULL: not known
// The newest value wins. False where there is no room: the caller then asks the driver each time.
bool table_put(struct table *table, const void *key, void *value);

#endif
