// SPDX-License-Identifier: Apache-2.0
// Texts with dense ids: 0, 1, … in order of arrival. Texts may contain NUL bytes and come from a file: the hash is
// seeded. Never in a traced process; one thread at a time.
#ifndef XSP_BASE_INTERNER_H
#define XSP_BASE_INTERNER_H

#include "base/arena.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "base/vector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interner_slot {
  uint32_t hash, number; // of the text; its id + 1, 0: free
};
struct interner { // starts as {0}
  struct arena arena;
  VECTOR(struct slice) texts;  // by id; a text never moves and has a terminating zero
  struct interner_slot *slots; // owned
  size_t slot_count;           // a power of two, or 0 while the index is not built
  uint64_t seed;
};

// The id of a text equal to `text`, which is copied where it is new. At most UINT32_MAX - 1 texts.
uint32_t interner_at(struct interner *interner, const char *text, size_t length);
// The same in steps, for callers that look up several texts and hide the waits for memory: interner_hash for each, then
// interner_fetch, then interner_fetch_text, then interner_at_hashed.
uint32_t interner_hash(struct interner *interner, const char *text, size_t length);
void interner_fetch(const struct interner *interner, uint32_t hash);
void interner_fetch_text(const struct interner *interner, uint32_t hash);
uint32_t interner_at_hashed(struct interner *interner, const char *text, size_t length, uint32_t hash);
// Adds without looking for an equal text, for a file whose texts are known to differ. Of equal texts the first is found.
uint32_t interner_append(struct interner *interner, const char *text, size_t length);
bool interner_find(struct interner *interner, const char *text, size_t length, uint32_t *ret_id);
static inline struct slice interner_text(const struct interner *interner, uint32_t id)
{
  return interner->texts.items[id];
}
static inline uint32_t interner_count(const struct interner *interner)
{
  return (uint32_t)interner->texts.count;
}
void interner_done(struct interner *interner); // frees; the interner is {0} again

#endif
