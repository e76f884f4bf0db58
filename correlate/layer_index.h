// SPDX-License-Identifier: Apache-2.0
// Positions of layers that no source numbered. Private to correlate.
#ifndef XSP_CORRELATE_LAYER_INDEX_H
#define XSP_CORRELATE_LAYER_INDEX_H

#include "correlate/relation.h"

// After relation_observe: gives SQL a tag `layer_index` for each layer without one, its position within its observation.
enum status layer_index_fill(struct store *store, int64_t run_id, const struct relation *relation,
                             struct error *err) MUST_CHECK;

#endif
