// SPDX-License-Identifier: Apache-2.0
// Many runs in one file, written by turns and correlated one by one: what is written of one must not disturb, nor be
// hidden by, what is known of the others.
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

#define RUNS 70
#define SPANS_A_RUN 5

// Small ids, and some that no table by id could hold.
static int64_t id_of(unsigned run)
{
  return run % 10 == 9 ? INT64_C(1) << 40 | run : run + 1;
}

static void add_spans_by_turns(struct store *store)
{
  for (unsigned i = 0; i < SPANS_A_RUN; i++)
    for (unsigned run = 0; run < RUNS; run++) {
      struct store_span span = {.span_id = i + 1, .start_ns = run * 1000 + i, .name = store_string(store, "a", 1)};
      OK(store_add_spans(store, id_of(run), &span, 1, err));
    }
}

static void check_spans(struct store *store, unsigned run, size_t count)
{
  struct arena arena = {0};
  struct store_spans spans;
  OK(store_load_spans(store, id_of(run), STORE_ALL_BASE, &arena, &spans, err));
  assert_int_equal(spans.count, count);
  for (unsigned i = 0; i < SPANS_A_RUN; i++)
    assert_int_equal(spans.start_ns[i], run * 1000 + i);
  arena_done(&arena);
}

static void put_derived(struct store *store, unsigned run, uint32_t depth)
{
  int64_t ids[SPANS_A_RUN] = {0};
  int32_t observation[SPANS_A_RUN] = {0};
  uint32_t depths[SPANS_A_RUN];
  uint8_t basis[SPANS_A_RUN] = {0};
  for (unsigned i = 0; i < SPANS_A_RUN; i++)
    depths[i] = depth;
  struct store_derived derived = {.count = SPANS_A_RUN,
                                  .parent_id = ids,
                                  .model_id = ids,
                                  .layer_id = ids,
                                  .self_ns = ids,
                                  .observation = observation,
                                  .depth = depths,
                                  .basis = basis};
  OK(store_put_derived(store, id_of(run), &derived, NULL, 0, err));
}

static void check_depth(struct store *store, unsigned run, uint32_t depth)
{
  struct arena arena = {0};
  struct store_derived derived;
  assert_true(store_has_derived(store, id_of(run)));
  OK(store_load_derived_columns(store, id_of(run), STORE_BIT(STORE_DEPTH), &arena, &derived, err));
  assert_int_equal(derived.count, SPANS_A_RUN);
  for (unsigned i = 0; i < SPANS_A_RUN; i++)
    assert_int_equal(derived.depth[i], depth);
  arena_done(&arena);
}

static enum status keep_number(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)count;
  (void)err;
  *(int64_t *)context = cells[0].integer;
  return STATUS_OK;
}

static int64_t ask(struct store *store, const char *sql)
{
  int64_t number = -1;
  const struct store_query_sink sink = {.context = &number, .row = keep_number};
  OK(store_query(store, sql, &sink, err));
  return number;
}

static void test_runs_are_correlated_one_by_one(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, true, &store, err));
  add_spans_by_turns(store);
  for (unsigned run = 0; run < RUNS; run++) {
    check_spans(store, run, SPANS_A_RUN);
    assert_false(store_has_derived(store, id_of(run)));
    put_derived(store, run, run + 1);
    check_depth(store, run, run + 1);
    check_depth(store, run / 2, run / 2 + 1);
  }
  put_derived(store, 3, 333); // once more: columns that were read and kept are those of before
  check_depth(store, 2, 3);
  check_depth(store, 3, 333);
  put_derived(store, 4, 444); // two runs behind each other, nothing read between them
  put_derived(store, 5, 555);
  check_depth(store, 4, 444);
  check_depth(store, 5, 555);
  assert_int_equal(ask(store, "select sum(depth) from span where run_id in (4, 5, 6)"),
                   SPANS_A_RUN * (333 + 444 + 555));
  put_derived(store, 5, 556); // behind a query, which keeps columns in memory
  assert_int_equal(ask(store, "select sum(depth) from span where run_id in (4, 5, 6)"),
                   SPANS_A_RUN * (333 + 444 + 556));
  store_discard(store);
}

static void test_a_span_more_outdates_its_run_only(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, true, &store, err));
  add_spans_by_turns(store);
  for (unsigned run = 0; run < RUNS; run++)
    put_derived(store, run, run + 1);
  struct store_span span = {.span_id = SPANS_A_RUN + 1, .start_ns = 1, .name = store_string(store, "a", 1)};
  OK(store_add_spans(store, id_of(7), &span, 1, err));
  assert_false(store_has_derived(store, id_of(7)));
  check_spans(store, 7, SPANS_A_RUN + 1);
  for (unsigned run = 0; run < RUNS; run++)
    if (run != 7)
      check_depth(store, run, run + 1);
  OK(store_finish(store, err));
  for (unsigned run = 0; run < RUNS; run++)
    check_spans(store, run, SPANS_A_RUN + (run == 7));
  check_depth(store, RUNS - 1, RUNS);
  store_close(store);
}

static enum status find_index(void *context, const struct store_cell *cells, size_t count, struct error *error)
{
  for (size_t i = 0; i < count; i++)
    *(bool *)context |= cells[i].type == STORE_TEXT && strstr(cells[i].text, "USING INDEX") != NULL;
  return STATUS_OK;
}

static bool has_index(struct store *store, const char *sql)
{
  bool is_found = false;
  const struct store_query_sink sink = {.context = &is_found, .row = find_index};
  OK(store_query(store, sql, &sink, err));
  return is_found;
}

// A file may have 10,000 runs with notes and messages each: those of one must not be looked for among those of all.
static void test_notes_and_messages_are_found_by_run(void **state)
{
  struct store *store;
  struct arena arena = {0};
  struct store_note *notes;
  struct store_log *logs;
  size_t count;
  (void)state;
  OK(store_create(path, true, &store, err));
  for (int64_t run_id = 2; run_id >= 0; run_id--) // 0: of the file
    for (int i = 0; i < 2; i++) {
      OK(store_add_note(store, run_id, i == 0 ? "first" : "second", NULL, err));
      OK(store_add_log(store, run_id, 0, 10 * run_id + i, "message", 7, err));
    }
  OK(store_notes(store, 1, &arena, &notes, &count, err));
  assert_int_equal(count, 4); // in the order they were made
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(notes[i].run_id, i < 2);
    assert_string_equal(notes[i].key, i % 2 == 0 ? "first" : "second");
  }
  OK(store_notes(store, -1, &arena, &notes, &count, err));
  assert_int_equal(count, 6);
  assert_int_equal(notes[0].run_id, 2);
  OK(store_logs(store, 2, &arena, &logs, &count, err));
  assert_int_equal(count, 2);
  assert_int_equal(logs[1].time_ns, 21);
  assert_true(has_index(store, "EXPLAIN QUERY PLAN SELECT * FROM note WHERE run_id IN (0, 1) ORDER BY rowid"));
  assert_true(has_index(store, "EXPLAIN QUERY PLAN SELECT * FROM log WHERE run_id = 1"));
  arena_done(&arena);
  store_discard(store);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs_are_correlated_one_by_one),
      cmocka_unit_test(test_a_span_more_outdates_its_run_only),
      cmocka_unit_test(test_notes_and_messages_are_found_by_run),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
