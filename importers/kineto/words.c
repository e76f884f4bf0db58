// SPDX-License-Identifier: Apache-2.0
// A small hash table of words: the keys and categories of a file, of which there are a few dozen, each seen millions of
// times. Called once per key and category of every event.
#include "importers/kineto/kineto.h"

#include <string.h>

#define SLOTS (2 * KINETO_WORDS_MOST)

static unsigned slot_of(struct text text)
{
  uint64_t first = 0, last = 0;
  if (text.length >= 8) {
    memcpy(&first, text.at, 8);
    memcpy(&last, text.at + text.length - 8, 8);
  } else {
    for (size_t i = 0; i < text.length; i++)
      first = first << 8 | (unsigned char)text.at[i];
  }
  uint64_t hash = (first ^ (last << 7 | last >> 57) ^ text.length) * UINT64_C(0x9e3779b97f4a7c15);
  return (unsigned)(hash >> 48) % SLOTS;
}

static bool is_same(const struct kineto_word *word, struct text text)
{
  return word->length == text.length && memcmp(word->text, text.at, text.length) == 0;
}

const struct kineto_word *kineto_word_find(const struct kineto_words *words, struct text text)
{
  if (text.length > KINETO_WORD_BYTES)
    return NULL;
  for (unsigned slot = slot_of(text); words->slots[slot] != 0; slot = (slot + 1) % SLOTS)
    if (is_same(&words->words[words->slots[slot] - 1], text))
      return &words->words[words->slots[slot] - 1];
  return NULL;
}

bool kineto_word_add(struct kineto_words *words, struct text text, unsigned meaning, uint32_t string)
{
  if (text.length > KINETO_WORD_BYTES || words->count == KINETO_WORDS_MOST)
    return false;
  unsigned slot = slot_of(text);
  while (words->slots[slot] != 0)
    slot = (slot + 1) % SLOTS;
  struct kineto_word *word = &words->words[words->count++];
  memcpy(word->text, text.at, text.length);
  word->length = (uint8_t)text.length;
  word->meaning = (uint8_t)meaning;
  word->string = string;
  words->slots[slot] = (uint16_t)words->count;
  return true;
}
