// SPDX-License-Identifier: Apache-2.0
// Which layer of one model is which of another: by name, or, where the models share few names, by the order of their types.
#ifndef XSP_EXPERIMENT_EVALUATION_LAYER_PAIRS_H
#define XSP_EXPERIMENT_EVALUATION_LAYER_PAIRS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct layer_name {
  const char *name, *type;
};

// By layer of the first model its place in the other; SIZE_MAX: it has no partner. In `arena`.
const size_t *layer_pairs(const struct layer_name *first, size_t first_count, const struct layer_name *other,
                          size_t other_count, struct arena *arena, bool *ret_by_order);

#endif
