// SPDX-License-Identifier: Apache-2.0
// Hash table of texts: 8-byte slots of hash and id, so that most look-ups touch one line of the table and the text that
// they find. Called for every name and value of an imported file.
#include "importers/texts.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 1024u
#define CAPACITY_MAXIMUM (UINT32_C(1) << 30)

static uint32_t hash_of(const struct texts *texts, const char *text, size_t length)
{
  uint64_t hash = hash_text(text, length, texts->seed);
  return (uint32_t)(hash ^ hash >> 32);
}

static bool grow(struct texts *texts)
{
  uint32_t capacity = texts->capacity == 0 ? FIRST_CAPACITY : 2 * texts->capacity;
  if (capacity > CAPACITY_MAXIMUM)
    return false;
  struct text_entry *entries = realloc(texts->entries, capacity * sizeof *entries);
  if (entries == NULL)
    return false;
  texts->entries = entries;
  uint32_t slot_count = 2 * capacity;
  struct text_slot *slots = calloc(slot_count, sizeof *slots);
  if (slots == NULL)
    return false;
  if (texts->count == 0) {
    texts->seed = hash_new_seed();
    entries[0] = (struct text_entry){"", 0};
    texts->count = 1;
  }
  for (uint32_t i = 0; texts->slots != NULL && i <= texts->slot_mask; i++) {
    struct text_slot slot = texts->slots[i];
    if (slot.id == 0)
      continue;
    uint32_t at = slot.hash & (slot_count - 1);
    while (slots[at].id != 0)
      at = (at + 1) & (slot_count - 1);
    slots[at] = slot;
  }
  free(texts->slots);
  texts->slots = slots;
  texts->slot_mask = slot_count - 1;
  texts->capacity = capacity;
  return true;
}

static bool add(struct texts *texts, struct text_slot *slot, const char *text, size_t length)
{
  char *copy = arena_copy(&texts->arena, text, length);
  if (copy == NULL)
    return false;
  slot->id = texts->count++;
  texts->entries[slot->id] = (struct text_entry){copy, length};
  return true;
}

uint32_t texts_hash(struct texts *texts, const char *text, size_t length)
{
  if (texts->slots == NULL && !grow(texts))
    return 0; // the look-up will fail in its turn
  uint32_t hash = hash_of(texts, text, length);
  __builtin_prefetch(&texts->slots[hash & texts->slot_mask]);
  return hash;
}

void texts_fetch_entry(const struct texts *texts, uint32_t hash)
{
  const struct text_slot *slot = texts->slots == NULL ? NULL : &texts->slots[hash & texts->slot_mask];
  if (slot != NULL && slot->id != 0 && slot->hash == hash)
    __builtin_prefetch(&texts->entries[slot->id]);
}

void texts_fetch_text(const struct texts *texts, uint32_t hash)
{
  const struct text_slot *slot = texts->slots == NULL ? NULL : &texts->slots[hash & texts->slot_mask];
  if (slot != NULL && slot->id != 0 && slot->hash == hash)
    __builtin_prefetch(texts->entries[slot->id].text);
}

bool texts_intern_hashed(struct texts *texts, const char *text, size_t length, uint32_t hash, uint32_t *ret_id)
{
  *ret_id = 0;
  if (texts->count == texts->capacity && !grow(texts))
    return false;
  for (uint32_t at = hash & texts->slot_mask;; at = (at + 1) & texts->slot_mask) {
    struct text_slot *slot = &texts->slots[at];
    if (slot->id == 0) {
      slot->hash = hash;
      if (!add(texts, slot, text, length))
        return false;
      *ret_id = slot->id;
      return true;
    }
    if (slot->hash != hash)
      continue;
    const struct text_entry *entry = &texts->entries[slot->id];
    if (entry->length == length && memcmp(entry->text, text, length) == 0) {
      *ret_id = slot->id;
      return true;
    }
  }
}

bool texts_intern(struct texts *texts, const char *text, size_t length, uint32_t *ret_id)
{
  *ret_id = 0;
  if (length == 0)
    return true;
  if (texts->count == texts->capacity && !grow(texts))
    return false;
  return texts_intern_hashed(texts, text, length, hash_of(texts, text, length), ret_id);
}

void texts_done(struct texts *texts)
{
  arena_done(&texts->arena);
  free(texts->entries);
  free(texts->slots);
  *texts = (struct texts){0};
}
