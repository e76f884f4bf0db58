// SPDX-License-Identifier: Apache-2.0
// Open addressing; see sites.h. A slot is claimed by its key and stays.
#include "frameworks/common/sites.h"

struct xsp_site *framework_sites_find(const struct site_table *table, uint64_t key)
{
  for (size_t i = 0; i < table->slot_count; i++) {
    const struct site_slot *slot = &table->slots[(key + i) % table->slot_count];
    uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
    if (found == key)
      return __atomic_load_n(&slot->site, __ATOMIC_ACQUIRE);
    if (found == 0)
      return NULL;
  }
  return NULL;
}

bool framework_sites_have_room(const struct site_table *table)
{
  return __atomic_load_n(&table->count, __ATOMIC_RELAXED) < table->slot_count / 2;
}

struct xsp_site *framework_sites_add(struct site_table *table, uint64_t key, struct xsp_site *site)
{
  for (size_t i = 0; i < table->slot_count; i++) {
    struct site_slot *slot = &table->slots[(key + i) % table->slot_count];
    uint64_t found = 0;
    if (__atomic_compare_exchange_n(&slot->key, &found, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      __atomic_store_n(&slot->site, site, __ATOMIC_RELEASE);
      __atomic_fetch_add(&table->count, 1, __ATOMIC_RELAXED);
      return site;
    }
    if (found == key) {
      struct xsp_site *first = __atomic_load_n(&slot->site, __ATOMIC_ACQUIRE);
      return first != NULL ? first : site;
    }
  }
  return site;
}
