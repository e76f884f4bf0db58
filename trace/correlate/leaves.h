// SPDX-License-Identifier: Apache-2.0
// Leaves of a run: layers whose source named their parent, which enclose nothing that looks for one. All that is found out about
// them follows from their parents. So the core runs without them, and its memory grows with the other spans alone: with the
// executions of a module, not with their operations. Private to correlate.
#ifndef XSP_CORRELATE_LEAVES_H
#define XSP_CORRELATE_LEAVES_H

#include "correlate/relation.h"

struct leaves_stretch { // rows that follow each other in the file, up to the next stretch
  uint32_t first_row;
  uint32_t track_id; // of leaves; 0: rows that are kept
  uint32_t at;       // of kept rows the first one's place among those, of leaves their parent's
  int64_t first_id;  // of leaves, which count up
  int64_t parent_id; // of leaves
};
static inline bool leaves_are(const struct leaves_stretch *stretch)
{
  return stretch->track_id != 0;
}
struct leaves {     // starts as {0}
  size_t row_count; // of the run
  bool has_any;     // else nothing below is there, and the core takes all rows
  VECTOR(struct leaves_stretch) stretches;
  struct store_spans kept; // what the core takes; without correlation ids, as no span of the run has one
  uint8_t *has_item;       // leaves_climbed
  struct relation *relation;
};

// Reads the run part by part. No leaves where they are few, and where spans are related by more than names and time
// (correlation ids, library calls, layers that a source numbered). Leaves what is broken to the core, which refuses it.
enum status leaves_find(struct store *store, int64_t run_id, const struct store_track *tracks, size_t track_count,
                        struct leaves *leaves, struct error *err) MUST_CHECK;
void leaves_climbed(struct leaves *leaves, struct relation *relation); // after relation_climb
// The observation of a leaf of `stretch`, after relation_observe.
int32_t leaves_observation(const struct leaves *leaves, const struct leaves_stretch *stretch, int64_t start_ns);
size_t leaves_stretch_of(const struct leaves *leaves, size_t row);
size_t leaves_stretch_end(const struct leaves *leaves, size_t stretch); // the first row of the next one
// As relation_fill, of all rows; of a source with `has_base`.
void leaves_fill(void *context, enum store_column column, size_t first_row, size_t count, void *ret_values);
void leaves_done(struct leaves *leaves);

// leaf_index.c: layer_index_fill for a run with leaves, some hundred thousand layers at a time.
enum status leaves_number(struct store *store, int64_t run_id, const struct leaves *leaves, size_t observation_count,
                          struct error *err) MUST_CHECK;

#endif
