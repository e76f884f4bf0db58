// SPDX-License-Identifier: Apache-2.0
// Runs with leaves: correlate_store finds of them what the core finds of all spans at once.
#include "correlate/leaves.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xsp/span.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

enum { STEPS = 120, OPERATIONS = 12, THREADS = 3, FIRST_THREAD = 3, ROWS = 8192 };

static struct store_span rows[ROWS];
static size_t row_count;
static uint64_t seed;

static unsigned dice(unsigned sides)
{
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(seed >> 33) % sides;
}

static int64_t add(uint8_t level, uint32_t track, int64_t parent, int64_t start, int64_t duration)
{
  rows[row_count] = (struct store_span){.span_id = (int64_t)row_count + 1,
                                        .recorded_parent_id = parent,
                                        .track_id = track,
                                        .start_ns = start,
                                        .duration_ns = duration,
                                        .level = level,
                                        .name = 1,
                                        .flags = parent != 0 ? STORE_FLAG_BASIS(BASIS_EXPLICIT) : 0};
  return rows[row_count++].span_id;
}

// Steps and executions on no thread, then, thread by thread, their operations: some in loops whose event follows, some around or
// beside ranges that look for their parents by time.
static void make_rows(unsigned ranges_of_100)
{
  row_count = 0;
  for (int64_t i = 0; i < STEPS; i++)
    rows[add(XSP_LEVEL_MODEL, 1, 0, i * 1000, 1000) - 1].flags = STORE_SPAN_STEP;
  for (int64_t i = 0; i < STEPS; i++)
    (void)add(XSP_LEVEL_MODEL, 2, dice(9) == 0 ? 0 : i + 1, i * 1000 + dice(50), 900 + dice(200));
  for (uint32_t thread = 0; thread < THREADS; thread++)
    for (int64_t i = 0; i < STEPS; i++) {
      bool has_loop = dice(20) == 0;
      int64_t start = i * 1000 + dice(30), loop = (int64_t)row_count + OPERATIONS + 1;
      for (unsigned j = 0; j < OPERATIONS; j++, start += dice(70)) {
        bool is_range = dice(100) < ranges_of_100;
        int64_t parent = has_loop && j > 2 ? loop : STEPS + i + 1 + (dice(40) == 0);
        (void)add(is_range ? XSP_LEVEL_APPLICATION : XSP_LEVEL_LAYER, FIRST_THREAD + thread, is_range ? 0 : parent,
                  start, dice(dice(30) == 0 ? 200 : 60));
      }
      if (has_loop)
        (void)add(XSP_LEVEL_LAYER, FIRST_THREAD + dice(THREADS), STEPS + i + 1, i * 1000 + dice(200), 300 + dice(400));
    }
}

static struct store *store_of_rows(void)
{
  struct store *store;
  const struct store_experiment experiment = {.experiment_id = 1, .name = "net"};
  const struct store_run run = {.run_id = 1, .experiment_id = 1, .epoch_is_unix = true};
  OK(store_create(path, true, &store, err));
  OK(store_add_experiment(store, &experiment, err));
  OK(store_add_run(store, &run, err));
  for (int64_t i = 1; i < FIRST_THREAD + THREADS; i++) {
    const struct store_track track = {.run_id = 1,
                                      .track_id = i,
                                      .device_id = STORE_NONE,
                                      .stream_id = STORE_NONE,
                                      .process_id = 1,
                                      .thread_id = i < FIRST_THREAD ? STORE_NONE : i};
    OK(store_add_track(store, &track, err));
  }
  (void)store_string(store, "span", 4);
  OK(store_add_spans(store, 1, rows, row_count, err));
  return store;
}

static bool has_leaves(struct store *store)
{
  struct arena arena = {0};
  struct leaves leaves = {0};
  struct store_track *tracks;
  size_t count;
  OK(store_tracks(store, 1, &arena, &tracks, &count, err));
  OK(leaves_find(store, 1, tracks, count, &leaves, err));
  bool has_any = leaves.has_any;
  leaves_done(&leaves);
  arena_done(&arena);
  return has_any;
}

static void check_columns(struct store *store)
{
  struct arena arena = {0};
  struct store_spans spans;
  struct store_derived found;
  struct store_track *tracks;
  struct correlate_answer answer = {0};
  size_t count;
  OK(store_tracks(store, 1, &arena, &tracks, &count, err));
  OK(store_load_spans(store, 1, STORE_ALL_BASE | STORE_KIND_AS_STORED, &arena, &spans, err));
  OK(store_load_derived(store, 1, &arena, &found, err));
  const struct correlate_question question = {
      .spans = &spans, .tracks = tracks, .track_count = count, .column_mask = STORE_ALL_DERIVED};
  OK(correlate_spans(&question, &arena, &answer, err));
  for (size_t i = 0; i < spans.count; i++) {
    assert_int_equal(found.parent_id[i], answer.derived.parent_id[i]);
    assert_int_equal(found.basis[i], answer.derived.basis[i]);
    assert_int_equal(found.depth[i], answer.derived.depth[i]);
    assert_int_equal(found.model_id[i], answer.derived.model_id[i]);
    assert_int_equal(found.layer_id[i], answer.derived.layer_id[i]);
    assert_int_equal(found.self_ns[i], answer.derived.self_ns[i]);
    assert_int_equal(found.observation[i], answer.derived.observation[i]);
  }
  arena_done(&arena);
}

static enum status check_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  assert_int_equal(cells[0].integer, 0);
  ++*(int *)context;
  return STATUS_OK;
}

static void check_positions(struct store *store)
{
  int answers = 0;
  const struct store_query_sink sink = {.context = &answers, .row = check_row};
  OK(store_query(
      store,
      "WITH l AS (SELECT span_id, ROW_NUMBER() OVER (PARTITION BY observation ORDER BY start_ns, duration_ns DESC,"
      " span_id) - 1 AS place FROM span WHERE level = 'layer' AND observation IS NOT NULL)"
      " SELECT COUNT(*) FROM l LEFT JOIN tag ON tag.span_id = l.span_id AND key = 'layer_index'"
      " WHERE value IS NOT place",
      &sink, err));
  assert_int_equal(answers, 1);
}

static void check_run(uint64_t number, unsigned ranges_of_100, bool has_any)
{
  seed = number;
  make_rows(ranges_of_100);
  struct store *store = store_of_rows();
  assert_int_equal(has_leaves(store), has_any);
  OK(correlate_store(store, err));
  check_columns(store);
  check_positions(store);
  store_discard(store);
}

static void test_as_the_core(void **state)
{
  (void)state;
  for (uint64_t i = 0; i < 20; i++) {
    check_run(i, 0, true);
    check_run(i, 10, true);
  }
  check_run(1, 80, false);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_the_core)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
