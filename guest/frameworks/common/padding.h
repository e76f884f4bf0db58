// SPDX-License-Identifier: Apache-2.0
// How much of a batch of sequences is padding: of token ids, the last or first positions of a row that all have one value; of a mask,
// zeros. It reads the elements only.
#ifndef XSP_FRAMEWORKS_COMMON_PADDING_H
#define XSP_FRAMEWORKS_COMMON_PADDING_H

#include <stdbool.h>
#include <stdint.h>
#include <xsp/span.h>

#define PADDING_COLUMNS_LEAST 8u
#define PADDING_ELEMENTS_MOST 65536u // of the first rows

struct padding {
  int64_t positions; // that were looked at; 0: unknown
  int64_t padded;    // of these
  int64_t spare;     // in columns that are padding in all rows
};
struct padding_input {
  const void *elements; // row by row
  uint32_t size;        // of an element in bytes: 1, 4 or 8
  uint64_t rows, columns;
  bool is_mask;
};
struct padding_of_call { // of its inputs together: a mask replaces what token ids have shown
  struct padding padding;
  bool is_of_mask;
};
struct padding padding_count(const struct padding_input *input);
// By a further input; else it need not be read.
bool padding_may_change(const struct padding_of_call *call, bool is_mask);
// Counts a further input. One that is too narrow or too wide to be counted, as the mask of a decoder's next token, changes nothing.
void padding_look(struct padding_of_call *call, const struct padding_input *input);
void padding_tag(const struct xsp_span *span, const struct padding *padding); // for F34; none where it is unknown

#endif
