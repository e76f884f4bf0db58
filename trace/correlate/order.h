// SPDX-License-Identifier: Apache-2.0
// Rows in order of their starts. Private to correlate.
#ifndef XSP_CORRELATE_ORDER_H
#define XSP_CORRELATE_ORDER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_input {
  const int64_t *starts, *durations;
  const uint8_t *levels, *flags; // flags: STORE_SPAN_OPEN counts as endless; may be NULL
};
// Sorts rows by start; of equal starts the longer is first, then the higher level, then file order: what encloses
// comes before what it encloses. `rows` is given in file order (ascending). Returns `rows`, rearranged, or `room`, which has
// room for `count` and takes them in order.
uint32_t *order_rows(const struct order_input *input, uint32_t *rows, size_t count, uint32_t *room,
                     struct arena *scratch);
// Negative: a first. Their starts are equal.
int order_compare_ties(const struct order_input *input, uint32_t a, uint32_t b);

// lanes.c: writes `rows` in order to `sorted`; both have room for `count`. False, having read little of `rows` in a
// hopeless case: too many orders lie one over the other; sort by other means.
bool order_lanes_sort(const struct order_input *input, const uint32_t *rows, size_t count, uint32_t *sorted,
                      struct arena *scratch);

#endif
