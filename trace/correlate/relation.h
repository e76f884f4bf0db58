// SPDX-License-Identifier: Apache-2.0
// All that is found out about a run, by row: parents, then what follows from them. Private to correlate. Phase by phase,
// so that a run of many millions of spans can give up what is done with before the next one begins:
//
//   parents_find ─▶ relation_climb ─▶ relation_observe ─▶ (columns written, links and tree forgotten) ─▶ relation_self
#ifndef XSP_CORRELATE_RELATION_H
#define XSP_CORRELATE_RELATION_H

#include "base/vector.h"
#include "correlate/parents.h"

struct relation_wide { // what children cover of a span of 2^32 ns or more
  uint64_t reach, covered;
};
#define RELATION_HOLDS_NONE STORE_SPAN_ID // is never held
struct relation {                         // {.spans = …} at first, then parents_find(…, &relation.parents)
  const struct store_spans *spans;
  struct parents parents;
  uint8_t *is_named; // bits by row: the source named a parent; NULL: recorded_parent_id is there, or all zeros
  // What relation_hold computed last. STORE_DEPTH: depths; STORE_MODEL_ID, STORE_LAYER_ID: rows of the nearest ancestor, or
  // of the span itself, or ROW_NONE.
  uint32_t *nearest;
  // RELATION_HOLDS_NONE: what layer_index.c or nobody put there.
  enum store_column held;
  // relation_climb
  bool parents_are_later; // in the file, most of them
  int32_t *observation;   // which of item_row is the span itself or its nearest ancestor; after relation_observe: which
                          // observation it belongs to. -1: none
  VECTOR(uint32_t) items; // rows of the spans that are observations, in file order of their subtrees
  struct observations *observations; // relation_observe's, in tree_arena
  struct relation_cover *cover;      // relation_self
  VECTOR(struct relation_wide) wide;
  // Eight bytes a row, first of the tree and, when that is forgotten, of relation_self: fresh memory is dear.
  void *plane;
  bool is_plane_free;
  struct arena tree_arena, self_arena;
};

// tree.c
void relation_climb(struct relation *relation); // breaks circles
// After relation_climb: one column at a time of those that follow from the parents alone. Others change nothing.
void relation_hold(struct relation *relation, enum store_column column);
void relation_self(struct relation *relation); // the duration less the union of the children on the span's own track
int64_t relation_self_of(const struct relation *relation, size_t row);
// observations.c: lists them in `arena` by start; those whose span ids are in `warmup_ids` (sorted) are warm-ups.
void relation_observe(struct relation *relation, const int64_t *warmup_ids, size_t warmup_count, struct arena *arena,
                      struct store_observation **ret_observations, size_t *ret_count, size_t *ret_outside);
// What a host does at `start_ns`, outside of all observations' subtrees, belongs to. -1: none.
int32_t relation_observation_at(const struct relation *relation, uint32_t track_id, int64_t start_ns);
// spans.c: after parents_find, the rest of it as whole arrays; `answer` is zeroed.
void relation_answer(struct relation *relation, const struct correlate_question *question, struct arena *arena,
                     struct correlate_answer *answer);
// relation.c: after parents_find, whether all parents that the source named are in the run. Then is_named is made in `arena`, and the
// column recorded_parent_id is no longer needed.
bool relation_keep_named(struct relation *relation, struct arena *arena);
// A store_derived_source's fill, with a relation as its context.
void relation_fill(void *context, enum store_column column, size_t first_row, size_t count, void *ret_values);
void relation_forget_tree(struct relation *relation); // relation_done frees it
void relation_done(struct relation *relation);

#endif
