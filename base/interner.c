// SPDX-License-Identifier: Apache-2.0
// Texts in an arena and an index over their hashes, at most half full; see interner.h. Appending drops the
// index; the next look-up builds it anew.
#include "base/interner.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

#define FIRST_SLOTS 64u

// The slot of an equal text, or the free one where it belongs. The index has a free slot.
static uint32_t *slot_of(const struct interner *interner, struct slice text)
{
  size_t mask = interner->slot_count - 1;
  size_t at = (size_t)hash_text(text.data, text.length, interner->seed) & mask;
  while (interner->slots[at] != 0 && !slice_equal(interner->texts.items[interner->slots[at] - 1], text))
    at = (at + 1) & mask;
  return &interner->slots[at];
}

// Room for one more text in the index, which holds all texts afterwards.
static void prepare_index(struct interner *interner)
{
  size_t wanted = interner->slot_count > 0 ? interner->slot_count : FIRST_SLOTS;
  while (wanted / 2 <= interner->texts.count)
    wanted *= 2;
  if (wanted == interner->slot_count)
    return;
  if (interner->seed == 0)
    interner->seed = hash_new_seed();
  free(interner->slots);
  interner->slots = memory_new(wanted, sizeof *interner->slots);
  interner->slot_count = wanted;
  for (uint32_t id = 0; id < interner->texts.count; id++) {
    uint32_t *slot = slot_of(interner, interner->texts.items[id]);
    if (*slot == 0)
      *slot = id + 1;
  }
}

static uint32_t add(struct interner *interner, const char *text, size_t length)
{
  if (interner->texts.count >= UINT32_MAX - 1)
    memory_exhausted();
  uint32_t id = (uint32_t)interner->texts.count;
  *vector_add(&interner->texts) = (struct slice){arena_copy(&interner->arena, text, length), length};
  return id;
}

uint32_t interner_at(struct interner *interner, const char *text, size_t length)
{
  prepare_index(interner);
  uint32_t *slot = slot_of(interner, (struct slice){text, length});
  if (*slot == 0)
    *slot = add(interner, text, length) + 1;
  return *slot - 1;
}

uint32_t interner_append(struct interner *interner, const char *text, size_t length)
{
  free(interner->slots);
  interner->slots = NULL;
  interner->slot_count = 0;
  return add(interner, text, length);
}

bool interner_find(struct interner *interner, const char *text, size_t length, uint32_t *ret_id)
{
  prepare_index(interner);
  uint32_t slot = *slot_of(interner, (struct slice){text, length});
  if (slot == 0)
    return false;
  *ret_id = slot - 1;
  return true;
}

void interner_done(struct interner *interner)
{
  arena_done(&interner->arena);
  vector_done(&interner->texts);
  free(interner->slots);
  *interner = (struct interner){0};
}
