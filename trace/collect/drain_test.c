// SPDX-License-Identifier: Apache-2.0
// Draining into a real store: rows, tracks, tags, correlation; what is given back when; drops, torn slots, overwriting.
#include "collect/collect.h"

#include "format/session_clock.h"
#include "tests/collect/hand_writer.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/expect.h" // needs cmocka.h, which hand_writer.h brings

#define RUN 3

struct fixture {
  char folder[64];
  char path[128];
  struct collect_session *session;
  struct store *store;
  struct hand hand;
  struct arena arena;
  uint32_t site;
};
static struct fixture now;

static void start(bool flight_recorder)
{
  struct error err = {0};
  memset(&now, 0, sizeof now);
  snprintf(now.folder, sizeof now.folder, "/tmp/xsp-drain-test-XXXXXX");
  assert_non_null(mkdtemp(now.folder));
  snprintf(now.path, sizeof now.path, "%s/out.xsp", now.folder);
  // Ticks in nanoseconds: the tests know what comes out.
  assert_int_equal(setenv("XSP_CLOCK", "monotonic", 1), 0);
  const struct collect_options options = {
      .level_mask = XSP_LEVEL_MASK_ALL, .ring_records = HAND_RING_RECORDS, .flight_recorder = flight_recorder};
  ok(collect_create(&options, &now.session, &err), &err);
  hand_join(&now.hand, collect_directory(now.session));
  now.site = hand_site(&now.hand, XSP_LEVEL_LAYER, "convolution", "op");
  ok(store_create(now.path, false, &now.store, &err), &err);
}

static int setup(void **state)
{
  start(false);
  return 0;
}

static int setup_flight(void **state)
{
  start(true);
  return 0;
}

static int teardown(void **state)
{
  hand_leave(&now.hand);
  collect_close(now.session, true);
  store_discard(now.store);
  arena_done(&now.arena);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", now.folder);
  return system(command);
}

static uint64_t ticks(void)
{
  return session_clock_read(SESSION_TICKS_MONOTONIC).ticks;
}

static void drain(bool is_final)
{
  struct error err = {0};
  ok((is_final ? collect_drain_final : collect_drain)(now.session, now.store, RUN, &err), &err);
}

static void commit(void)
{
  struct error err = {0};
  ok(collect_commit(now.session, now.store, &err), &err);
}

static struct store_spans spans(void)
{
  struct error err = {0};
  struct store_spans loaded = {0};
  ok(store_commit(now.store, &err), &err);
  ok(store_load_spans(now.store, RUN, STORE_ALL_BASE, &now.arena, &loaded, &err), &err);
  return loaded;
}

static size_t tags(struct store_tag **ret_tags)
{
  struct error err = {0};
  size_t count = 0;
  ok(store_load_tags(now.store, RUN, &now.arena, ret_tags, &count, &err), &err);
  return count;
}

static const char *text(uint32_t id)
{
  size_t length = 0;
  return store_text(now.store, id, &length);
}

static void cut(const char *name)
{
  char path[512];
  snprintf(path, sizeof path, "%s/%s", collect_directory(now.session), name);
  assert_int_equal(truncate(path, 0), 0);
}

// A traced process may cut its files at any time: no SIGBUS, and what was read before is kept.
static void test_files_cut_while_read(void **state)
{
  start(false); // here, because cmocka sets handlers of its own around fixtures
  assert_true(hand_span(&now.hand, now.site, 1, ticks(), 1));
  drain(false);
  commit();
  assert_true(hand_span(&now.hand, now.site, 2, ticks(), 1));
  cut("ring-1");
  cut("process-1");
  cut("catalog");
  cut("session");
  drain(false);
  commit();
  drain(true);
  struct collect_counts counts;
  collect_counts(now.session, &counts);
  assert_int_equal(counts.spans, 1);
  assert_int_equal(spans().count, 1);
  assert_non_null(strstr(collect_messages(now.session, &now.arena), "cut short while it was read"));
}

// Numbers that were taken and never became files do not hide the files behind them.
static void test_numbers_without_files(void **state)
{
  char from[512], to[512];
  snprintf(from, sizeof from, "%s/ring-1", collect_directory(now.session));
  snprintf(to, sizeof to, "%s/ring-900", collect_directory(now.session));
  assert_int_equal(rename(from, to), 0);
  now.hand.ring->number = 900;
  now.hand.session->next_ring = 1000;
  assert_true(hand_span(&now.hand, now.site, 1, ticks(), 1));
  for (int i = 0; i < 6; i++)
    drain(false);
  struct collect_counts counts;
  collect_counts(now.session, &counts);
  assert_int_equal(counts.spans, 1);
}

static void check_path(uint32_t context_id, const char *expected) // from the innermost frame
{
  struct store_call_paths paths;
  char text[256] = "";
  OK(store_call_paths(now.store, &now.arena, &paths, err));
  for (int64_t id = context_id; id != 0; id = paths.contexts[id - 1].parent_id) {
    const struct store_frame *frame = &paths.frames[paths.contexts[id - 1].frame_id - 1];
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "%s:%d ", frame->name, (int)frame->line);
  }
  assert_string_equal(text, expected);
}

static void test_call_paths(void **state)
{
  uint32_t program = hand_path(&now.hand, 0, "program", 1), forward = hand_path(&now.hand, program, "forward", 2);
  uint32_t again = hand_path(&now.hand, program, "forward", 2); // of another process: the same path
  uint32_t circle = hand_path(&now.hand, UINT32_MAX, "circle", 3), inside = hand_path(&now.hand, circle, "inside", 4);
  uint32_t plain = hand_site(&now.hand, XSP_LEVEL_LAYER, "plain", NULL);
  ((struct catalog_site *)(void *)(now.hand.catalog + (size_t)now.site * 8))->path = forward;
  hand_span(&now.hand, now.site, 1, ticks(), 1);
  hand_span(&now.hand, plain, 2, ticks(), 1);
  hand_fact(&now.hand, RECORD_PATH, 3, 0, again);
  hand_span(&now.hand, plain, 3, ticks(), 1);
  hand_fact(&now.hand, RECORD_PATH, 4, 0, program); // before its site's
  hand_span(&now.hand, now.site, 4, ticks(), 1);
  hand_fact(&now.hand, RECORD_PATH, 5, 0, inside);
  hand_span(&now.hand, plain, 5, ticks(), 1);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, 5);
  check_path(got.context_id[0], "forward:2 program:1 ");
  assert_int_equal(got.context_id[1], 0);
  assert_int_equal(got.context_id[2], got.context_id[0]);
  check_path(got.context_id[3], "program:1 ");
  assert_int_equal(got.context_id[4], 0); // broken: none
}

static void test_rows(void **state)
{
  uint64_t begin = ticks();
  uint32_t key = hand_string(&now.hand, "answer");
  hand_site_tag(&now.hand, now.site, "layer_index", 5);
  hand_site_tag(&now.hand, now.site, "alloc_bytes", 64);
  hand_fact(&now.hand, RECORD_TAG_INT, 1, key, 42);
  hand_span(&now.hand, now.site, 2, begin + 100, 50);
  hand_fact(&now.hand, RECORD_PARENT, 3, 0, UINT64_C(1) << 32 | 1);
  hand_span(&now.hand, now.site, 3, begin + 200, 60);
  hand_span(&now.hand, now.site, 1, begin, 300);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, 3);
  assert_int_equal(got.span_id[0], INT64_C(1) << 32 | 2);
  assert_int_equal(got.start_ns[0] - got.start_ns[2], 100);
  assert_int_equal(got.duration_ns[0], 50);
  assert_int_equal(got.duration_ns[2], 300);
  assert_int_equal(got.recorded_parent_id[1], got.span_id[2]);
  assert_int_equal(got.recorded_parent_id[0], 0);
  assert_string_equal(text(got.name[0]), "convolution");
  assert_string_equal(text(got.category[0]), "op");
  assert_string_equal(text(got.tracer[0]), "app");
  assert_int_equal(got.level[0], XSP_LEVEL_LAYER);
  struct session_calibration reading = session_clock_read(SESSION_TICKS_MONOTONIC);
  int64_t wall = (int64_t)begin + reading.realtime_ns - reading.monotonic_ns;
  assert_true(llabs(got.start_ns[2] - wall) < 1000000);
  struct store_tag *tag;
  assert_int_equal(tags(&tag), 7); // two from the site for each span, one of its own
  assert_string_equal(text(tag[0].key), "layer_index");
  assert_int_equal(tag[0].value.integer, 5);
  assert_string_equal(text(tag[1].key), "alloc_bytes");
  assert_string_equal(text(tag[6].key), "answer");
  assert_int_equal(tag[6].value.integer, 42);
  assert_int_equal(tag[6].span_id, got.span_id[2]);
  struct store_track *track;
  size_t count;
  struct error err = {0};
  ok(store_tracks(now.store, RUN, &now.arena, &track, &count, &err), &err);
  assert_int_equal(count, 1);
  assert_int_equal(track->process_id, 1000);
  assert_int_equal(track->thread_id, 1001);
  assert_string_equal(track->name, "program 1001");
  assert_int_equal(got.track_id[0], track->track_id);
}

static void test_correlation_is_unique_per_process(void **state)
{
  uint64_t begin = ticks();
  struct record correlation = {.type = RECORD_CORRELATION, .id = 1, .start = 77, .kind_clock = XSP_KIND_EXECUTION};
  hand_put(&now.hand, correlation);
  hand_span(&now.hand, now.site, 1, begin, 10);
  // Another process takes the ring's place with the same recorded number.
  hand_put(&now.hand, (struct record){.type = RECORD_THREAD, .start = 2001, .duration = 9});
  correlation.id = 2;
  hand_put(&now.hand, correlation);
  hand_span(&now.hand, now.site, 2, begin + 20, 10);
  correlation.id = 3;
  correlation.start = UINT64_MAX;
  hand_put(&now.hand, correlation);
  hand_span(&now.hand, now.site, 3, begin + 40, 10);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, 3);
  assert_int_equal(got.kind[0], XSP_KIND_EXECUTION);
  assert_true(got.correlation_id[0] > 0 && got.correlation_id[1] > 0 && got.correlation_id[2] > 0);
  assert_true(got.correlation_id[0] != got.correlation_id[1]);
  assert_true(got.track_id[0] != got.track_id[1]);
  struct store_tag *tag;
  assert_int_equal(tags(&tag), 3);
  assert_string_equal(text(tag[0].key), "recorded_correlation");
  assert_int_equal(tag[0].value.integer, 77);
  assert_int_equal(tag[1].value.integer, 77);
  assert_int_equal(tag[2].type, STORE_TEXT);
  assert_string_equal(text(tag[2].value.string), "18446744073709551615");
}

static void test_foreign_clock_keeps_its_times(void **state)
{
  struct catalog_track track = {.entry = {0, CATALOG_TRACK}, .device_id = 2, .stream_id = -1};
  track.name = hand_string(&now.hand, "simulated core");
  track.clock = hand_string(&now.hand, "cycles");
  now.hand.process->track[0] = hand_entry(&now.hand, &track, sizeof track, NULL);
  now.hand.process->track_count = 1;
  struct record span = {.type = RECORD_SPAN, .site = now.site, .id = 1, .start = 1000, .duration = 7, .track = 1};
  span.kind_clock = XSP_CLOCK_FOREIGN << 4;
  hand_put(&now.hand, span);
  span.id = 2;
  span.track = 0; // a foreign time without a foreign track
  hand_put(&now.hand, span);
  hand_span(&now.hand, now.site, 3, ticks(), 0);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, 2);
  assert_int_equal(got.start_ns[0], 1000);
  assert_int_equal(got.duration_ns[0], 7);
  struct store_track *tracks;
  size_t count;
  struct error err = {0};
  ok(store_tracks(now.store, RUN, &now.arena, &tracks, &count, &err), &err);
  assert_int_equal(count, 2);
  assert_string_equal(tracks[0].clock, "cycles");
  assert_string_equal(tracks[0].name, "simulated core");
  assert_int_equal(tracks[0].device_id, 2);
  assert_int_equal(tracks[0].stream_id, STORE_NONE);
  assert_null(tracks[1].clock);
  struct collect_counts counts;
  collect_counts(now.session, &counts);
  assert_int_equal(counts.misused, 1);
}

// Spans on a track that stands for a thread are on that thread's own track, whoever published them.
static void test_tracks_of_threads(void **state)
{
  uint64_t begin = ticks(), thread = now.hand.ring->owner_tid;
  const uint32_t of[] = {(uint32_t)thread, 4711};
  for (unsigned i = 0; i < 2; i++) {
    struct catalog_track track = {.entry = {0, CATALOG_TRACK}, .device_id = -1, .stream_id = -1, .thread_id = of[i]};
    now.hand.process->track[i] = hand_entry(&now.hand, &track, sizeof track, NULL);
    now.hand.process->track_count++;
    struct record span = {
        .type = RECORD_SPAN, .site = now.site, .id = i + 1, .start = begin, .track = (uint16_t)(i + 1)};
    hand_put(&now.hand, span);
  }
  hand_span(&now.hand, now.site, 3, begin, 1);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, 3);
  assert_int_equal(got.track_id[0], got.track_id[2]);
  struct store_track *tracks;
  size_t count;
  struct error err = {0};
  ok(store_tracks(now.store, RUN, &now.arena, &tracks, &count, &err), &err);
  assert_int_equal(count, 2);
  assert_int_equal(tracks[0].thread_id, thread);
  assert_int_equal(tracks[1].thread_id, 4711);
  assert_int_equal(tracks[1].track_id, got.track_id[1]);
  assert_int_equal(tracks[1].device_id, STORE_NONE);
}

static void test_space_comes_back_with_a_commit(void **state)
{
  struct ring_head *ring = now.hand.ring;
  uint64_t begin = ticks();
  for (uint32_t i = 0; i < 10; i++)
    assert_true(hand_span(&now.hand, now.site, i + 1, begin + i, 1));
  drain(false);
  assert_int_equal(ring->tail, 0);
  commit();
  assert_int_equal(ring->tail, 10);
  assert_int_equal(ring->stored, 10);
  assert_int_equal(ring->highest_id, 10);
  // More than half a ring uncommitted: the drain commits by itself.
  for (uint32_t i = 0; i < HAND_RING_RECORDS / 2 + 1; i++)
    assert_true(hand_span(&now.hand, now.site, i + 11, begin + i, 1));
  drain(false);
  assert_int_equal(ring->tail, 10 + HAND_RING_RECORDS / 2 + 1);
}

static void test_drops_are_counted_exactly(void **state)
{
  uint32_t written = 0;
  uint64_t begin = ticks();
  for (uint32_t i = 0; i < 1000; i++)
    written += hand_span(&now.hand, now.site, i + 1, begin + i, 1);
  assert_int_equal(written, HAND_RING_RECORDS - RING_MARGIN);
  drain(true);
  struct collect_counts counts;
  collect_counts(now.session, &counts);
  assert_int_equal(counts.spans, written);
  assert_int_equal(counts.dropped, 1000 - written);
  assert_int_equal(spans().count, written);
}

static void test_a_live_drain_stops_where_the_writer_is(void **state)
{
  struct ring_producer *producer = &now.hand.ring->producer;
  uint64_t begin = ticks();
  hand_span(&now.hand, now.site, 1, begin, 1);
  uint64_t gap = producer->head++; // handed out: a writer that a signal handler interrupted
  hand_span(&now.hand, now.site, 3, begin + 2, 1);
  producer->open[0] = (struct open_span){begin + 5, now.site, 4};
  drain(false);
  assert_int_equal(spans().count, 1);
  struct record *records = (void *)((char *)now.hand.ring + RING_HEAD_SIZE);
  records[gap] = (struct record){
      .type = RECORD_SPAN, .site = now.site, .id = 2, .start = begin + 1, .duration = 1, .commit = (uint32_t)gap + 1};
  drain(false);
  assert_int_equal(spans().count, 3);
  producer->head++;
  hand_span(&now.hand, now.site, 6, begin + 9, 1);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, 5);
  assert_int_equal(got.flags[4], STORE_SPAN_OPEN);
  assert_int_equal(got.span_id[4], INT64_C(1) << 32 | 4);
  drain(true); // nothing twice
  assert_int_equal(spans().count, 5);
  struct collect_counts counts;
  collect_counts(now.session, &counts);
  assert_int_equal(counts.torn, 1);
  assert_int_equal(counts.open, 1);
}

static void test_what_is_later_than_the_clock_waits(void **state)
{
  uint64_t later = ticks() + 3600 * UINT64_C(1000000000) / 1000; // 3.6 s ahead
  hand_span(&now.hand, now.site, 1, later, 1);
  drain(false);
  assert_int_equal(spans().count, 0);
  drain(true);
  assert_int_equal(spans().count, 1);
}

static void test_flight_recorder_keeps_the_last(void **state)
{
  uint64_t begin = ticks();
  for (uint32_t i = 0; i < 1000; i++)
    assert_true(hand_span(&now.hand, now.site, i + 1, begin + i, 1));
  drain(false);
  assert_int_equal(spans().count, 0);
  drain(true);
  struct store_spans got = spans();
  assert_int_equal(got.count, HAND_RING_RECORDS);
  assert_int_equal(got.span_id[0], INT64_C(1) << 32 | (1000 - HAND_RING_RECORDS + 1));
  assert_int_equal(got.span_id[HAND_RING_RECORDS - 1], INT64_C(1) << 32 | 1000);
  struct collect_counts counts;
  collect_counts(now.session, &counts);
  assert_int_equal(counts.overwritten, 1000 - HAND_RING_RECORDS);
  assert_int_equal(counts.dropped, 0);
}

static void test_broken_files_are_named_not_fatal(void **state)
{
  struct ring_head *bad = hand_map(now.hand.directory, "ring-2", HAND_RING_BYTES, HAND_RING_BYTES);
  *bad = (struct ring_head){.magic = RING_MAGIC, .version = SESSION_VERSION, .head_size = sizeof *bad, .number = 2};
  ring_set_size(bad, 0, 0, 1 << 20); // more than the file holds
  now.hand.session->next_ring = 4;
  now.hand.session->next_process = UINT32_MAX;
  char path[4096];
  snprintf(path, sizeof path, "%s/ring-3", now.hand.directory);
  assert_int_equal(mkfifo(path, 0600), 0);
  hand_span(&now.hand, 12345, 1, ticks(), 1);                                               // no such site
  hand_put(&now.hand, (struct record){.type = RECORD_THREAD, .start = 5, .duration = 777}); // no such process
  hand_span(&now.hand, now.site, 2, ticks(), 1);
  drain(true);
  assert_int_equal(spans().count, 1);
  assert_true(strstr(collect_messages(now.session, &now.arena), "ring-2: the ring is shorter than it says") != NULL);
  struct collect_counts counts;
  collect_counts(now.session, &counts);
  assert_int_equal(counts.malformed, 1);
  munmap(bad, HAND_RING_BYTES);
}

static void test_equal_intervals_lie_outermost_first(void **state)
{
  uint64_t begin = ticks();
  hand_span(&now.hand, now.site, 3, begin, 10);
  hand_span(&now.hand, now.site, 2, begin, 10);
  hand_span(&now.hand, now.site, 1, begin, 10);
  hand_span(&now.hand, now.site, 4, begin, 10); // emitted afterwards
  drain(true);
  struct store_spans got = spans();
  for (int64_t i = 0; i < 4; i++)
    assert_int_equal(got.span_id[i], (INT64_C(1) << 32) + i + 1);
}

// The file system refuses what the drain stores: an error, nothing is given back, and a successor finds everything.
static void test_disk_full(void **state)
{
  struct error err = {0};
  struct rlimit old, small;
  uint64_t begin = ticks();
  for (uint32_t i = 0; i < 100; i++)
    hand_span(&now.hand, now.site, i + 1, begin + i * 1237, i * i);
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 8192; // the file is larger already
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  enum status status = collect_drain(now.session, now.store, RUN, &err);
  if (status == STATUS_OK)
    status = collect_commit(now.session, now.store, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_int_equal(status, STATUS_SYSTEM);
  assert_int_equal(now.hand.ring->tail, 0);
  assert_int_equal(now.hand.ring->stored, 0);
  char directory[512];
  snprintf(directory, sizeof directory, "%s", collect_directory(now.session));
  collect_close(now.session, false);
  store_discard(now.store);
  ok(store_create(now.path, false, &now.store, &err), &err);
  ok(collect_adopt(directory, &now.session, &err), &err);
  drain(true);
  assert_int_equal(spans().count, 100);
}

static void test_a_session_that_finds_no_room(void **state)
{
  struct error err = {0};
  struct rlimit old, small;
  struct collect_session *session = NULL;
  char directory[128];
  snprintf(directory, sizeof directory, "%s/session", now.folder);
  const struct collect_options options = {.directory = directory, .level_mask = 1};
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 4096;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  enum status status = collect_create(&options, &session, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_int_equal(status, STATUS_SYSTEM);
  assert_null(session);
  assert_int_not_equal(access(directory, F_OK), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
      cmocka_unit_test_setup_teardown(test_call_paths, setup, teardown),
      cmocka_unit_test_teardown(test_files_cut_while_read, teardown),
      cmocka_unit_test_setup_teardown(test_numbers_without_files, setup, teardown),
      cmocka_unit_test_setup_teardown(test_correlation_is_unique_per_process, setup, teardown),
      cmocka_unit_test_setup_teardown(test_foreign_clock_keeps_its_times, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tracks_of_threads, setup, teardown),
      cmocka_unit_test_setup_teardown(test_space_comes_back_with_a_commit, setup, teardown),
      cmocka_unit_test_setup_teardown(test_drops_are_counted_exactly, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_live_drain_stops_where_the_writer_is, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_is_later_than_the_clock_waits, setup, teardown),
      cmocka_unit_test_setup_teardown(test_flight_recorder_keeps_the_last, setup_flight, teardown),
      cmocka_unit_test_setup_teardown(test_broken_files_are_named_not_fatal, setup, teardown),
      cmocka_unit_test_setup_teardown(test_equal_intervals_lie_outermost_first, setup, teardown),
      cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_session_that_finds_no_room, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
