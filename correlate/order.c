// SPDX-License-Identifier: Apache-2.0
// Sorting rows by start. Traces are nearly sorted (one run of starts per thread and source): lanes.c merges the runs of
// most. For the others, what costs at 10^7 rows is memory, not comparing: one scatter into time buckets that fit a cache, whose writes stay sequential for nearly
// sorted input, then a merge of natural runs, or a radix sort where there is no order to exploit, inside each bucket.
// A key packs (start within its bucket, row) into 64 bits, so that every sort of keys is stable and needs no second word.
#include "correlate/order.h"

#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define BUCKET_ROWS 4096u // wanted mean: 32 KiB of keys
#define LARGEST_BUCKET_BITS 16u
#define MERGE_RUNS 8u // more runs than this in a bucket: radix sort
#define RADIX_BITS 11u

static unsigned bits_of(uint64_t value)
{
  return value == 0 ? 0 : 64u - (unsigned)__builtin_clzll(value);
}

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
  if (end_a != end_b)
    return end_a > end_b ? -1 : 1;
  if (input->levels[a] != input->levels[b])
    return input->levels[a] < input->levels[b] ? -1 : 1;
  return a < b ? -1 : a > b;
}

static int compare_rows(const void *left, const void *right, void *context)
{
  const struct order_input *input = context;
  uint32_t a = *(const uint32_t *)left;
  uint32_t b = *(const uint32_t *)right;
  if (input->starts[a] != input->starts[b])
    return input->starts[a] < input->starts[b] ? -1 : 1;
  return order_compare_ties(input, a, b);
}

// Rows are sorted by start; puts rows of equal start in order.
static void order_ties(const struct order_input *input, uint32_t *rows, size_t count)
{
  for (size_t first = 0; first + 1 < count;) {
    int64_t start = input->starts[rows[first]];
    size_t end = first + 1;
    while (end < count && input->starts[rows[end]] == start)
      end++;
    if (end - first > 16) {
      qsort_r(rows + first, end - first, sizeof *rows, compare_rows, (void *)(uintptr_t)input);
    } else {
      for (size_t i = first + 1; i < end; i++) {
        uint32_t row = rows[i];
        size_t at = i;
        for (; at > first && order_compare_ties(input, row, rows[at - 1]) < 0; at--)
          rows[at] = rows[at - 1];
        rows[at] = row;
      }
    }
    first = end;
  }
}

// Merges the natural runs of `keys`; the result is in the returned one of the two arrays.
static uint64_t *merge_runs(uint64_t *keys, uint64_t *other, size_t count, size_t *bounds, size_t run_count)
{
  while (run_count > 1) {
    size_t merged = 0;
    for (size_t run = 0; run < run_count; run += 2) {
      size_t left = bounds[run];
      size_t middle = run + 1 < run_count ? bounds[run + 1] : count;
      size_t right = middle;
      size_t end = run + 2 < run_count ? bounds[run + 2] : count;
      size_t out = left;
      bounds[merged++] = left;
      while (left < middle && right < end) {
        uint64_t a = keys[left];
        uint64_t b = keys[right];
        bool from_right = b < a;
        other[out++] = from_right ? b : a;
        right += from_right;
        left += !from_right;
      }
      memcpy(other + out, keys + left, (middle - left) * sizeof *keys);
      out += middle - left;
      memcpy(other + out, keys + right, (end - right) * sizeof *keys);
    }
    run_count = merged;
    uint64_t *swap = keys;
    keys = other;
    other = swap;
  }
  return keys;
}

#define RADIX_SIZE (1u << RADIX_BITS)
#define RADIX_DIGITS ((63u + RADIX_BITS - 1) / RADIX_BITS)

// Least significant digit first, over `bits` bits of the keys from `low` on; rows, below `low`, are in order already. All
// digits are counted in one pass, and one that is the same in every key is skipped.
static uint64_t *radix_sort(uint64_t *keys, uint64_t *other, size_t count, unsigned low, unsigned bits)
{
  uint32_t offsets[RADIX_DIGITS][RADIX_SIZE];
  unsigned digits = (bits + RADIX_BITS - 1) / RADIX_BITS;
  memset(offsets, 0, digits * sizeof offsets[0]);
  for (size_t i = 0; i < count; i++) {
    uint64_t rest = keys[i] >> low;
    for (unsigned digit = 0; digit < digits; digit++, rest >>= RADIX_BITS)
      offsets[digit][rest & (RADIX_SIZE - 1)]++;
  }
  for (unsigned digit = 0; digit < digits; digit++) {
    unsigned shift = low + digit * RADIX_BITS;
    uint32_t *offset = offsets[digit];
    if (offset[keys[0] >> shift & (RADIX_SIZE - 1)] == count)
      continue;
    uint32_t sum = 0;
    for (size_t i = 0; i < RADIX_SIZE; i++) {
      uint32_t here = offset[i];
      offset[i] = sum;
      sum += here;
    }
    for (size_t i = 0; i < count; i++)
      other[offset[keys[i] >> shift & (RADIX_SIZE - 1)]++] = keys[i];
    uint64_t *swap = keys;
    keys = other;
    other = swap;
  }
  return keys;
}

static uint64_t *sort_bucket(uint64_t *keys, uint64_t *other, size_t count, unsigned row_bits, unsigned start_bits)
{
  size_t bounds[MERGE_RUNS + 1];
  size_t runs = 1;
  bounds[0] = 0;
  for (size_t i = 1; i < count && runs <= MERGE_RUNS; i++)
    if (keys[i] < keys[i - 1])
      bounds[runs++] = i;
  if (runs <= MERGE_RUNS)
    return merge_runs(keys, other, count, bounds, runs);
  return radix_sort(keys, other, count, row_bits, start_bits);
}

struct plan {
  int64_t least;
  unsigned shift; // bucket = (start - least) >> shift
  size_t bucket_count;
  unsigned row_bits;
};

static uint64_t since(int64_t least, int64_t start)
{
  return (uint64_t)start - (uint64_t)least;
}

static void sort_buckets(const struct plan *plan, const struct order_input *input, uint32_t *rows, size_t count,
                         struct arena *scratch)
{
  const int64_t *starts = input->starts;
  size_t *offsets = arena_alloc_array(scratch, plan->bucket_count + 1, sizeof *offsets);
  uint64_t *keys = arena_alloc_array(scratch, count, sizeof *keys);
  size_t largest = 0;
  for (size_t i = 0; i < count; i++)
    offsets[since(plan->least, starts[rows[i]]) >> plan->shift]++;
  size_t sum = 0;
  for (size_t bucket = 0; bucket < plan->bucket_count; bucket++) {
    size_t here = offsets[bucket];
    if (here > largest)
      largest = here;
    offsets[bucket] = sum;
    sum += here;
  }
  uint64_t *other = arena_alloc_array(scratch, largest, sizeof *other);
  uint64_t mask = (UINT64_C(1) << plan->shift) - 1;
  for (size_t i = 0; i < count; i++) {
    uint64_t start = since(plan->least, starts[rows[i]]);
    keys[offsets[start >> plan->shift]++] = (start & mask) << plan->row_bits | rows[i];
  }
  uint64_t row_mask = (UINT64_C(1) << plan->row_bits) - 1;
  size_t first = 0;
  for (size_t bucket = 0; bucket < plan->bucket_count; bucket++) {
    size_t end = offsets[bucket]; // moved to its own end by the scatter
    if (end > first) {
      const uint64_t *sorted_keys = sort_bucket(keys + first, other, end - first, plan->row_bits, plan->shift);
      uint64_t ties = 0;
      uint64_t last = ~sorted_keys[0];
      for (size_t i = first; i < end; i++) {
        uint64_t key = sorted_keys[i - first];
        ties += (last ^ key) <= row_mask;
        last = key;
        rows[i] = (uint32_t)(key & row_mask);
      }
      if (ties > 0) // equal starts share a bucket
        order_ties(input, rows + first, end - first);
    }
    first = end;
  }
}

static void sort_by_buckets(const struct order_input *input, uint32_t *rows, size_t count, struct arena *scratch)
{
  int64_t least = INT64_MAX;
  int64_t most = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    int64_t start = input->starts[rows[i]];
    least = start < least ? start : least;
    most = start > most ? start : most;
  }
  uint64_t range = since(least, most);
  unsigned range_bits = bits_of(range);
  struct plan plan = {least, 0, 1, bits_of(rows[count - 1])};
  unsigned bucket_bits = bits_of(count / BUCKET_ROWS);
  // A key must hold the rest of the start and the row.
  while (bucket_bits < LARGEST_BUCKET_BITS && range_bits > bucket_bits + 63 - plan.row_bits)
    bucket_bits++;
  plan.shift = range_bits > bucket_bits ? range_bits - bucket_bits : 0;
  plan.bucket_count = (size_t)(range >> plan.shift) + 1;
  if (plan.shift + plan.row_bits > 63) { // centuries of time and millions of rows: no hurry
    qsort_r(rows, count, sizeof *rows, compare_rows, (void *)(uintptr_t)input);
    return;
  }
  sort_buckets(&plan, input, rows, count, scratch);
}

void order_rows(const struct order_input *input, uint32_t **rows, size_t count, struct arena *scratch)
{
  if (count < 2)
    return;
  uint32_t *sorted = arena_alloc_array(scratch, count, sizeof *sorted);
  if (lanes_sort(input, *rows, count, sorted, scratch))
    *rows = sorted;
  else
    sort_by_buckets(input, *rows, count, scratch);
}
