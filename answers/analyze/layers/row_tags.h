// SPDX-License-Identifier: Apache-2.0
// What sources recorded of layers by tags: positions, types, shapes, memory, modules. Private to rows.c.
#ifndef XSP_ANALYZE_LAYERS_ROW_TAGS_H
#define XSP_ANALYZE_LAYERS_ROW_TAGS_H

#include "analyze/layers/layer_row.h"

// `item_of`, `counts_as`: by row, of layers: the item of what it counts as, and that layer's row; ROW_NONE.
enum status layer_row_tags_read(const struct run_columns *columns, const uint32_t *item_of, const uint32_t *counts_as,
                                struct layer_rows *rows, struct error *err) MUST_CHECK;

#endif
