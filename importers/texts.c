// SPDX-License-Identifier: Apache-2.0
// Hash table of texts: 8-byte slots of hash and id, so that most look-ups touch one line of the table and the text that
// they find. Called for every name and value of an imported file.
#include "importers/texts.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 1024u

static uint32_t hash_of(const struct texts *texts, const char *text, size_t length)
{
  uint64_t hash = hash_text(text, length, texts->seed);
  return (uint32_t)(hash ^ hash >> 32);
}

static void grow(struct texts *texts)
{
  uint32_t capacity = texts->capacity == 0 ? FIRST_CAPACITY : 2 * texts->capacity;
  texts->entries = memory_resize(texts->entries, capacity, sizeof *texts->entries);
  uint32_t slot_count = 2 * capacity;
  struct text_slot *slots = memory_new(slot_count, sizeof *slots);
  if (texts->count == 0) {
    texts->seed = hash_new_seed();
    texts->entries[0] = (struct text_entry){"", 0};
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
}

uint32_t texts_hash(struct texts *texts, const char *text, size_t length)
{
  if (texts->slots == NULL)
    grow(texts);
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

uint32_t texts_intern_hashed(struct texts *texts, const char *text, size_t length, uint32_t hash)
{
  if (texts->count == texts->capacity)
    grow(texts);
  for (uint32_t at = hash & texts->slot_mask;; at = (at + 1) & texts->slot_mask) {
    struct text_slot *slot = &texts->slots[at];
    if (slot->id == 0) {
      *slot = (struct text_slot){hash, texts->count++};
      texts->entries[slot->id] = (struct text_entry){arena_copy(&texts->arena, text, length), length};
      return slot->id;
    }
    if (slot->hash != hash)
      continue;
    const struct text_entry *entry = &texts->entries[slot->id];
    if (entry->length == length && memcmp(entry->text, text, length) == 0)
      return slot->id;
  }
}

uint32_t texts_intern(struct texts *texts, const char *text, size_t length)
{
  if (length == 0)
    return 0;
  if (texts->count == texts->capacity) // before the seed is used
    grow(texts);
  return texts_intern_hashed(texts, text, length, hash_of(texts, text, length));
}

void texts_done(struct texts *texts)
{
  arena_done(&texts->arena);
  free(texts->entries);
  free(texts->slots);
  *texts = (struct texts){0};
}
