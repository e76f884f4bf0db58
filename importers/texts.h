// SPDX-License-Identifier: Apache-2.0
// The texts of one file that is being imported, interned: equal texts, equal ids. Fast path of every importer. Texts
// never move while the table lives. Inside this room only. One thread; texts may be read by another one that was told of
// them through a lock.
#ifndef XSP_IMPORTERS_TEXTS_H
#define XSP_IMPORTERS_TEXTS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_entry {
  const char *text; // followed by a zero
  size_t length;
};
struct text_slot {
  uint32_t hash, id; // id 0: free
};
struct texts { // starts as {0}
  struct arena arena;
  struct text_entry *entries; // by id; [0] is ""
  uint32_t count;             // ids are 1 … count - 1
  uint32_t capacity;
  struct text_slot *slots; // open addressing, at most half full
  uint32_t slot_mask;      // slots - 1
  uint64_t seed;           // nobody who writes a file can know it, so nobody can make all its texts collide
};

// In two steps, for callers that have several texts to look up and can hide the wait for memory: the hash of a text (not
// of the empty one), whose place is fetched meanwhile; then, later, the look-up.
uint32_t texts_hash(struct texts *texts, const char *text, size_t length);
void texts_fetch_entry(const struct texts *texts, uint32_t hash); // what seems to be the text's entry, …
void texts_fetch_text(const struct texts *texts, uint32_t hash);  // … and what that refers to
uint32_t texts_intern_hashed(struct texts *texts, const char *text, size_t length, uint32_t hash);
uint32_t texts_intern(struct texts *texts, const char *text, size_t length); // 0 for the empty text
void texts_done(struct texts *texts);                                        // {0} again

#endif
