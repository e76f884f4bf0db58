// SPDX-License-Identifier: Apache-2.0
// Outputs of evaluated models: table `output` of an .xsp file (docs/format.md). Part of the front door store.h; one thread per handle.
#ifndef XSP_STORE_OUTPUTS_H
#define XSP_STORE_OUTPUTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

#include <stdint.h>

struct store;

struct store_output {              // of a model for an item of a data set
  int64_t item;                    // number in the set, from 0
  const char *file, *type, *shape; // "float32", "1000"
  struct slice data;               // little-endian, C order
};

// One that is there is replaced.
enum status store_add_output(struct store *store, int64_t experiment_id, const struct store_output *output,
                             struct error *err) MUST_CHECK;
// At most 256 of those from item `first` on, by item, in `arena`.
enum status store_outputs(struct store *store, int64_t experiment_id, int64_t first, struct arena *arena,
                          struct store_output **ret, size_t *ret_count, struct error *err) MUST_CHECK;

#endif
