// SPDX-License-Identifier: Apache-2.0
// Counters over time: what is written is read back, from the file, by SQL and in a copy; files without any have empty tables.
#include "store/copy.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

static struct store *create(const char *name)
{
  struct store *store;
  OK(store_create(name, true, &store, err));
  const struct store_run run = {.run_id = 1, .experiment_id = 1, .epoch_is_unix = true};
  OK(store_add_run(store, &run, err));
  return store;
}

static void add_counters(struct store *store)
{
  const struct store_counter cpu = {
      .counter_id = 1, .name = "cpu_ns", .process_id = 7, .thread_id = 8, .device_id = STORE_NONE, .is_total = true};
  const struct store_counter power = {.counter_id = 2,
                                      .name = "power_w",
                                      .source = "package-0",
                                      .process_id = STORE_NONE,
                                      .thread_id = STORE_NONE,
                                      .device_id = 0};
  OK(store_add_counter(store, 1, &cpu, err));
  OK(store_add_counter(store, 1, &power, err));
  for (int64_t i = 0; i < 6; i++) { // later ones first: readers get them by time
    const struct store_counter_value value = {1 + i % 2, 1000 - i, (double)i + 0.5};
    OK(store_add_counter_value(store, 1, &value, err));
  }
}

static void check(struct store *store)
{
  struct arena arena = {0};
  struct store_counter *counters;
  struct store_counter_value *values;
  size_t count;
  OK(store_counters(store, 1, &arena, &counters, &count, err));
  assert_int_equal(count, 2);
  assert_string_equal(counters[0].name, "cpu_ns");
  assert_null(counters[0].source);
  assert_true(counters[0].is_total);
  assert_int_equal(counters[0].process_id, 7);
  assert_int_equal(counters[0].thread_id, 8);
  assert_true(counters[0].device_id == STORE_NONE);
  assert_string_equal(counters[1].source, "package-0");
  assert_false(counters[1].is_total);
  assert_true(counters[1].process_id == STORE_NONE);
  assert_int_equal(counters[1].device_id, 0);
  OK(store_counter_values(store, 1, &arena, &values, &count, err));
  assert_int_equal(count, 6);
  const struct store_counter_value expected[] = {{1, 996, 4.5}, {1, 998, 2.5}, {1, 1000, 0.5},
                                                 {2, 995, 5.5}, {2, 997, 3.5}, {2, 999, 1.5}};
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(values[i].counter_id, expected[i].counter_id);
    assert_int_equal(values[i].time_ns, expected[i].time_ns);
    assert_true(values[i].value == expected[i].value);
  }
  OK(store_counters(store, 2, &arena, &counters, &count, err));
  assert_int_equal(count, 0);
  arena_done(&arena);
}

static enum status take_number(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)count, (void)err;
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

static void test_round_trip(void **state)
{
  (void)state;
  struct store *store = create(path);
  add_counters(store);
  check(store); // while it is written
  OK(store_finish(store, err));
  store_close(store);
  OK(store_open(path, &store, err));
  check(store);
  assert_int_equal(ask(store, "select count(*) from counter join counter_value using (run_id, counter_id)"
                              " where name = 'cpu_ns' and is_total and source is null"),
                   3);
  store_close(store);
}

static void test_none(void **state)
{
  (void)state;
  struct arena arena = {0};
  struct store_counter *counters;
  size_t count = 1;
  struct store *store = create(path);
  OK(store_counters(store, 1, &arena, &counters, &count, err));
  assert_int_equal(count, 0);
  OK(store_finish(store, err));
  store_close(store);
  OK(store_open(path, &store, err));
  assert_int_equal(ask(store, "select count(*) from counter join counter_value using (run_id, counter_id)"), 0);
  store_close(store);
  arena_done(&arena);
}

static void test_copy_and_shift(void **state)
{
  (void)state;
  char copy_path[sizeof path + 8];
  snprintf(copy_path, sizeof copy_path, "%s.copy", path);
  struct store *from = create(path), *to;
  add_counters(from);
  OK(store_create(copy_path, true, &to, err));
  OK(store_copy(from, to, (struct headway_watcher){0}, err));
  check(to);
  OK(store_shift_run(to, 1, 500, err));
  assert_int_equal(ask(to, "select min(time_ns) from counter_value"), 1495);
  store_discard(to);
  store_discard(from);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_none),
                                     cmocka_unit_test(test_copy_and_shift)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
