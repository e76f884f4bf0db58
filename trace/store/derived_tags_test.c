// SPDX-License-Identifier: Apache-2.0
// Derived tags: SQL has them next to recorded ones, typed readers do not; replaced as a whole; recorded ones may follow.
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

#define SPANS ((int64_t)STORE_CHUNK_ROWS + 5)

static enum status take_number(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)count;
  (void)err;
  *(int64_t *)context = cells[0].integer;
  return STATUS_OK;
}

static int64_t ask(struct store *store, const char *sql)
{
  int64_t number = -1;
  const struct store_query_sink sink = {.context = &number, .row = take_number};
  OK(store_query(store, sql, &sink, err));
  return number;
}

static void add_tag(struct store *store, int64_t span_id, const char *key, int64_t value)
{
  const struct store_tag tag = {
      .span_id = span_id, .key = store_string(store, key, strlen(key)), .type = STORE_INT, .value.integer = value};
  OK(store_add_tags(store, 1, &tag, 1, err));
}

static void check(struct store *store, int64_t derived, size_t recorded)
{
  struct arena arena = {0};
  struct store_tag *tags;
  size_t count;
  assert_int_equal(ask(store, "select count(*) from tag where key = 'position'"), derived);
  assert_int_equal(ask(store, "select count(*) from tag"), derived + (int64_t)recorded);
  assert_int_equal(ask(store, "select coalesce(sum(value <> 2 * span_id), 0) from tag where key = 'position'"), 0);
  OK(store_load_tags(store, 1, &arena, &tags, &count, err));
  assert_int_equal(count, recorded);
  uint32_t key;
  if (store_find_string(store, "position", 8, &key)) {
    OK(store_load_tags_of(store, 1, &key, 1, &arena, &tags, &count, err));
    assert_int_equal(count, 0);
  }
  arena_done(&arena);
}

struct numbers {
  int64_t at, last;
};

// Spans 1 to `last`, each with twice its id.
static size_t next_numbers(void *context, size_t most, int64_t *ret_span_ids, int64_t *ret_values)
{
  struct numbers *numbers = context;
  size_t count = 0;
  for (; count < most && numbers->at < numbers->last; count++) {
    ret_span_ids[count] = ++numbers->at;
    ret_values[count] = 2 * numbers->at;
  }
  return count;
}

static void put(struct store *store, int64_t last)
{
  struct numbers numbers = {0, last};
  const struct store_derived_tags tags = {&numbers, next_numbers};
  OK(store_put_derived_tags(store, 1, "position", &tags, err));
}

static void test_tags_for_sql_alone(void **state)
{
  (void)state;
  struct store *store;
  const struct store_experiment experiment = {.experiment_id = 1};
  const struct store_run run = {.run_id = 1, .experiment_id = 1, .levels = {.mask = 1}, .epoch_is_unix = true};
  const struct store_track track = {.run_id = 1, .track_id = 1};
  OK(store_create(path, false, &store, err));
  OK(store_add_experiment(store, &experiment, err));
  OK(store_add_run(store, &run, err));
  OK(store_add_track(store, &track, err));
  for (int64_t id = 1; id <= SPANS; id++) {
    const struct store_span span = {.span_id = id, .start_ns = id, .duration_ns = 1, .track_id = 1};
    OK(store_add_spans(store, 1, &span, 1, err));
  }
  check(store, 0, 0);
  put(store, SPANS); // two parts, before any recorded tag
  check(store, SPANS, 0);
  add_tag(store, 1, "recorded", 1);
  OK(store_commit(store, err));
  check(store, SPANS, 1);
  put(store, 3);
  check(store, 3, 1);
  for (int64_t id = 2; id <= SPANS; id++) // into a second part
    add_tag(store, id, "recorded", id);
  check(store, 3, (size_t)SPANS);
  OK(store_finish(store, err));
  check(store, 3, (size_t)SPANS);
  store_close(store);
  OK(store_open(path, &store, err));
  check(store, 3, (size_t)SPANS);
  assert_int_equal(ask(store, "select count(*) from tag where span_id = 2"), 2);
  store_close(store);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tags_for_sql_alone)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
