// SPDX-License-Identifier: Apache-2.0
// Moves the times of stored runs: written parts, the open part, other runs, logs, times at the edge of int64.
#include "store/store.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

// Neither sorted nor even, so that both codings of a chunk are met: the second run's starts jump about.
static int64_t start_of(int64_t run_id, size_t i)
{
  return run_id == 1 ? (int64_t)i * 977 - 5 : (int64_t)(i * 7919 % 10007) << 20;
}

static void add_spans(struct store *store, int64_t run_id, size_t from, size_t to, int64_t offset_ns)
{
  for (size_t i = from; i < to; i++) {
    struct store_span span = {
        .span_id = (int64_t)i + 1, .start_ns = start_of(run_id, i) + offset_ns, .duration_ns = 3, .track_id = 1};
    OK(store_add_spans(store, run_id, &span, 1, err));
  }
}

static void check_starts(struct store *store, int64_t run_id, size_t count, int64_t offset_ns)
{
  struct arena arena = {0};
  struct store_spans spans;
  OK(store_load_spans(store, run_id, STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS), &arena, &spans, err));
  assert_int_equal(spans.count, count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(spans.start_ns[i], start_of(run_id, i) + offset_ns);
    assert_int_equal(spans.duration_ns[i], 3);
  }
  arena_done(&arena);
}

static enum status keep_integer(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  assert_int_equal(count, 1);
  *(int64_t *)context = cells[0].integer;
  return STATUS_OK;
}

static int64_t ask(struct store *store, const char *sql)
{
  int64_t answer = -1;
  struct store_query_sink sink = {.context = &answer, .row = keep_integer};
  OK(store_query(store, sql, &sink, err));
  return answer;
}

#define BASE INT64_C(1735632360000000000)

static void test_all_times_of_one_run_move(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, false, &store, err));
  add_spans(store, 1, 0, 70000, 0);
  add_spans(store, 2, 0, 70000, 0);
  OK(store_add_log(store, 1, 1, 55, "here", 4, err));
  OK(store_add_log(store, 2, 1, 55, "there", 5, err));
  check_starts(store, 1, 70000, 0); // the cache holds the old ones
  OK(store_shift_run(store, 1, BASE, err));
  check_starts(store, 1, 70000, BASE);
  check_starts(store, 2, 70000, 0);
  OK(store_shift_run(store, 2, -7, err));
  check_starts(store, 2, 70000, -7);
  add_spans(store, 1, 70000, 140000, BASE); // the open part is written again
  OK(store_finish(store, err));
  check_starts(store, 1, 140000, BASE);
  check_starts(store, 2, 70000, -7);
  store_close(store);
  OK(store_open(path, &store, err));
  check_starts(store, 1, 140000, BASE);
  check_starts(store, 2, 70000, -7);
  assert_int_equal(ask(store, "select min(start_ns) from span where run_id = 1"), BASE - 5);
  assert_int_equal(ask(store, "select count(*) from span where run_id = 1 and start_ns < 1735632360000000000"), 1);
  assert_int_equal(ask(store, "select time_ns from log where run_id = 1"), BASE + 55);
  assert_int_equal(ask(store, "select time_ns from log where run_id = 2"), 48);
  store_close(store);
}

static void test_runs_without_spans_and_offsets_of_nothing(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, false, &store, err));
  OK(store_shift_run(store, 9, BASE, err));
  add_spans(store, 1, 0, 10, 0);
  OK(store_shift_run(store, 1, 0, err));
  check_starts(store, 1, 10, 0);
  store_discard(store);
}

static void test_a_time_beyond_int64_is_refused(void **state)
{
  (void)state;
  struct error error;
  struct store *store;
  OK(store_create(path, false, &store, err));
  struct store_span span = {.span_id = 1, .start_ns = INT64_MAX - 10, .track_id = 1};
  OK(store_add_spans(store, 1, &span, 1, err));
  OK(store_shift_run(store, 1, 10, err));
  assert_int_equal(store_shift_run(store, 1, 1, &error), STATUS_INPUT);
  assert_non_null(strstr(error.why, "64 bits"));
  store_discard(store);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_all_times_of_one_run_move, clear_folder),
      cmocka_unit_test_teardown(test_runs_without_spans_and_offsets_of_nothing, clear_folder),
      cmocka_unit_test_teardown(test_a_time_beyond_int64_is_refused, clear_folder),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
