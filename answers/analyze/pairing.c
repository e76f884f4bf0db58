// SPDX-License-Identifier: Apache-2.0
// Pairs items by key. Called once per layer and per kernel execution: one look-up each.
#include "analyze/pairing.h"

// The pairs of a key; *ret_is_new: there are none yet.
static struct pairing_group *group_of(struct pairing *pairing, struct map_key key, bool *ret_is_new)
{
  uint64_t *at = map_at(&pairing->places, key, ret_is_new);
  if (*ret_is_new) {
    *at = pairing->groups.count;
    (void)vector_add(&pairing->groups);
  }
  return &pairing->groups.items[*at];
}

void pairing_start(struct pairing *pairing, struct arena *arena, size_t pairs_most)
{
  *pairing = (struct pairing){.arena = arena, .first = PAIRING_NONE, .previous = PAIRING_NONE};
  pairing->pairs = arena_alloc_array(arena, pairs_most + 1, sizeof *pairing->pairs);
}

void pairing_done(struct pairing *pairing)
{
  map_done(&pairing->places);
  vector_done(&pairing->groups);
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

uint32_t pairing_place(struct pairing *pairing, struct map_key key)
{
  bool is_new;
  struct pairing_group *group = group_of(pairing, key, &is_new);
  uint32_t at = is_new                                 ? PAIRING_NONE
                : group->sequence != pairing->sequence ? group->first
                                                       : pairing->pairs[group->current].next_occurrence;
  if (at == PAIRING_NONE) {
    at = pairing_append(pairing);
    if (is_new) {
      *group = (struct pairing_group){.first = at, .last = at};
    } else {
      pairing->pairs[at].occurrence = pairing->pairs[group->last].occurrence + 1;
      pairing->pairs[group->last].next_occurrence = at;
      group->last = at;
    }
  }
  group->sequence = pairing->sequence;
  group->current = at;
  pairing->previous = at;
  return at;
}

void pairing_alias(struct pairing *pairing, struct map_key key, uint32_t pair)
{
  bool is_new;
  struct pairing_group *group = group_of(pairing, key, &is_new);
  if (is_new)
    *group = (struct pairing_group){.first = pair, .last = pair};
}

void pairing_order(const struct pairing *pairing, const size_t *is_first, uint32_t *ret_order)
{
  size_t count = 0;
  for (int first = 1; first >= 0; first--)
    for (uint32_t at = pairing->first; at != PAIRING_NONE; at = pairing->pairs[at].next)
      if ((is_first[at] > 0) == first)
        ret_order[count++] = at;
}
