// SPDX-License-Identifier: Apache-2.0
// Forward operators that ran a second time, for the backward pass.
#ifndef XSP_ANALYZE_LAYERS_RECOMPUTED_H
#define XSP_ANALYZE_LAYERS_RECOMPUTED_H

#include "analyze/layers/layer_row.h"

// `above`: by row, the nearest layer above; `forward_of`: by row, the forward operator that it is linked to, which may be itself.
// *ret_recomputed: by row, enum layer_recomputed.
enum status layer_recomputed_find(const struct run_columns *columns, const uint32_t *above, const uint32_t *forward_of,
                                  struct arena *arena, const uint8_t **ret_recomputed, struct error *err) MUST_CHECK;

#endif
