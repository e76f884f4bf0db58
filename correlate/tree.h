// SPDX-License-Identifier: Apache-2.0
// What follows from the parents: depth, nearest model and layer, observations, self times. Private to correlate.
#ifndef XSP_CORRELATE_TREE_H
#define XSP_CORRELATE_TREE_H

#include "correlate/parents.h"

struct tree {
  const struct store_spans *spans;
  struct parents *parents;
  struct store_derived *derived; // what is filled
  uint32_t *observation_row;     // of the observation that is the span itself or its nearest ancestor; ROW_NONE
  const uint8_t *is_step;        // by row; NULL: the run has no framework steps
};
// Breaks circles, then fills parent_id, depth, model_id, layer_id, basis and tree->observation_row.
bool tree_climb(struct tree *tree, struct arena *arena);
// Fills self_ns: the duration less the union of the children on the span's own track.
bool tree_self(struct tree *tree, struct arena *arena);

// observations.c: lists the observations and says for every span which one it belongs to.
bool observations_find(const struct tree *tree, const uint8_t *is_warmup, struct arena *arena,
                       struct store_observation **ret_observations, size_t *ret_count, size_t *ret_outside);

#endif
