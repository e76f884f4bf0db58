// SPDX-License-Identifier: Apache-2.0
// Counts padding (padding.h). Called by the tracer of PyTorch and the door of ONNX Runtime, in the traced program: allocates nothing.
#include "frameworks/common/padding.h"

#include <string.h>

static int64_t element(const struct padding_input *input, uint64_t row, uint64_t column)
{
  const char *at = (const char *)input->elements + (row * input->columns + column) * input->size;
  int64_t value = 0;
  int32_t word;
  if (input->size == sizeof value)
    memcpy(&value, at, sizeof value);
  else if (input->size == sizeof word) {
    memcpy(&word, at, sizeof word);
    value = word;
  } else
    value = *(const unsigned char *)at;
  return value;
}

// How many positions from one end of the row have this value.
static uint64_t run_of(const struct padding_input *input, uint64_t row, bool from_end, int64_t value)
{
  uint64_t length = 0;
  while (length < input->columns && element(input, row, from_end ? input->columns - 1 - length : length) == value)
    length++;
  return length;
}

// The value at that end of the row with the longest run. A single such position is a token.
static bool find_value(const struct padding_input *input, uint64_t rows, bool from_end, int64_t *ret_value)
{
  uint64_t longest = 1;
  for (uint64_t row = 0; row < rows; row++) {
    int64_t value = element(input, row, from_end ? input->columns - 1 : 0);
    if (input->is_mask && value != 0)
      continue;
    uint64_t length = run_of(input, row, from_end, value);
    if (length > longest) {
      longest = length;
      *ret_value = value;
    }
  }
  return longest > 1;
}

static struct padding count_from(const struct padding_input *input, uint64_t rows, bool from_end)
{
  struct padding padding = {.positions = (int64_t)(rows * input->columns)};
  uint64_t least = input->columns;
  int64_t value = 0;
  if (!find_value(input, rows, from_end, &value))
    return padding;
  for (uint64_t row = 0; row < rows; row++) {
    uint64_t length = run_of(input, row, from_end, value);
    padding.padded += (int64_t)length;
    least = length < least ? length : least;
  }
  padding.spare = (int64_t)(least * rows);
  if (padding.padded == padding.positions) // all of one value: not a batch of sequences
    padding.padded = padding.spare = 0;
  return padding;
}

struct padding padding_count(const struct padding_input *input)
{
  if (input->columns < PADDING_COLUMNS_LEAST || input->columns > PADDING_ELEMENTS_MOST || input->rows == 0)
    return (struct padding){0};
  uint64_t most = PADDING_ELEMENTS_MOST / input->columns, rows = input->rows < most ? input->rows : most;
  struct padding last = count_from(input, rows, true), first = count_from(input, rows, false);
  return first.padded > last.padded ? first : last;
}

bool padding_may_change(const struct padding_of_call *call, bool is_mask)
{
  return !call->is_of_mask && (call->padding.positions == 0 || is_mask);
}

void padding_look(struct padding_of_call *call, const struct padding_input *input)
{
  struct padding found = padding_count(input);
  if (found.positions > 0 && padding_may_change(call, input->is_mask))
    *call = (struct padding_of_call){found, input->is_mask};
}

void padding_tag(const struct xsp_span *span, const struct padding *padding)
{
  if (padding->positions == 0)
    return;
  xsp_span_tag_int(span, "positions", padding->positions);
  xsp_span_tag_int(span, "padded", padding->padded);
  xsp_span_tag_int(span, "spare", padding->spare);
}
