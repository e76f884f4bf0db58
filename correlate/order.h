// SPDX-License-Identifier: Apache-2.0
// Rows in order of their starts. Private to correlate.
#ifndef XSP_CORRELATE_ORDER_H
#define XSP_CORRELATE_ORDER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sorts rows by start; of equal starts the longer is first, then the higher level, then file order: what encloses
// comes before what it encloses. `rows` is given in file order (ascending) and replaced. `ends` are ends, not lengths.
struct order_input {
  const int64_t *starts, *durations;
  int64_t least, most;           // no start is below or above
  const uint8_t *levels, *flags; // flags: STORE_SPAN_OPEN counts as endless; may be NULL
};
void order_range(struct order_input *input, const uint32_t *rows, size_t count); // fills in least and most
bool order_rows(const struct order_input *input, uint32_t *rows, size_t count, struct arena *scratch);

#endif
