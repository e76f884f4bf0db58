// SPDX-License-Identifier: Apache-2.0
// Samples of threads as metrics of the calling context tree: the same from a folded run and from one that has its samples.
#include "correlate/correlate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

enum { PROGRAM = 1, STEP, LOAD };

static void add_paths(struct store *store)
{
  static const char *const names[] = {"program", "step", "load"};
  for (uint32_t i = 0; i < 3; i++) {
    const struct store_frame frame = {.name = names[i], .file = "/home/me/train.py", .line = 1 + (int64_t)i};
    assert_int_equal(store_context_id(store, i == 0 ? 0 : PROGRAM, store_frame_id(store, &frame)), 1 + i);
  }
}

static void add_samples(struct store *store)
{
  static const struct store_sample samples[] = {
      {.context_id = STEP, .kind = SAMPLE_CPU, .duration_ns = 100},
      {.context_id = STEP, .kind = SAMPLE_CPU, .duration_ns = 140},
      {.context_id = PROGRAM, .kind = SAMPLE_CPU, .duration_ns = 10},
      {.context_id = LOAD, .kind = SAMPLE_IO, .duration_ns = 700},
      {.context_id = LOAD, .kind = SAMPLE_LOCK, .duration_ns = 50},
  };
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
    OK(store_add_samples(store, 1, &samples[i], 1, err));
}

static const struct store_context_metric *find(const struct store_context_metric *rows, size_t count,
                                               int64_t context_id, const char *metric)
{
  for (size_t i = 0; i < count; i++)
    if (rows[i].context_id == context_id && strcmp(rows[i].metric, metric) == 0)
      return &rows[i];
  return NULL;
}

static void check_sum(const struct store_context_metric *row, int64_t count, int64_t sum, int64_t exclusive_sum)
{
  assert_non_null(row);
  assert_int_equal(row->count, count);
  assert_int_equal(row->sum, sum);
  assert_int_equal(row->exclusive_sum, exclusive_sum);
}

static void check(struct store *store, size_t *ret_row_count)
{
  struct arena arena = {0};
  struct store_call_paths paths;
  struct store_context_metric *rows;
  OK(store_call_paths(store, &arena, &paths, err));
  OK(correlate_context_rows(store, 1, &paths, &arena, &rows, ret_row_count, err));
  check_sum(find(rows, *ret_row_count, PROGRAM, "cpu_ns"), 3, 250, 10);
  check_sum(find(rows, *ret_row_count, STEP, "cpu_ns"), 2, 240, 240);
  check_sum(find(rows, *ret_row_count, PROGRAM, "wait_ns"), 2, 750, 0);
  check_sum(find(rows, *ret_row_count, LOAD, "io_ns"), 1, 700, 700);
  check_sum(find(rows, *ret_row_count, LOAD, "lock_ns"), 1, 50, 50);
  assert_null(find(rows, *ret_row_count, LOAD, "cpu_ns"));
  assert_null(find(rows, *ret_row_count, PROGRAM, "host_ns")); // samples are in no figure of spans
  arena_done(&arena);
}

static void test_stored(void **state)
{
  (void)state;
  struct store *store;
  size_t row_count;
  OK(store_create(path, true, &store, err));
  add_paths(store);
  add_samples(store);
  check(store, &row_count);
  store_discard(store);
}

static void test_folded(void **state)
{
  (void)state;
  struct store *store;
  size_t row_count, sample_count;
  OK(store_create(path, true, &store, err));
  struct correlate_fold *fold = correlate_fold_begin(store);
  add_paths(store);
  add_samples(store);
  OK(store_commit(store, err));
  check(store, &row_count);
  size_t before = row_count;
  const struct store_sample unknown = {.kind = SAMPLE_CPU, .duration_ns = 7}; // without a call path
  for (int i = 0; i < 1000; i++)
    OK(store_add_samples(store, 1, &unknown, 1, err));
  OK(store_commit(store, err));
  check(store, &row_count);
  assert_int_equal(row_count, before + 1); // as much memory as one sample takes
  OK(store_count_samples(store, 1, &sample_count, err));
  assert_int_equal(sample_count, 0);
  correlate_fold_end(fold);
  store_discard(store);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stored), cmocka_unit_test(test_folded)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
