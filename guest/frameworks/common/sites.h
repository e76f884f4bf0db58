// SPDX-License-Identifier: Apache-2.0
// Sites by a hash of what distinguishes them, for threads of a traced process. Any thread; lock-free; never allocates.
#ifndef XSP_FRAMEWORKS_COMMON_SITES_H
#define XSP_FRAMEWORKS_COMMON_SITES_H

#include <xsp/span.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct site_slot {
  uint64_t key;          // atomic; 0: free
  struct xsp_site *site; // atomic; NULL: about to be written
};
struct site_table {
  struct site_slot *slots; // zeroed; pages without sites are never touched
  size_t slot_count;       // half of them are used
  size_t count;            // atomic
};

// NULL: not in the table. `key` is not 0.
struct xsp_site *framework_sites_find(const struct site_table *table, uint64_t key);
bool framework_sites_have_room(const struct site_table *table);
// Returns the site of `key`: `site`, or that of a thread that added it first.
struct xsp_site *framework_sites_add(struct site_table *table, uint64_t key, struct xsp_site *site);

#endif
