// SPDX-License-Identifier: Apache-2.0
// Texts in an arena and an index over their hashes, at most half full; see interner.h. A slot has its text's hash, so that
// most look-ups touch one line of the index and the text that they find. Appending drops the index; the next look-up builds
// it anew.
#include "base/interner.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

#define FIRST_SLOTS 64u

static uint32_t hash_of(const struct interner *interner, struct slice text)
{
  uint64_t hash = hash_text(text.data, text.length, interner->seed);
  return (uint32_t)(hash ^ hash >> 32);
}

// The slot of an equal text, or the free one where it belongs. The index has a free slot.
static struct interner_slot *find_slot(const struct interner *interner, struct slice text, uint32_t hash)
{
  size_t mask = interner->slot_count - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    struct interner_slot *slot = &interner->slots[at];
    if (slot->number == 0 || (slot->hash == hash && slice_equal(interner->texts.items[slot->number - 1], text)))
      return slot;
  }
}

// Slots of an index that has become too small.
static void move_slots(struct interner *interner, const struct interner_slot *slots, size_t count)
{
  size_t mask = interner->slot_count - 1;
  for (size_t i = 0; i < count; i++) {
    size_t at = slots[i].hash & mask;
    while (slots[i].number != 0 && interner->slots[at].number != 0)
      at = (at + 1) & mask;
    if (slots[i].number != 0)
      interner->slots[at] = slots[i];
  }
}

// Room for one more text in the index, which holds all texts afterwards.
static void prepare_index(struct interner *interner)
{
  struct interner_slot *before = interner->slots;
  size_t count_before = interner->slot_count, wanted = count_before > 0 ? count_before : FIRST_SLOTS;
  while (wanted / 2 <= interner->texts.count)
    wanted *= 2;
  if (wanted == count_before)
    return;
  if (interner->seed == 0)
    interner->seed = hash_new_seed();
  interner->slots = memory_new(wanted, sizeof *interner->slots);
  interner->slot_count = wanted;
  move_slots(interner, before, count_before);
  for (uint32_t id = 0; id < interner->texts.count && before == NULL; id++) {
    uint32_t hash = hash_of(interner, interner->texts.items[id]);
    struct interner_slot *slot = find_slot(interner, interner->texts.items[id], hash);
    if (slot->number == 0)
      *slot = (struct interner_slot){hash, id + 1};
  }
  free(before);
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
  return interner_at_hashed(interner, text, length, hash_of(interner, (struct slice){text, length}));
}

uint32_t interner_hash(struct interner *interner, const char *text, size_t length)
{
  prepare_index(interner);
  uint32_t hash = hash_of(interner, (struct slice){text, length});
  __builtin_prefetch(&interner->slots[hash & (interner->slot_count - 1)]);
  return hash;
}

static const struct slice *likely_text(const struct interner *interner, uint32_t hash)
{
  const struct interner_slot *slot = &interner->slots[hash & (interner->slot_count - 1)];
  return slot->number != 0 && slot->hash == hash ? &interner->texts.items[slot->number - 1] : NULL;
}

void interner_fetch(const struct interner *interner, uint32_t hash)
{
  __builtin_prefetch(likely_text(interner, hash));
}

void interner_fetch_text(const struct interner *interner, uint32_t hash)
{
  const struct slice *text = likely_text(interner, hash);
  if (text != NULL)
    __builtin_prefetch(text->data);
}

uint32_t interner_at_hashed(struct interner *interner, const char *text, size_t length, uint32_t hash)
{
  prepare_index(interner);
  struct interner_slot *slot = find_slot(interner, (struct slice){text, length}, hash);
  if (slot->number == 0)
    *slot = (struct interner_slot){hash, add(interner, text, length) + 1};
  return slot->number - 1;
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
  const struct slice wanted = {text, length};
  uint32_t number = find_slot(interner, wanted, hash_of(interner, wanted))->number;
  if (number == 0)
    return false;
  *ret_id = number - 1;
  return true;
}

void interner_done(struct interner *interner)
{
  arena_done(&interner->arena);
  vector_done(&interner->texts);
  free(interner->slots);
  *interner = (struct interner){0};
}
