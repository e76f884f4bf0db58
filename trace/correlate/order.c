// SPDX-License-Identifier: Apache-2.0
// Sorting rows by start. Traces are a few rising sequences (one per thread and source), which lanes.c merges. The others are
// sorted with their starts next to them, so that a comparison stays within a cache line.
#include "correlate/order.h"

#include "store/store.h"

#include "base/sorted.h"

#include <stdlib.h>

struct item {
  int64_t start;
  uint32_t row;
};

static int64_t end_of(const struct order_input *input, uint32_t row)
{
  if (input->flags != NULL && (input->flags[row] & STORE_SPAN_OPEN))
    return INT64_MAX;
  return input->starts[row] + input->durations[row];
}

int order_compare_ties(const struct order_input *input, uint32_t a, uint32_t b)
{
  int64_t end_a = end_of(input, a);
  int64_t end_b = end_of(input, b);
  return ORDER(end_b, end_a) ?: ORDER(input->levels[a], input->levels[b]) ?: ORDER(a, b);
}

static int compare_items(const void *left, const void *right, void *input)
{
  const struct item *a = left, *b = right;
  return RISING(start) ?: order_compare_ties(input, a->row, b->row);
}

static void sort_rows(const struct order_input *input, uint32_t *rows, size_t count, struct arena *scratch)
{
  struct item *items = arena_alloc_array(scratch, count, sizeof *items);
  for (size_t i = 0; i < count; i++)
    items[i] = (struct item){input->starts[rows[i]], rows[i]};
  qsort_r(items, count, sizeof *items, compare_items, (void *)(uintptr_t)input);
  for (size_t i = 0; i < count; i++)
    rows[i] = items[i].row;
}

uint32_t *order_rows(const struct order_input *input, uint32_t *rows, size_t count, uint32_t *room,
                     struct arena *scratch)
{
  if (count < 2)
    return rows;
  if (order_lanes_sort(input, rows, count, room, scratch))
    return room;
  sort_rows(input, rows, count, scratch);
  return rows;
}
