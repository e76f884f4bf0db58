// SPDX-License-Identifier: Apache-2.0
// Samples from a ring into a store: their threads, call paths and spans; what no sample may be; a collector that died between
// its commit and its note of it.
#include "collect/collect.h"

#include "format/session_clock.h"
#include "tests/collect/hand_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/expect.h" // needs cmocka.h, which hand_writer.h brings
#include "tests/support/folder.h"

#define RUN 3

static struct hand hand;
static struct collect_session *session;
static struct store *store;
static struct arena arena;
static uint64_t begin; // ticks, which are nanoseconds here

static int setup(void **state)
{
  (void)state;
  const struct collect_options options = {.level_mask = XSP_LEVEL_MASK_ALL, .ring_records = HAND_RING_RECORDS};
  assert_int_equal(setenv("XSP_CLOCK", "monotonic", 1), 0);
  OK(collect_create(&options, &session, err));
  hand_join(&hand, collect_directory(session));
  OK(store_create(path, true, &store, err));
  begin = session_clock_read(SESSION_TICKS_MONOTONIC).ticks;
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  hand_leave(&hand);
  collect_close(session, true);
  store_discard(store);
  arena_done(&arena);
  return 0;
}

static struct record sample_record(unsigned kind, uint32_t path_id, uint32_t span_id, uint64_t after_ns)
{
  return (struct record){.type = RECORD_SAMPLE,
                         .kind_clock = (uint8_t)kind,
                         .site = path_id,
                         .id = span_id,
                         .start = begin + after_ns,
                         .duration = 1000 + after_ns};
}

static struct store_samples samples(void)
{
  struct store_samples got;
  OK(store_load_samples(store, RUN, &arena, &got, err));
  return got;
}

static void test_rows(void **state)
{
  (void)state;
  struct collect_counts counts;
  struct store_spans spans;
  uint32_t program = hand_path(&hand, 0, "program", 1), inside = hand_path(&hand, program, "inside", 2);
  uint32_t layer = hand_site(&hand, XSP_LEVEL_LAYER, "layer", NULL);
  hand_put(&hand, sample_record(SAMPLE_CPU, inside, 0, 0));
  hand_put(&hand, sample_record(SAMPLE_LOCK, program, 1, 5)); // while the span is open
  hand_span(&hand, layer, 1, begin + 1, 10);
  hand_put(&hand, (struct record){.type = RECORD_THREAD, .start = 1002, .duration = 1});
  hand_put(&hand, sample_record(SAMPLE_CHILD, 0, 0, 20));
  struct record absurd = sample_record(SAMPLE_CPU, inside, 0, 30);
  absurd.duration = UINT64_MAX;
  hand_put(&hand, absurd);
  OK(collect_drain_final(session, store, RUN, err));
  OK(store_load_spans(store, RUN, STORE_ALL_BASE, &arena, &spans, err));
  struct store_samples got = samples();
  assert_int_equal(got.count, 3);
  assert_int_equal(spans.count, 1);
  for (size_t i = 0; i < 3; i++) {
    static const int64_t after_ns[] = {0, 5, 20};
    static const uint8_t kinds[] = {SAMPLE_CPU, SAMPLE_LOCK, SAMPLE_CHILD};
    assert_int_equal(got.time_ns[i], spans.start_ns[0] - 1 + after_ns[i]);
    assert_int_equal(got.duration_ns[i], 1000 + after_ns[i]);
    assert_int_equal(got.kind[i], kinds[i]);
  }
  assert_int_equal(got.span_id[0], 0);
  assert_int_equal(got.span_id[1], spans.span_id[0]);
  assert_int_equal(got.track_id[1], spans.track_id[0]);
  assert_int_not_equal(got.track_id[2], spans.track_id[0]);
  struct store_call_paths paths;
  OK(store_call_paths(store, &arena, &paths, err));
  assert_string_equal(paths.frames[paths.contexts[got.context_id[0] - 1].frame_id - 1].name, "inside");
  assert_int_equal(paths.contexts[got.context_id[0] - 1].parent_id, got.context_id[1]);
  assert_int_equal(got.context_id[2], 0);
  collect_counts(session, &counts);
  assert_int_equal(counts.samples, 3);
  assert_int_equal(counts.malformed, 1);
}

static uint32_t joined_path(uint32_t caller, uint32_t inner)
{
  const struct catalog_path entry = {.entry = {0, CATALOG_PATH}, .caller = caller, .frame = inner};
  return hand_entry(&hand, &entry, sizeof entry, NULL);
}

// Frames in place of one, below two callers: the same contexts as if each had been recorded. What is too deep, or has such a path
// inside of one, is none.
static void test_joined_paths(void **state)
{
  (void)state;
  uint32_t program = hand_path(&hand, 0, "program", 1), other = hand_path(&hand, 0, "other", 1);
  uint32_t inner = hand_path(&hand, hand_path(&hand, 0, "outer", 2), "inner", 3);
  uint32_t joined = joined_path(program, inner), deep = 0;
  for (uint32_t i = 0; i <= CATALOG_JOINED_FRAMES_MOST; i++)
    deep = hand_path(&hand, deep, "deep", 4);
  uint32_t single = hand_path(&hand, hand_path(&hand, other, "outer", 2), "inner", 3);
  const uint32_t paths[] = {joined, joined_path(other, inner), single, joined_path(program, deep),
                            joined_path(other, joined)};
  for (uint32_t i = 0; i < 5; i++)
    hand_put(&hand, sample_record(SAMPLE_CPU, paths[i], 0, i));
  OK(collect_drain_final(session, store, RUN, err));
  struct store_samples got = samples();
  struct store_call_paths stored;
  OK(store_call_paths(store, &arena, &stored, err));
  assert_int_equal(got.count, 5);
  assert_int_not_equal(got.context_id[0], got.context_id[1]);
  assert_int_equal(got.context_id[1], got.context_id[2]);
  assert_int_equal(got.context_id[3], 0);
  assert_int_equal(got.context_id[4], 0);
  const char *names[] = {"inner", "outer", "program"};
  int64_t id = got.context_id[0];
  for (uint32_t i = 0; i < 3; i++, id = stored.contexts[id - 1].parent_id)
    assert_string_equal(stored.frames[stored.contexts[id - 1].frame_id - 1].name, names[i]);
  assert_int_equal(id, 0);
}

// A sample that is later than the clock that the drain converts by waits for the next drain.
static void test_later_ones_wait(void **state)
{
  (void)state;
  hand_put(&hand, sample_record(SAMPLE_CPU, 0, 0, 1000000000));
  OK(collect_drain(session, store, RUN, err));
  assert_int_equal(samples().count, 0);
  OK(collect_drain_final(session, store, RUN, err));
  assert_int_equal(samples().count, 1);
}

// Samples have no ids: the file says how far the rings were in its last commit, whatever the rings say.
static void test_no_sample_is_stored_twice(void **state)
{
  (void)state;
  char *directory = arena_format(&arena, "%s", collect_directory(session));
  struct store_drained *rows;
  size_t row_count;
  hand_put(&hand, sample_record(SAMPLE_CPU, 0, 0, 1));
  hand_put(&hand, sample_record(SAMPLE_CPU, 0, 0, 2));
  OK(collect_drain(session, store, RUN, err));
  OK(collect_commit(session, store, err));
  hand.ring->tail = hand.ring->stored = 0; // as if the collector had died before it wrote them
  hand_put(&hand, sample_record(SAMPLE_CPU, 0, 0, 3));
  collect_close(session, false);
  OK(collect_adopt(directory, &session, err));
  OK(store_sampled(store, RUN, &arena, &rows, &row_count, err));
  assert_int_equal(row_count, 1);
  assert_int_equal(rows[0].position, 2);
  collect_set_drained(session, rows, row_count);
  OK(collect_drain_final(session, store, RUN, err));
  struct store_samples got = samples();
  assert_int_equal(got.count, 3);
  for (size_t i = 0; i < 3; i++)
    assert_int_equal(got.duration_ns[i], 1001 + (int64_t)i);
  assert_false(store_is_folded(store));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
      cmocka_unit_test_setup_teardown(test_joined_paths, setup, teardown),
      cmocka_unit_test_setup_teardown(test_later_ones_wait, setup, teardown),
      cmocka_unit_test_setup_teardown(test_no_sample_is_stored_twice, setup, teardown),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
