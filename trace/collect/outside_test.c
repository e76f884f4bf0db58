// SPDX-License-Identifier: Apache-2.0
// What the launcher of a program adds: its span on the program's own track, steps by a site's mark, processes, fullness.
#include "collect/collect.h"

#include "format/session_clock.h"
#include "tests/collect/hand_writer.h"

#include <unistd.h>

#include "tests/support/expect.h" // needs cmocka.h, which hand_writer.h brings

#define RUN 3
#define PID 1000

static struct {
  char folder[64], path[128];
  struct collect_session *session;
  struct store *store;
  struct hand hand;
  struct arena arena;
} now;

static int setup_with(uint32_t ring_records, int64_t quiet_ns)
{
  struct error err = {0};
  memset(&now, 0, sizeof now);
  snprintf(now.folder, sizeof now.folder, "/tmp/xsp-outside-test-XXXXXX");
  assert_non_null(mkdtemp(now.folder));
  snprintf(now.path, sizeof now.path, "%s/out.xsp", now.folder);
  assert_int_equal(setenv("XSP_CLOCK", "monotonic", 1), 0);
  const struct collect_options options = {
      .level_mask = XSP_LEVEL_MASK_ALL, .ring_records = ring_records, .quiet_ns = quiet_ns};
  ok(collect_create(&options, &now.session, &err), &err);
  hand_join(&now.hand, collect_directory(now.session));
  ok(store_create(now.path, false, &now.store, &err), &err);
  return 0;
}

static int setup(void **state)
{
  return setup_with(HAND_RING_RECORDS, 0);
}

static int setup_quiet(void **state)
{
  return setup_with(HAND_RING_RECORDS / 2, 1); // each look ends a quiet time, and begins another
}

static int setup_minute(void **state)
{
  return setup_with(HAND_RING_RECORDS / 2, 0);
}

static int teardown(void **state)
{
  hand_leave(&now.hand);
  collect_close(now.session, true);
  store_discard(now.store);
  arena_done(&now.arena);
  return rmdir(now.folder);
}

static int64_t add(int64_t pid, int64_t start_ns, int64_t end_ns)
{
  const struct collect_outside_span span = {.process_id = pid,
                                            .start_ns = start_ns,
                                            .end_ns = end_ns,
                                            .level = XSP_LEVEL_APPLICATION,
                                            .name = "python3 train.py",
                                            .category = "program",
                                            .tracer = "xsp"};
  int64_t id = 0;
  OK(collect_add_span(now.session, now.store, RUN, &span, &id, err));
  return id;
}

static void drain(bool is_final)
{
  OK((is_final ? collect_drain_final : collect_drain)(now.session, now.store, RUN, err));
}

static struct store_spans spans(void)
{
  struct store_spans loaded = {0};
  OK(store_commit(now.store, err));
  OK(store_load_spans(now.store, RUN, STORE_ALL_BASE, &now.arena, &loaded, err));
  return loaded;
}

static size_t tracks(struct store_track **ret_tracks)
{
  size_t count = 0;
  OK(store_tracks(now.store, RUN, &now.arena, ret_tracks, &count, err));
  return count;
}

static const char *text(uint32_t id)
{
  size_t length = 0;
  return store_text(now.store, id, &length);
}

static void assert_program(const struct store_spans *got, size_t row)
{
  assert_int_equal(got->level[row], XSP_LEVEL_APPLICATION);
  assert_int_equal(got->kind[row], XSP_KIND_SYNC);
  assert_string_equal(text(got->name[row]), "python3 train.py");
  assert_string_equal(text(got->category[row]), "program");
  assert_string_equal(text(got->tracer[row]), "xsp");
}

// On the track that the main thread's spans lie on, around them, with times on the same line.
static void test_on_the_programs_own_track(void **state)
{
  now.hand.ring->owner_tid = PID;
  uint32_t site = hand_site(&now.hand, XSP_LEVEL_LAYER, "convolution", NULL);
  struct session_calibration before = session_clock_read(SESSION_TICKS_MONOTONIC);
  hand_span(&now.hand, site, 1, before.ticks, 5);
  drain(true);
  int64_t id = add(PID, before.realtime_ns, before.realtime_ns + 1000);
  assert_true(id >= 1);
  struct store_spans got = spans();
  assert_int_equal(got.count, 2);
  assert_int_equal(got.span_id[1], id);
  assert_int_not_equal(got.span_id[0], id);
  assert_program(&got, 1);
  assert_int_equal(got.track_id[1], got.track_id[0]);
  assert_int_equal(got.trace_id[1], got.trace_id[0]);
  assert_int_equal(got.duration_ns[1], 1000);
  assert_true(llabs(got.start_ns[1] - got.start_ns[0]) < 100000); // both were read at once
  struct store_track *track;
  assert_int_equal(tracks(&track), 1);
}

// Added first, then drained: the same track row again.
static void test_before_the_drain(void **state)
{
  now.hand.ring->owner_tid = PID;
  uint32_t site = hand_site(&now.hand, XSP_LEVEL_LAYER, "convolution", NULL);
  hand_span(&now.hand, site, 1, session_clock_read(SESSION_TICKS_MONOTONIC).ticks, 5);
  add(PID, 1000, 2000);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, 2);
  assert_int_equal(got.track_id[1], got.track_id[0]);
}

static void test_a_program_that_never_joined(void **state)
{
  int64_t first = add(4711, 1000, 2000), second = add(4711, 3000, 2500);
  assert_int_not_equal(first, second);
  struct store_spans got = spans();
  assert_int_equal(got.count, 2);
  assert_int_equal(got.duration_ns[1], 0); // ends before it starts
  struct store_track *track;
  assert_int_equal(tracks(&track), 1);
  assert_int_equal(track->process_id, 4711);
  assert_int_equal(track->thread_id, 4711);
  assert_string_equal(track->name, "python3 train.py");
}

static void test_a_step_is_a_mark_and_no_tag(void **state)
{
  uint32_t step = hand_site(&now.hand, XSP_LEVEL_MODEL, "step", NULL);
  hand_site_tag(&now.hand, step, "batch_size", 8);
  hand_site_tag(&now.hand, step, "step", 1);
  uint32_t other = hand_site(&now.hand, XSP_LEVEL_MODEL, "other", NULL);
  hand_site_tag(&now.hand, other, "step", 2);   // a number, not the mark
  hand_site_tag(&now.hand, other, "step_2", 1); // another key
  uint64_t begin = session_clock_read(SESSION_TICKS_MONOTONIC).ticks;
  hand_span(&now.hand, step, 1, begin, 5);
  hand_span(&now.hand, other, 2, begin + 10, 5);
  hand_span(&now.hand, step, 3, begin + 20, 5);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, 3);
  assert_int_equal(got.flags[0], STORE_SPAN_STEP);
  assert_int_equal(got.flags[1], 0);
  assert_int_equal(got.flags[2], STORE_SPAN_STEP);
  struct store_tag *tags;
  size_t count;
  OK(store_load_tags(now.store, RUN, &now.arena, &tags, &count, err));
  assert_int_equal(count, 4);
  for (size_t i = 0; i < count; i++)
    if (tags[i].span_id != got.span_id[1])
      assert_string_equal(text(tags[i].key), "batch_size");
}

static void test_processes(void **state)
{
  struct collect_process process;
  size_t cursor = 0;
  drain(false);
  assert_true(collect_process(now.session, &cursor, &process));
  assert_int_equal(process.process_id, PID);
  assert_false(process.has_ended);
  assert_false(collect_process(now.session, &cursor, &process));
  now.hand.process->ended = 1;
  cursor = 0;
  assert_true(collect_process(now.session, &cursor, &process));
  assert_true(process.has_ended);
}

static void arrive(uint32_t magic, uint32_t pid, const char *name)
{
  struct session_arrival entry = {.magic = magic, .pid = pid, .start_realtime_ns = 5000 + pid};
  memset(entry.command, 'c', sizeof entry.command); // no NUL
  memcpy(entry.name, name, strlen(name) + 1);
  char path[4096];
  snprintf(path, sizeof path, "%s/arrivals", collect_directory(now.session));
  int file = open(path, O_WRONLY | O_APPEND);
  assert_int_equal(write(file, &entry, sizeof entry), sizeof entry);
  close(file);
}

static void test_processes_that_only_arrived(void **state)
{
  const uint32_t arrived[] = {4711, 4712, 4711};
  struct collect_process process;
  size_t cursor = 0;
  arrive(ARRIVAL_MAGIC, 4711, "sh");
  arrive(ARRIVAL_MAGIC + 1, 4713, "broken");
  arrive(ARRIVAL_MAGIC, 0, "broken");
  arrive(ARRIVAL_MAGIC, UINT32_MAX, "broken");
  arrive(ARRIVAL_MAGIC, 4712, "true");
  arrive(ARRIVAL_MAGIC, 4711, "python3");
  drain(false);
  assert_true(collect_process(now.session, &cursor, &process));
  assert_int_equal(process.process_id, PID);
  for (size_t i = 0; i < 3; i++) {
    assert_true(collect_process(now.session, &cursor, &process));
    assert_int_equal(process.process_id, arrived[i]);
    assert_int_equal(process.start_ns, 5000 + arrived[i]);
    assert_false(process.has_ended);
  }
  assert_false(collect_process(now.session, &cursor, &process));
  (void)add(4711, 1000, 2000);
  struct store_track *track;
  assert_int_equal(tracks(&track), 1);
  assert_string_equal(track->name, "python3"); // of the last image
}

static void test_waiting(void **state)
{
  uint32_t site = hand_site(&now.hand, XSP_LEVEL_LAYER, "convolution", NULL);
  uint64_t begin = session_clock_read(SESSION_TICKS_MONOTONIC).ticks;
  bool is_half_full = true;
  assert_true(collect_waiting(now.session, &is_half_full) == 0);
  for (uint32_t i = 0; i < HAND_RING_RECORDS / 4; i++)
    hand_span(&now.hand, site, i + 1, begin + i, 1);
  assert_true(collect_waiting(now.session, &is_half_full) == HAND_RING_RECORDS / 4);
  assert_false(is_half_full);
  for (uint32_t i = HAND_RING_RECORDS / 4; i < HAND_RING_RECORDS / 2; i++)
    hand_span(&now.hand, site, i + 1, begin + i, 1);
  assert_true(collect_waiting(now.session, &is_half_full) == HAND_RING_RECORDS / 2);
  assert_true(is_half_full);
  drain(false);
  assert_true(collect_waiting(now.session, &is_half_full) == 0);
}

static void look(void)
{
  bool is_half_full;
  (void)collect_waiting(now.session, &is_half_full);
}

static void put_spans(uint32_t site, uint32_t count)
{
  static uint32_t id;
  for (uint32_t i = 0; i < count; i++, id++)
    hand_span(&now.hand, site, id + 1, 1000 + id, 1);
}

// A ring of 256 slots whose owner needs half of them: up to 32 records wait, a quarter of 128.
static void test_quiet(void **state)
{
  uint32_t site = hand_site(&now.hand, XSP_LEVEL_LAYER, "convolution", NULL);
  struct ring_head *ring = now.hand.ring;
  now.hand.session->memory = ring_bytes(256);
  ring->producer.limit = 1000;
  look();
  put_spans(site, 33);
  look();
  assert_int_equal(ring->keep_records, 0);
  drain(false);
  OK(collect_commit(now.session, now.store, err));
  look(); // still of the time in which 33 waited
  assert_int_equal(ring->keep_records, 0);
  put_spans(site, 32);
  look();
  assert_int_equal(ring->keep_records, 128);
  assert_int_equal(ring->producer.limit, 1000); // as long as records wait there is no hurry
  drain(false);
  OK(collect_commit(now.session, now.store, err));
  look();
  assert_int_equal(ring->producer.limit, 65);
  // Without an owner, when all is collected.
  ring->owner_tid = 0;
  put_spans(site, 1);
  look();
  assert_int_equal(ring->size_count, 1);
  drain(false);
  OK(collect_commit(now.session, now.store, err));
  look();
  assert_int_equal(ring->size_count, 2);
  assert_true(ring->size[1].end == 66 && ring->size[1].first == 66 && ring->size[1].records == 128);
  assert_int_equal(ring->producer.mask, 127);
  assert_int_equal(ring->backed, 128);
  assert_int_equal(ring->owner_tid, 0);
  assert_int_equal(ring->keep_records, 0);
  assert_int_equal(now.hand.session->memory, ring_bytes(128));
}

// In the time that bursts may be apart nothing is asked.
static void test_not_quiet_for_long_enough(void **state)
{
  for (int i = 0; i < 10; i++)
    look();
  assert_int_equal(now.hand.ring->keep_records, 0);
  now.hand.ring->owner_tid = 0;
  look();
  assert_int_equal(now.hand.ring->size_count, 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_on_the_programs_own_track, setup, teardown),
      cmocka_unit_test_setup_teardown(test_before_the_drain, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_program_that_never_joined, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_step_is_a_mark_and_no_tag, setup, teardown),
      cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_processes_that_only_arrived, setup, teardown),
      cmocka_unit_test_setup_teardown(test_waiting, setup, teardown),
      cmocka_unit_test_setup_teardown(test_quiet, setup_quiet, teardown),
      cmocka_unit_test_setup_teardown(test_not_quiet_for_long_enough, setup_minute, teardown),
  };
  return cmocka_run_group_tests_name("outside", tests, NULL, NULL);
}
