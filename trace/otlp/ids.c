// SPDX-License-Identifier: Apache-2.0
// Two maps: who owns an id, and which id has what came later and could not have its own. Called twice a span.
#include "otlp/ids.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

#define TOP_BIT (UINT64_C(1) << 63)
#define IS_SPAN TOP_BIT     // in the value of either map: has been seen as a span
#define RESERVED UINT64_MAX // owns made-up ids
#define FIRST_SLOTS 64u
#define MADE_UP_FROM (UINT64_C(1) << 48) // numbers that sources seldom use, and that a double holds

// ---- owners: most of an importer's memory, hence no struct map, whose slots are half as many bytes more ------------------------
// The slot of `id`, or the free one where it belongs. The table has a free slot.
static struct otlp_id_owner *slot_of(const struct otlp_id_owners *owners, uint64_t id)
{
  size_t mask = owners->slot_count - 1;
  size_t at = (size_t)hash_pair(id, 0, owners->seed) & mask;
  while (owners->slots[at].id != 0 && owners->slots[at].id != id)
    at = (at + 1) & mask;
  return &owners->slots[at];
}

static void grow(struct otlp_id_owners *owners)
{
  struct otlp_id_owners old = *owners;
  owners->seed = old.slot_count > 0 ? old.seed : hash_new_seed();
  owners->slot_count = old.slot_count > 0 ? old.slot_count * 2 : FIRST_SLOTS;
  owners->slots = memory_new(owners->slot_count, sizeof *owners->slots);
  for (size_t i = 0; i < old.slot_count; i++)
    if (old.slots[i].id != 0)
      *slot_of(owners, old.slots[i].id) = old.slots[i];
  free(old.slots);
}

// Who owns `id`, which is not 0: 0 where it is new. Valid until the next call.
static uint64_t *owner_at(struct otlp_id_owners *owners, uint64_t id, bool *ret_is_new)
{
  if (owners->count >= owners->slot_count / 4 * 3)
    grow(owners);
  struct otlp_id_owner *slot = slot_of(owners, id);
  *ret_is_new = slot->id == 0;
  owners->count += *ret_is_new;
  slot->id = id;
  return &slot->owner;
}

// ---- ids -------------------------------------------------------------------------------------------------------------
// Makes an id up that nobody has, and sees to it that nobody claims it later.
static uint64_t make_up(struct otlp_ids *ids)
{
  for (bool is_new;;) {
    uint64_t id = MADE_UP_FROM + ++ids->given;
    uint64_t *owner = owner_at(&ids->owners, id, &is_new);
    if (is_new) {
      *owner = RESERVED;
      return id;
    }
  }
}

int64_t otlp_ids_find(struct otlp_ids *ids, uint32_t trace, uint64_t number, bool is_span, bool *ret_is_repeated)
{
  uint64_t id = number & ~TOP_BIT, *entry = NULL;
  uint64_t claim = number >> 63 << 32 | trace;
  bool is_new = false;
  if (id != 0) {
    uint64_t *owner = owner_at(&ids->owners, id, &is_new);
    if (is_new)
      *owner = claim;
    if ((*owner & ~IS_SPAN) == claim)
      entry = owner;
  }
  if (entry == NULL) {
    entry = map_at(&ids->others, (struct map_key){number, trace}, &is_new);
    if (is_new)
      *entry = make_up(ids);
    id = *entry & ~IS_SPAN;
  }
  ids->absent_count += is_new;
  *ret_is_repeated = is_span && (*entry & IS_SPAN) != 0;
  if (is_span && !*ret_is_repeated) {
    *entry |= IS_SPAN;
    ids->absent_count--;
  }
  return (int64_t)id;
}

void otlp_ids_done(struct otlp_ids *ids)
{
  free(ids->owners.slots);
  ids->owners = (struct otlp_id_owners){0};
  map_done(&ids->others);
}
