// SPDX-License-Identifier: Apache-2.0
// Which spans of the layer level are no layers of the workload: wrappers, and work of the input pipeline.
#ifndef XSP_ANALYZE_LAYERS_KINDS_H
#define XSP_ANALYZE_LAYERS_KINDS_H

#include "analyze/run_columns.h"

#define LAYER_COLUMNS (STORE_BIT(STORE_NAME) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_TRACER))

enum layer_kind {
  LAYER_COMPUTES,
  LAYER_WRAPS, // others, which are the layers: a region, a module
  LAYER_LOADS, // in a data loader
};
// By row, of layers: enum layer_kind. `above`: by row, the nearest layer above it; ROW_NONE. Needs LAYER_COLUMNS.
const uint8_t *layer_kinds_find(const struct run_columns *columns, const uint32_t *above, struct arena *arena);

#endif
