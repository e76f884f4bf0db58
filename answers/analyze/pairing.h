// SPDX-License-Identifier: Apache-2.0
// Pairs the items of several sequences, such as the layers of each observation, by key; and puts the pairs in one order.
// The k-th item of a key in one sequence pairs with the k-th of that key in every other. A pair that earlier sequences
// lack comes after the pair that it followed where it was first seen, so place the fullest sequence first.
//
// Keys are numbers that mean the same in all sequences: string ids within one file, an interner's across files.
#ifndef XSP_ANALYZE_PAIRING_H
#define XSP_ANALYZE_PAIRING_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"

#include <stddef.h>
#include <stdint.h>

#define PAIRING_NONE UINT32_MAX

struct pairing_pair {
  uint32_t next;       // in order
  uint32_t occurrence; // among pairs of equal key
  uint32_t next_occurrence;
};
struct pairing_group { // of equal key
  uint32_t first, last;
  uint32_t current; // the pair placed last in `sequence`
  uint32_t sequence;
};
struct pairing { // {0}: pairing_done is fine
  struct arena *arena;
  struct map places; // key to its place in groups
  VECTOR(struct pairing_group) groups;
  struct pairing_pair *pairs; // in the arena
  size_t count;
  uint32_t first; // in order
  uint32_t previous, sequence;
};

// At most `pairs_most` pairs will be added.
void pairing_start(struct pairing *pairing, struct arena *arena, size_t pairs_most);
void pairing_done(struct pairing *pairing);
void pairing_sequence(struct pairing *pairing); // begins the next sequence
// The pair of the sequence's next item: pairing->count as it was before the call, if it is new.
uint32_t pairing_place(struct pairing *pairing, struct map_key key);
// As pairing_place for a key that no other item has; nothing will be found by it.
uint32_t pairing_append(struct pairing *pairing);
// Items of `key` in further sequences pair with `pair`, too.
void pairing_alias(struct pairing *pairing, struct map_key key, uint32_t pair);
// The pairs in order: first those for which is_first, then the others. Room for pairing->count places.
void pairing_order(const struct pairing *pairing, const size_t *is_first, uint32_t *ret_order);

#endif
