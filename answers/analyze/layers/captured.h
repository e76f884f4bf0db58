// SPDX-License-Identifier: Apache-2.0
// Which layer captured what a graph's node runs. A graph is launched as a whole, far from the layers whose work was captured in
// it. Private to rows.c.
#ifndef XSP_ANALYZE_LAYERS_CAPTURED_H
#define XSP_ANALYZE_LAYERS_CAPTURED_H

#include "analyze/layers/layer_row.h"

struct layers_captured {
  uint32_t *by; // by row, of executions of a node: the layer that captured it; ROW_NONE. NULL: the run has no graphs
  bool *is_captured; // by row, of layers: they captured a node
};

bool layers_captured_exist(struct store *store); // whether a graph's node may be in the file
// `counts_as`: by row, of layers: the layer that it counts as; ROW_NONE. What is found is in `arena`.
enum status layers_captured_find(const struct run_columns *columns, const uint32_t *counts_as, struct arena *arena,
                                 struct layers_captured *ret, struct error *err) MUST_CHECK;
// Moves device rows to the layers that captured them, and fills rows->devices.launched. A layer that captured in another
// observation, or in none, becomes an item without latency of the device rows' observation. `item_of`: by row, of layers: the
// item of what it counts as; those in no observation are the last items, of observation -1.
void layers_captured_take(const struct layers_captured *captured, const uint32_t *item_of, struct arena *scratch,
                          struct arena *arena, struct layer_rows *rows);

#endif
