// SPDX-License-Identifier: Apache-2.0
// order_rows against qsort: nearly sorted, shuffled, tied, and spread over all of int64.
#include "correlate/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static const struct order_input *compared;

static int compare(const void *left, const void *right)
{
  uint32_t a = *(const uint32_t *)left;
  uint32_t b = *(const uint32_t *)right;
  if (compared->starts[a] != compared->starts[b])
    return compared->starts[a] < compared->starts[b] ? -1 : 1;
  if (compared->durations[a] != compared->durations[b])
    return compared->durations[a] > compared->durations[b] ? -1 : 1;
  if (compared->levels[a] != compared->levels[b])
    return compared->levels[a] < compared->levels[b] ? -1 : 1;
  return a < b ? -1 : a > b;
}

static void check(size_t count, int64_t (*start_of)(size_t row))
{
  struct arena arena = {0};
  int64_t *starts = arena_alloc_array(&arena, count, sizeof *starts);
  int64_t *durations = arena_alloc_array(&arena, count, sizeof *durations);
  uint8_t *levels = arena_alloc_array(&arena, count, 1);
  uint32_t *rows = arena_alloc_array(&arena, count, sizeof *rows);
  uint32_t *expected = arena_alloc_array(&arena, count, sizeof *expected);
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    starts[i] = start_of(i);
    durations[i] = (int64_t)(next_random() % 3);
    levels[i] = (uint8_t)(next_random() % 4);
    if (next_random() % 8 != 0) // not all rows take part
      rows[used++] = (uint32_t)i;
  }
  for (size_t i = 0; i < used; i++)
    expected[i] = rows[i];
  const struct order_input input = {starts, durations, levels, NULL};
  compared = &input;
  qsort(expected, used, sizeof *expected, compare);
  uint32_t *room = arena_alloc_array(&arena, count, sizeof *room);
  rows = order_rows(&input, rows, used, room, &arena);
  assert_memory_equal(rows, expected, used * sizeof *rows);
  arena_done(&arena);
}

static int64_t nearly_sorted(size_t row)
{
  return (int64_t)(row * 10 + next_random() % 200);
}
static int64_t two_threads(size_t row)
{
  return (int64_t)(row / 2 * 20 + row % 2 * 5000000);
}
static int64_t sources(size_t row) // three of different lengths, step by step, with ties among them
{
  size_t in_step = row % 317;
  size_t in_source = in_step < 200 ? in_step * 3 : in_step < 290 ? (in_step - 200) * 7 : (in_step - 290) * 21;
  return (int64_t)(row / 317 * 700 + in_source);
}
static int64_t endless_sources(size_t row) // more than lanes
{
  return (int64_t)(row % 10000 * 10);
}
static int64_t shuffled(size_t row)
{
  (void)row;
  return (int64_t)(next_random() % 1000000000);
}
static int64_t tied(size_t row)
{
  (void)row;
  return (int64_t)(next_random() % 4);
}
static int64_t spread(size_t row)
{
  (void)row;
  return (int64_t)(next_random() >> 1) - INT64_MAX / 2;
}
static int64_t outlier(size_t row)
{
  return row == 77 ? INT64_C(1) << 61 : nearly_sorted(row);
}

static void test_orders_like_qsort(void **unused)
{
  (void)unused;
  int64_t (*const shapes[])(size_t) = {nearly_sorted, two_threads, sources, endless_sources,
                                       shuffled,      tied,        spread,  outlier};
  for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++)
    for (size_t count = 2; count < 100000; count = count * 3 + 1)
      check(count, shapes[shape]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders_like_qsort)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
