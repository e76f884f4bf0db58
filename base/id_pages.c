// SPDX-License-Identifier: Apache-2.0
// Correlation ids to rows. Called for every call and every execution, nearly always for a neighbour of the id before.
#include "base/id_pages.h"

#include "base/hash.h"

#include <string.h>

#define FEW_PAGES 64u         // may be as empty as they like
#define IDS_IN_EACH_PAGE 512u // of more pages, on average: else new ids are hashed

static struct id_page *find_page(const struct id_pages *pages, uint64_t number)
{
  uint64_t at = hash_number(number, pages->seed) & pages->mask;
  while (pages->slot[at].row != NULL && pages->slot[at].number != number)
    at = (at + 1) & pages->mask;
  return &pages->slot[at];
}

static void grow(struct id_pages *pages, struct arena *arena)
{
  size_t count = pages->slot == NULL ? 64 : 2 * (pages->mask + 1);
  struct id_pages larger = {
      .slot = arena_alloc_array(arena, count, sizeof *larger.slot), .mask = count - 1, .seed = hash_new_seed()};
  for (size_t i = 0; pages->slot != NULL && i <= pages->mask; i++)
    if (pages->slot[i].row != NULL)
      *find_page(&larger, pages->slot[i].number) = pages->slot[i];
  pages->slot = larger.slot;
  pages->mask = larger.mask;
  pages->seed = larger.seed;
}

static uint32_t *new_page(struct id_pages *pages, struct arena *arena, uint64_t number)
{
  if (pages->slot == NULL || pages->page_count > pages->mask / 2)
    grow(pages, arena);
  uint32_t *row = arena_alloc_array(arena, ID_PAGE_IDS, sizeof *row);
  memset(row, 0xff, ID_PAGE_IDS * sizeof *row);
  *find_page(pages, number) = (struct id_page){number, row};
  pages->page_count++;
  return row;
}

uint32_t *id_pages_slot_slow(struct id_pages *pages, struct arena *arena, uint64_t id)
{
  uint64_t number = id >> ID_PAGE_BITS;
  uint32_t *row = pages->slot == NULL ? NULL : find_page(pages, number)->row;
  if (row == NULL) {
    // For good: an id is either in a page or hashed.
    pages->is_closed |= pages->page_count >= FEW_PAGES && pages->page_count * IDS_IN_EACH_PAGE > pages->used;
    if (pages->is_closed)
      return id_map_grow(&pages->sparse, arena, id, 0);
    row = new_page(pages, arena, number);
  }
  pages->last_number = number + 1;
  pages->last_row = row;
  uint32_t *slot = &row[id & (ID_PAGE_IDS - 1)];
  pages->used += *slot == ROW_NONE;
  return slot;
}

uint32_t id_pages_find_slow(struct id_pages *pages, uint64_t id)
{
  struct id_page page = pages->slot == NULL ? (struct id_page){0} : *find_page(pages, id >> ID_PAGE_BITS);
  if (page.row == NULL)
    return pages->is_closed ? id_map_find(&pages->sparse, id) : ROW_NONE;
  pages->last_number = page.number + 1;
  pages->last_row = page.row;
  return page.row[id & (ID_PAGE_IDS - 1)];
}
