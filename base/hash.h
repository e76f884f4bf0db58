// SPDX-License-Identifier: Apache-2.0
// Hashes for tables whose keys come out of files: seeded, so that nobody who writes a file can choose keys that collide.
// Results differ from run to run: nothing that is written may depend on them.
#ifndef XSP_BASE_HASH_H
#define XSP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

uint64_t hash_new_seed(void); // one a table: random, never 0

// The upper half of the product reaches the lower bits of the result, which tables use.
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_number(uint64_t number, uint64_t seed)
{
  return hash_fold(number ^ seed, (seed << 32 | seed >> 32) ^ UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b, uint64_t seed)
{
  return hash_number(hash_number(a, seed) ^ b, seed);
}

static inline uint64_t hash_word_at(const char *text)
{
  uint64_t word;
  memcpy(&word, text, sizeof word);
  return word;
}

// 16 bytes a step. The last step reads the last 16 bytes, which may overlap the step before: the length tells them apart.
static inline uint64_t hash_text(const char *text, size_t length, uint64_t seed)
{
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t hash = seed ^ length * odd;
  if (length >= 16) {
    const char *last = text + length - 16;
    for (; text < last; text += 16)
      hash = hash_fold(hash_word_at(text) ^ hash, hash_word_at(text + 8) ^ odd ^ seed);
    return hash_fold(hash_word_at(last) ^ hash, hash_word_at(last + 8) ^ odd ^ seed);
  }
  if (length >= 8)
    return hash_fold(hash_word_at(text) ^ hash, hash_word_at(text + length - 8) ^ odd ^ seed);
  uint64_t word = 0;
  for (size_t i = 0; i < length; i++)
    word = word << 8 | (unsigned char)text[i];
  return hash_fold(word ^ hash, odd ^ seed);
}

#endif
