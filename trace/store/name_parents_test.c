// SPDX-License-Identifier: Apache-2.0
// Parents named after the fact: in written parts, in the open part, with rows added afterwards.
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

static void add_spans(struct store *store, int64_t from, int64_t to)
{
  for (int64_t id = from; id < to; id++) {
    struct store_span span = {.span_id = id, .start_ns = id, .duration_ns = 1, .track_id = 1};
    OK(store_add_spans(store, 1, &span, 1, err));
  }
}

static void check_parents(struct store *store, int64_t last_id)
{
  struct arena arena = {0};
  struct store_spans spans;
  OK(store_load_spans(store, 1, STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_RECORDED_PARENT_ID), &arena, &spans, err));
  assert_int_equal(spans.count, last_id);
  for (size_t i = 0; i < spans.count; i++) {
    int64_t id = spans.span_id[i];
    int64_t expected = id == 7 || id == STORE_CHUNK_ROWS + 3 ? 1 : id == STORE_CHUNK_ROWS + 4 ? 2 : 0;
    assert_int_equal(spans.recorded_parent_id[i], expected);
  }
  arena_done(&arena);
}

static void test_names_stay(void **state)
{
  (void)state;
  struct store *store;
  const struct store_experiment experiment = {.experiment_id = 1};
  const struct store_run run = {.run_id = 1, .experiment_id = 1, .levels.mask = 1, .epoch_is_unix = true};
  const struct store_track track = {.run_id = 1, .track_id = 1};
  struct store_link links[] = {{STORE_CHUNK_ROWS + 4, 2}, {7, 1}, {STORE_CHUNK_ROWS + 3, 1}};
  OK(store_create(path, false, &store, err));
  OK(store_add_experiment(store, &experiment, err));
  OK(store_add_run(store, &run, err));
  OK(store_add_track(store, &track, err));
  add_spans(store, 1, STORE_CHUNK_ROWS + 11);
  OK(store_name_parents(store, 1, links, 3, err));
  check_parents(store, STORE_CHUNK_ROWS + 10);
  add_spans(store, STORE_CHUNK_ROWS + 11, STORE_CHUNK_ROWS + 21); // the open part is written again
  OK(store_commit(store, err));
  check_parents(store, STORE_CHUNK_ROWS + 20);
  OK(store_finish(store, err));
  store_close(store);
  OK(store_open(path, &store, err));
  check_parents(store, STORE_CHUNK_ROWS + 20);
  struct error why;
  assert_int_equal(store_name_parents(store, 1, links, 3, &why), STATUS_USE);
  store_close(store);
}

static void test_an_absent_span_is_an_error(void **state)
{
  (void)state;
  struct store *store;
  struct error why;
  struct store_link links[] = {{1, 2}, {99, 1}};
  unlink(path);
  OK(store_create(path, false, &store, err));
  add_spans(store, 1, 5);
  assert_int_equal(store_name_parents(store, 1, links, 2, &why), STATUS_USE);
  assert_int_equal(store_name_parents(store, 2, links, 1, &why), STATUS_USE);
  store_discard(store);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_stay),
      cmocka_unit_test(test_an_absent_span_is_an_error),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
