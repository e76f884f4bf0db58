// SPDX-License-Identifier: Apache-2.0
// Ids that come in clusters (a process numbers its calls from some number on) to rows, in pages of neighbours, whatever
// their numbers. Ids without neighbours are hashed one by one.
#ifndef XSP_BASE_ID_PAGES_H
#define XSP_BASE_ID_PAGES_H

#include "base/id_map.h"

#define ID_PAGE_BITS 12u
#define ID_PAGE_IDS (UINT64_C(1) << ID_PAGE_BITS)

struct id_page {
  uint64_t number; // id >> ID_PAGE_BITS
  uint32_t *row;   // ROW_NONE: no such id; NULL: a free slot
};
struct id_pages { // starts as {0}
  struct id_page *slot;
  uint64_t mask; // slots - 1
  uint64_t seed; // of the hash
  size_t page_count, used;
  uint64_t last_number; // of the page that was looked at last, + 1; 0: none
  uint32_t *last_row;
  struct id_map sparse; // ids that found no page
  bool is_closed;       // no more pages: ids are too far apart
};

// The place of an id's row, ROW_NONE where it is new; the caller fills it at once.
uint32_t *id_pages_slot_slow(struct id_pages *pages, struct arena *arena, uint64_t id);
static inline uint32_t *id_pages_slot(struct id_pages *pages, struct arena *arena, uint64_t id)
{
  if (pages->last_number != (id >> ID_PAGE_BITS) + 1)
    return id_pages_slot_slow(pages, arena, id);
  uint32_t *slot = &pages->last_row[id & (ID_PAGE_IDS - 1)];
  pages->used += *slot == ROW_NONE;
  return slot;
}
uint32_t id_pages_find_slow(struct id_pages *pages, uint64_t id);
static inline uint32_t id_pages_find(struct id_pages *pages, uint64_t id) // ROW_NONE: unknown
{
  if (pages->last_number != (id >> ID_PAGE_BITS) + 1)
    return id_pages_find_slow(pages, id);
  return pages->last_row[id & (ID_PAGE_IDS - 1)];
}

#endif
