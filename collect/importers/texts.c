// SPDX-License-Identifier: Apache-2.0
// Hash table of texts: 8-byte slots of hash and id, so that most look-ups touch one line of the table and the text that
// they find. Called for every name and value of an imported file.
#include "collect/importers/texts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_CAPACITY 1024u
#define CAPACITY_MAXIMUM (UINT32_C(1) << 30)

static uint64_t multiply_fold(uint64_t a, uint64_t b)
{
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word_at(const char *text)
{
  uint64_t word;
  memcpy(&word, text, sizeof word);
  return word;
}

// 16 bytes a step. The last step reads the last 16 bytes, which may overlap the step before: the length tells them apart.
static uint32_t hash_text(const char *text, size_t length, uint64_t seed)
{
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t hash = seed ^ length * odd;
  if (length >= 16) {
    const char *last = text + length - 16;
    for (; text < last; text += 16)
      hash = multiply_fold(word_at(text) ^ hash, word_at(text + 8) ^ odd ^ seed);
    hash = multiply_fold(word_at(last) ^ hash, word_at(last + 8) ^ odd ^ seed);
  } else if (length >= 8) {
    hash = multiply_fold(word_at(text) ^ hash, word_at(text + length - 8) ^ odd ^ seed);
  } else {
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++)
      word = word << 8 | (unsigned char)text[i];
    hash = multiply_fold(word ^ hash, odd ^ seed);
  }
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
    struct timespec now;
    if (getrandom(&texts->seed, sizeof texts->seed, GRND_NONBLOCK) != sizeof texts->seed) {
      clock_gettime(CLOCK_MONOTONIC, &now);
      texts->seed = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)slots;
    }
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
  uint32_t hash = hash_text(text, length, texts->seed);
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
  return texts_intern_hashed(texts, text, length, hash_text(text, length, texts->seed), ret_id);
}

void texts_done(struct texts *texts)
{
  arena_done(&texts->arena);
  free(texts->entries);
  free(texts->slots);
  *texts = (struct texts){0};
}
