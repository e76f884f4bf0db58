// SPDX-License-Identifier: Apache-2.0
// Positions of layers that no source numbered. Private to correlate.
#ifndef XSP_CORRELATE_LAYER_INDEX_H
#define XSP_CORRELATE_LAYER_INDEX_H

#include "correlate/relation.h"

// Gives SQL a tag `layer_index` for each layer without one, its position within its observation. Called after the
// tree's columns are written, because it sorts in the memory of depths and model rows.
enum status layer_index_fill(struct store *store, int64_t run_id, struct relation *relation, size_t observation_count,
                             struct error *err) MUST_CHECK;

#endif
