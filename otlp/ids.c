// SPDX-License-Identifier: Apache-2.0
// Open addressing, with two kinds of entries in one table: the owner of an id is found by the id, whichever trace claimed
// it; what came later and could not have that id is found by trace and number. Called twice a span.
#include "otlp/ids.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

#define STATE_OWNER 1u      // of the id that is its number without the top bit
#define STATE_SPAN 2u       // has been seen as a span
#define STATE_SHIFT 2u      // above: which made-up id it has, where it is no owner
#define RESERVED UINT32_MAX // trace of the owners of made-up ids
#define FIRST_CAPACITY ((size_t)64)
#define TOP_BIT (UINT64_C(1) << 63)
#define MADE_UP_FROM (INT64_C(1) << 48) // numbers that sources seldom use, and that a double holds

static uint64_t fold(uint64_t a, uint64_t b)
{
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static size_t owner_slot(const struct otlp_ids *ids, uint64_t id)
{
  return (size_t)fold(id ^ ids->seed, UINT64_C(0x9e3779b97f4a7c15)) & (ids->capacity - 1);
}

static size_t other_slot(const struct otlp_ids *ids, uint32_t trace, uint64_t number)
{
  return (size_t)fold(number ^ ids->seed, UINT64_C(0xd6e8feb86659fd93) ^ ((uint64_t)trace << 32 | trace)) &
         (ids->capacity - 1);
}

static size_t home_slot(const struct otlp_ids *ids, const struct otlp_id_entry *entry)
{
  return (entry->state & STATE_OWNER) != 0 ? owner_slot(ids, entry->number & ~TOP_BIT)
                                           : other_slot(ids, entry->trace, entry->number);
}

// Room for three more entries: what one look-up may add.
static void make_room(struct otlp_ids *ids)
{
  if ((ids->count + 3) * 3 <= ids->capacity * 2)
    return;
  struct otlp_ids larger = *ids;
  larger.capacity = ids->capacity == 0 ? FIRST_CAPACITY : ids->capacity * 2;
  larger.entries = memory_new(larger.capacity, sizeof *larger.entries);
  if (ids->capacity == 0)
    larger.seed = hash_new_seed();
  for (size_t i = 0; i < ids->capacity; i++) {
    if (ids->entries[i].number == 0)
      continue;
    size_t slot = home_slot(&larger, &ids->entries[i]);
    while (larger.entries[slot].number != 0)
      slot = (slot + 1) & (larger.capacity - 1);
    larger.entries[slot] = ids->entries[i];
  }
  free(ids->entries);
  *ids = larger;
}

// The owner of an id, or the free slot where it would stand.
static struct otlp_id_entry *find_owner(struct otlp_ids *ids, uint64_t id)
{
  for (size_t slot = owner_slot(ids, id);; slot = (slot + 1) & (ids->capacity - 1)) {
    struct otlp_id_entry *entry = &ids->entries[slot];
    if (entry->number == 0 || ((entry->state & STATE_OWNER) != 0 && (entry->number & ~TOP_BIT) == id))
      return entry;
  }
}

static struct otlp_id_entry *find_other(struct otlp_ids *ids, uint32_t trace, uint64_t number)
{
  for (size_t slot = other_slot(ids, trace, number);; slot = (slot + 1) & (ids->capacity - 1)) {
    struct otlp_id_entry *entry = &ids->entries[slot];
    if (entry->number == 0 || ((entry->state & STATE_OWNER) == 0 && entry->number == number && entry->trace == trace))
      return entry;
  }
}

static void put(struct otlp_ids *ids, struct otlp_id_entry *entry, uint64_t number, uint32_t trace, uint32_t state)
{
  *entry = (struct otlp_id_entry){number, trace, state};
  ids->count++;
}

// Makes an id up that nobody has, and sees to it that nobody claims it later.
static uint32_t make_up(struct otlp_ids *ids)
{
  for (;;) {
    uint64_t id = (uint64_t)MADE_UP_FROM + ++ids->given;
    struct otlp_id_entry *entry = find_owner(ids, id);
    if (entry->number != 0)
      continue;
    put(ids, entry, id, RESERVED, STATE_OWNER);
    return ids->given;
  }
}

static struct otlp_id_entry *find_or_add(struct otlp_ids *ids, uint32_t trace, uint64_t number)
{
  uint64_t id = number & ~TOP_BIT;
  if (id != 0) {
    struct otlp_id_entry *owner = find_owner(ids, id);
    if (owner->number == 0) {
      put(ids, owner, number, trace, STATE_OWNER);
      ids->absent_count++;
    }
    if (owner->number == number && owner->trace == trace)
      return owner;
  }
  struct otlp_id_entry *entry = find_other(ids, trace, number);
  if (entry->number == 0) {
    uint32_t made_up = make_up(ids);
    entry = find_other(ids, trace, number); // the reservation may have taken the slot
    put(ids, entry, number, trace, made_up << STATE_SHIFT);
    ids->absent_count++;
  }
  return entry;
}

int64_t otlp_ids_find(struct otlp_ids *ids, uint32_t trace, uint64_t number, bool is_span, bool *ret_is_repeated)
{
  if (ids->given >= UINT32_MAX >> STATE_SHIFT) // a billion made-up ids take more memory than there is
    memory_exhausted();
  make_room(ids);
  struct otlp_id_entry *entry = find_or_add(ids, trace, number);
  int64_t id = (entry->state & STATE_OWNER) != 0 ? (int64_t)(entry->number & ~TOP_BIT)
                                                 : MADE_UP_FROM + (entry->state >> STATE_SHIFT);
  *ret_is_repeated = is_span && (entry->state & STATE_SPAN) != 0;
  if (is_span && !*ret_is_repeated) {
    entry->state |= STATE_SPAN;
    ids->absent_count--;
  }
  return id;
}

void otlp_ids_done(struct otlp_ids *ids)
{
  free(ids->entries);
  *ids = (struct otlp_ids){0};
}
