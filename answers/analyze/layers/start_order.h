// SPDX-License-Identifier: Apache-2.0
// Layers by their start.
#ifndef XSP_ANALYZE_LAYERS_START_ORDER_H
#define XSP_ANALYZE_LAYERS_START_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer_span { // a layer before it is a row
  int64_t start_ns, duration_ns;
  uint32_t row;
  int32_t observation; // -1: in none
};

// By start, longer ones first, then by row: < 0, 0, > 0. Also for qsort.
int layer_starts_compare(const void *left, const void *right);
// In time O(n), and then true, where spans of one thread come as they ended, which is how programs record them.
bool layer_starts_sort(struct layer_span *spans, size_t count);

#endif
