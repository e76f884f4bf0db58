// SPDX-License-Identifier: Apache-2.0
// Pairs items by key. Called once per layer and per kernel execution: one lookup each, no allocation.
#include "analyze/pairing.h"

#include <stdbool.h>
#include <string.h>

struct pairing_slot {
  struct pairing_key key;
  uint32_t first, last; // pairs of the key; PAIRING_NONE: a free slot
  uint32_t current;     // the pair placed last in `sequence`
  uint32_t sequence;
};

static struct pairing_slot *find(const struct pairing *pairing, struct pairing_key key)
{
  uint64_t hash = key.a * UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ hash >> 29 ^ key.b) * UINT64_C(0xbf58476d1ce4e5b9);
  size_t at = (size_t)(hash ^ hash >> 31) & pairing->mask;
  for (;; at = (at + 1) & pairing->mask) {
    struct pairing_slot *slot = &pairing->slots[at];
    if (slot->first == PAIRING_NONE || (slot->key.a == key.a && slot->key.b == key.b))
      return slot;
  }
}

static void make_slots(struct pairing *pairing, size_t count)
{
  pairing->slots = arena_alloc_array(pairing->arena, count, sizeof *pairing->slots);
  pairing->mask = count - 1;
  for (size_t i = 0; i < count; i++)
    pairing->slots[i].first = PAIRING_NONE;
}

// The slot of `key`, with room for one more key.
static struct pairing_slot *slot_of(struct pairing *pairing, struct pairing_key key)
{
  if (pairing->key_count * 2 > pairing->mask) {
    const struct pairing_slot *slots = pairing->slots;
    size_t count = pairing->mask + 1;
    make_slots(pairing, count * 4);
    for (size_t i = 0; i < count; i++)
      if (slots[i].first != PAIRING_NONE)
        *find(pairing, slots[i].key) = slots[i];
  }
  return find(pairing, key);
}

static void fill_slot(struct pairing *pairing, struct pairing_slot *slot, struct pairing_key key, uint32_t pair)
{
  *slot = (struct pairing_slot){.key = key, .first = pair, .last = pair};
  pairing->key_count++;
}

void pairing_start(struct pairing *pairing, struct arena *arena, size_t pairs_most)
{
  *pairing = (struct pairing){.arena = arena, .first = PAIRING_NONE, .previous = PAIRING_NONE};
  pairing->pairs = arena_alloc_array(arena, pairs_most + 1, sizeof *pairing->pairs);
  make_slots(pairing, 256);
}

void pairing_sequence(struct pairing *pairing)
{
  pairing->sequence++;
  pairing->previous = PAIRING_NONE;
}

uint32_t pairing_append(struct pairing *pairing)
{
  uint32_t at = (uint32_t)pairing->count++;
  uint32_t *link = pairing->previous == PAIRING_NONE ? &pairing->first : &pairing->pairs[pairing->previous].next;
  pairing->pairs[at] = (struct pairing_pair){.next = *link, .next_occurrence = PAIRING_NONE};
  *link = at;
  pairing->previous = at;
  return at;
}

uint32_t pairing_place(struct pairing *pairing, struct pairing_key key)
{
  struct pairing_slot *slot = slot_of(pairing, key);
  bool is_new = slot->first == PAIRING_NONE;
  uint32_t at = is_new                                ? PAIRING_NONE
                : slot->sequence != pairing->sequence ? slot->first
                                                      : pairing->pairs[slot->current].next_occurrence;
  if (at == PAIRING_NONE) {
    at = pairing_append(pairing);
    if (is_new) {
      fill_slot(pairing, slot, key, at);
    } else {
      pairing->pairs[at].occurrence = pairing->pairs[slot->last].occurrence + 1;
      pairing->pairs[slot->last].next_occurrence = at;
      slot->last = at;
    }
  }
  slot->sequence = pairing->sequence;
  slot->current = at;
  pairing->previous = at;
  return at;
}

void pairing_alias(struct pairing *pairing, struct pairing_key key, uint32_t pair)
{
  struct pairing_slot *slot = slot_of(pairing, key);
  if (slot->first == PAIRING_NONE)
    fill_slot(pairing, slot, key, pair);
}

void pairing_order(const struct pairing *pairing, const size_t *is_first, uint32_t *ret_order)
{
  size_t count = 0;
  for (int first = 1; first >= 0; first--)
    for (uint32_t at = pairing->first; at != PAIRING_NONE; at = pairing->pairs[at].next)
      if ((is_first[at] > 0) == first)
        ret_order[count++] = at;
}
