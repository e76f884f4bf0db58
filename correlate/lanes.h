// SPDX-License-Identifier: Apache-2.0
// Sorting rows that are already in a few orders. Private to correlate's order.c.
#ifndef XSP_CORRELATE_LANES_H
#define XSP_CORRELATE_LANES_H

#include "correlate/order.h"

// Writes `rows` in order to `sorted`; both have room for `count`. False, having read little of `rows` in a hopeless
// case: too many orders lie one over the other; sort by other means.
bool lanes_sort(const struct order_input *input, const uint32_t *rows, size_t count, uint32_t *sorted,
                struct arena *scratch);

#endif
