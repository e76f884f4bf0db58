// SPDX-License-Identifier: Apache-2.0
// Writes files and reads them back: every column, every value type, several runs, parts that grow over commits.
#include "store/store.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/expect.h"

static char folder[] = "/tmp/xsp-store-test-XXXXXX";
static char path[64], partial[80];

static int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/out.xsp", folder);
  snprintf(partial, sizeof partial, "%s.partial", path);
  return 0;
}

static int clear_folder(void **state)
{
  (void)state;
  unlink(path);
  unlink(partial);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  clear_folder(NULL);
  return rmdir(folder); // fails where a test left something behind
}

static struct store_span make_span(struct store *store, size_t i)
{
  char name[32];
  int length = snprintf(name, sizeof name, "name %zu", i % 17);
  return (struct store_span){
      .span_id = (int64_t)i + 1,
      .recorded_parent_id = i % 3 == 0 ? 0 : (int64_t)(i / 2) + 1,
      .start_ns = INT64_C(1700000000000000000) + (int64_t)i * 977,
      .duration_ns = (int64_t)(i * 7919 % 10007),
      .correlation_id = i % 5 == 0 ? (int64_t)i : 0,
      .trace_id = i % 2,
      .track_id = (uint32_t)(i % 4 + 1),
      .name = store_string(store, name, (size_t)length),
      .category = i % 2 ? store_string(store, "kernel", 6) : 0,
      .tracer = store_string(store, "app", 3),
      .level = (uint8_t)(i % XSP_LEVEL_COUNT),
      .kind = (uint8_t)(i % 3),
      .flags = i % 11 == 0 ? STORE_SPAN_OPEN : 0,
  };
}

static void check_spans(struct store *store, int64_t run_id, size_t count)
{
  struct arena arena = {0};
  struct store_spans spans;
  OK(store_load_spans(store, run_id, STORE_ALL_BASE, &arena, &spans, err));
  assert_int_equal(spans.count, count);
  for (size_t i = 0; i < count; i++) {
    size_t length;
    char name[32];
    snprintf(name, sizeof name, "name %zu", i % 17);
    assert_int_equal(spans.span_id[i], i + 1);
    assert_int_equal(spans.recorded_parent_id[i], i % 3 == 0 ? 0 : i / 2 + 1);
    assert_int_equal(spans.start_ns[i], INT64_C(1700000000000000000) + (int64_t)i * 977);
    assert_int_equal(spans.duration_ns[i], i * 7919 % 10007);
    assert_int_equal(spans.correlation_id[i], i % 5 == 0 ? i : 0);
    assert_int_equal(spans.trace_id[i], i % 2);
    assert_int_equal(spans.track_id[i], i % 4 + 1);
    assert_string_equal(store_text(store, spans.name[i], &length), name);
    assert_int_equal(length, strlen(name));
    assert_string_equal(store_text(store, spans.category[i], NULL), i % 2 ? "kernel" : "");
    assert_string_equal(store_text(store, spans.tracer[i], NULL), "app");
    assert_int_equal(spans.level[i], i % XSP_LEVEL_COUNT);
    assert_int_equal(spans.kind[i], i % 3);
    assert_int_equal(spans.flags[i], i % 11 == 0);
  }
  arena_done(&arena);
}

static void add_spans(struct store *store, int64_t run_id, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++) {
    struct store_span span = make_span(store, i);
    OK(store_add_spans(store, run_id, &span, 1, err));
  }
}

static void test_spans_survive_commits_and_finish(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, false, &store, err));
  size_t steps[] = {1, 300, 65535, 65536, 65537, 140000};
  size_t at = 0;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    add_spans(store, 1, at, steps[i]);
    add_spans(store, 2, at / 2, steps[i] / 2);
    at = steps[i];
    OK(store_commit(store, err));
    check_spans(store, 1, at);
    struct store *other; // the file as somebody else sees it now
    OK(store_open(partial, &other, err));
    check_spans(other, 1, at);
    check_spans(other, 2, at / 2);
    store_close(other);
  }
  assert_int_equal(access(path, F_OK), -1);
  OK(store_finish(store, err));
  assert_int_equal(access(partial, F_OK), -1);
  check_spans(store, 1, at);
  store_close(store);
  OK(store_open(path, &store, err));
  assert_int_equal(store_format_version(store), STORE_FORMAT_VERSION);
  check_spans(store, 1, at);
  check_spans(store, 2, at / 2);
  check_spans(store, 3, 0);
  store_close(store);
}

// The lock under which SQLite reads on is still there for others: closing any descriptor of a file gives back its process's locks.
static void test_a_finished_file_is_locked(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, false, &store, err));
  add_spans(store, 1, 0, 10);
  OK(store_finish(store, err));
  pid_t child = fork();
  if (child == 0) {
    struct flock lock = {.l_type = F_WRLCK};
    int file = open(path, O_RDWR);
    bool is_written = flock(file, LOCK_SH | LOCK_NB) != 0; // no longer: readers and a later writer may have it
    _exit(fcntl(file, F_GETLK, &lock) != 0 || is_written ? 2 : lock.l_type == F_UNLCK);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  check_spans(store, 1, 10);
  store_discard(store); // its file is finished
  assert_int_equal(access(path, F_OK), 0);
}

static void test_extreme_integers_survive(void **state)
{
  (void)state;
  const int64_t values[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MIN + 1, INT64_MAX - 1, INT64_C(1) << 53};
  enum { COUNT = sizeof values / sizeof values[0] };
  struct store *store;
  OK(store_create(path, false, &store, err));
  for (size_t i = 0; i < COUNT; i++) {
    struct store_span span = {.span_id = i == 0 ? INT64_MAX : (int64_t)i,
                              .recorded_parent_id = values[i],
                              .start_ns = values[i],
                              .duration_ns = values[COUNT - 1 - i],
                              .correlation_id = values[i],
                              .trace_id = UINT32_MAX,
                              .track_id = UINT32_MAX};
    OK(store_add_spans(store, -5, &span, 1, err));
  }
  OK(store_finish(store, err));
  store_close(store);
  OK(store_open(path, &store, err));
  struct arena arena = {0};
  struct store_spans spans;
  OK(store_load_spans(store, -5, STORE_ALL_BASE, &arena, &spans, err));
  assert_int_equal(spans.count, COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    assert_int_equal(spans.span_id[i], i == 0 ? INT64_MAX : (int64_t)i);
    assert_int_equal(spans.recorded_parent_id[i], values[i]);
    assert_int_equal(spans.start_ns[i], values[i]);
    assert_int_equal(spans.duration_ns[i], values[COUNT - 1 - i]);
    assert_int_equal(spans.correlation_id[i], values[i]);
    assert_int_equal(spans.track_id[i], UINT32_MAX);
  }
  arena_done(&arena);
  store_close(store);
}

// Parts with and without the keys, and more of them than one.
struct walked {
  struct store *store;
  int64_t *span_ids;
  size_t count, most; // most: in a part
};

static enum status take_tags(void *context, const struct store_tag *tags, size_t count, struct error *err)
{
  struct walked *walked = context;
  (void)err;
  for (size_t i = 0; i < count; i++)
    walked->span_ids[walked->count++] = tags[i].span_id;
  walked->most = count > walked->most ? count : walked->most;
  return tags[0].span_id < 2 * (int64_t)STORE_CHUNK_ROWS ? STATUS_OK : STATUS_NO;
}

static void test_tags_of_some_keys_come_alone_and_in_order(void **state)
{
  (void)state;
  enum { COUNT = 3 * STORE_CHUNK_ROWS + 100 };
  struct store *store;
  uint32_t key[5];
  OK(store_create(path, false, &store, err));
  for (size_t i = 0; i < 5; i++)
    key[i] = store_string(store, &"abcde"[i], 1);
  for (int64_t i = 0; i < COUNT; i++) {
    size_t which = i >= STORE_CHUNK_ROWS && i < 2 * STORE_CHUNK_ROWS ? 4 : (size_t)(i % 4);
    struct store_tag tag = {.span_id = i, .key = key[which], .type = STORE_INT, .value.integer = i * 3};
    OK(store_add_tags(store, 1, &tag, 1, err));
  }
  const uint32_t wanted[] = {key[3], 0, key[1], key[1]};
  struct arena arena = {0};
  struct store_tag *tags;
  size_t count;
  for (int pass = 0; pass < 2; pass++) { // written, then read again
    OK(store_load_tags_of(store, 1, wanted, 4, &arena, &tags, &count, err));
    assert_int_equal(count, (COUNT - STORE_CHUNK_ROWS) / 2);
    for (size_t i = 0; i < count; i++) {
      int64_t at = 2 * (int64_t)i + 1;
      at += at >= STORE_CHUNK_ROWS ? STORE_CHUNK_ROWS : 0;
      assert_int_equal(tags[i].span_id, at);
      assert_int_equal(tags[i].key, key[at % 4]);
      assert_int_equal(tags[i].value.integer, at * 3);
    }
    struct walked walked = {NULL, arena_alloc_array(&arena, count, sizeof(int64_t)), 0, 0};
    assert_int_equal(store_walk_tags_of(store, 1, wanted, 4, take_tags, &walked, NULL), STATUS_NO); // at the third part
    assert_int_equal(walked.count, STORE_CHUNK_ROWS);
    assert_int_equal(walked.most, STORE_CHUNK_ROWS / 2);
    for (size_t i = 0; i < walked.count; i++)
      assert_int_equal(walked.span_ids[i], tags[i].span_id);
    OK(store_load_tags_of(store, 1, &key[4], 1, &arena, &tags, &count, err));
    assert_int_equal(count, STORE_CHUNK_ROWS);
    OK(store_load_tags_of(store, 2, &key[4], 1, &arena, &tags, &count, err));
    assert_int_equal(count, 0);
    if (pass == 0)
      OK(store_finish(store, err));
  }
  arena_done(&arena);
  store_close(store);
}

static enum status load_between(void *context, size_t first_row, const struct store_spans *spans,
                                const struct store_derived *derived, struct error *err_)
{
  struct walked *walked = context;
  struct arena arena = {0};
  struct store_tag *tags;
  size_t count;
  const int64_t least = spans->span_id[0], most = spans->span_id[spans->count - 1];
  OK(store_load_tags_between(walked->store, 1, least, most, &arena, &tags, &count, err_));
  assert_int_equal(count, 2 * spans->count + (first_row == 0)); // the late one
  for (size_t i = 0; i < 2 * spans->count; i++)
    assert_int_equal(tags[i].span_id, least + (int64_t)i / 2);
  walked->count += count;
  arena_done(&arena);
  return STATUS_OK;
}

// Their parts begin and end elsewhere than those of spans do.
static void test_tags_come_with_the_spans_that_are_walked(void **state)
{
  enum { COUNT = 2 * STORE_CHUNK_ROWS + 100 };
  struct store *store;
  struct store_run run = {.run_id = 1};
  OK(store_create(path, false, &store, err));
  OK(store_add_run(store, &run, err));
  uint32_t key = store_string(store, "a", 1);
  for (int64_t i = 1; i <= COUNT; i++) {
    const struct store_span span = {.span_id = i, .name = key};
    const struct store_tag tags[] = {{.span_id = i, .key = key, .type = STORE_INT, .value.integer = i},
                                     {.span_id = i, .key = key, .type = STORE_INT, .value.integer = -i}};
    OK(store_add_spans(store, 1, &span, 1, err));
    OK(store_add_tags(store, 1, tags, 2, err));
  }
  const struct store_tag late = {.span_id = 1, .key = key, .type = STORE_INT};
  OK(store_add_tags(store, 1, &late, 1, err));
  OK(store_finish(store, err));
  struct walked walked = {.store = store};
  OK(store_walk_spans(store, 1, STORE_BIT(STORE_SPAN_ID), load_between, &walked, err));
  assert_int_equal(walked.count, 2 * COUNT + 1);
  store_close(store);
}

static void test_tags_keep_type_and_bits(void **state)
{
  (void)state;
  uint64_t odd_bits = UINT64_C(0x7ff8dead0000beef); // a NaN with a payload
  double odd;
  memcpy(&odd, &odd_bits, sizeof odd);
  const double doubles[] = {0.1, -0.0, 5e-324, 1.7976931348623157e308, (double)INFINITY, odd};
  struct store *store;
  OK(store_create(path, false, &store, err));
  uint32_t key = store_string(store, "key", 3);
  uint32_t text = store_string(store, "a\0b\xff", 4); // any bytes
  struct store_tag tags[9] = {{.span_id = 1, .key = key, .type = STORE_INT, .value.integer = INT64_MIN},
                              {.span_id = 1, .key = key, .type = STORE_TEXT, .value.string = text},
                              {.span_id = INT64_MAX, .key = key, .type = STORE_TEXT, .value.string = 0}};
  for (size_t i = 0; i < 6; i++)
    tags[3 + i] = (struct store_tag){.span_id = 2, .key = key, .type = STORE_DOUBLE, .value.real = doubles[i]};
  OK(store_add_tags(store, 1, tags, 9, err));
  OK(store_finish(store, err));
  store_close(store);
  OK(store_open(path, &store, err));
  struct arena arena = {0};
  struct store_tag *back;
  size_t count, length;
  OK(store_load_tags(store, 1, &arena, &back, &count, err));
  assert_int_equal(count, 9);
  assert_string_equal(store_text(store, back[0].key, NULL), "key");
  assert_int_equal(back[0].value.integer, INT64_MIN);
  assert_int_equal(back[1].type, STORE_TEXT);
  assert_memory_equal(store_text(store, back[1].value.string, &length), "a\0b\xff", 4);
  assert_int_equal(length, 4);
  assert_int_equal(back[2].value.string, 0);
  assert_int_equal(back[2].span_id, INT64_MAX);
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(back[3 + i].type, STORE_DOUBLE);
    assert_memory_equal(&back[3 + i].value.real, &doubles[i], sizeof(double));
  }
  uint32_t found;
  assert_true(store_find_string(store, "key", 3, &found));
  assert_int_equal(found, back[0].key);
  assert_false(store_find_string(store, "never", 5, &found));
  const uint32_t no_key[] = {0, text, UINT32_MAX};
  OK(store_load_tags_of(store, 1, no_key, 3, &arena, &back, &count, err));
  assert_int_equal(count, 0);
  arena_done(&arena);
  store_close(store);
}

static void add_plain_rows(struct store *store)
{
  struct store_system_value values[] = {{.key = "cpu", .text = "EPYC"},
                                        {.key = "peak", .number = 1.5e12, .is_number = true},
                                        {.key = "share", .number = 0.25, .is_number = true}};
  int64_t system_id;
  OK(store_add_system(store, values, 3, &system_id, err));
  struct store_experiment experiment = {.experiment_id = 4, .name = "n", .created_ns = 77, .system_id = system_id};
  OK(store_add_experiment(store, &experiment, err));
  OK(store_add_workload(store, 4, values, 2, err));
  values[1].number = 2;
  OK(store_add_workload(store, 4, values + 1, 1, err)); // replaces
  OK(store_add_evaluation(store, 4, values, 3, err));
  struct store_run run = {.run_id = 9, .experiment_id = 4, .dropped_count = 3, .layer = "innermost", .own_pct = 0.5};
  level_set_parse("M/L+metrics", 11, &run.levels);
  OK(store_add_run(store, &run, err));
  run = (struct store_run){.run_id = 10, .experiment_id = 4, .batch_size = 8, .epoch_is_unix = true, .own_pct = NAN};
  OK(store_add_run(store, &run, err));
  struct store_track track = {.run_id = 9,
                              .track_id = 1,
                              .name = "old",
                              .process_id = 0,
                              .thread_id = STORE_NONE,
                              .device_id = STORE_NONE,
                              .stream_id = -1};
  OK(store_add_track(store, &track, err));
  track.name = "new";
  track.clock = "simulator";
  track.rank = (struct store_rank){.rank = 0, .local_rank = -1, .world_size = 4};
  OK(store_add_track(store, &track, err));
  OK(store_add_log(store, 9, 5, -1, "hello", 5, err));
  OK(store_add_note(store, 0, "key", "value", err));
}

static void test_plain_tables_come_back(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, false, &store, err));
  add_plain_rows(store);
  uint32_t first, second, again;
  OK(store_add_trace(store, 9, "4bf92f3577b34da6a3ce929d0e0e4736", &first, err));
  OK(store_add_trace(store, 9, "other", &second, err));
  OK(store_add_trace(store, 9, "4bf92f3577b34da6a3ce929d0e0e4736", &again, err));
  assert_true(first >= 1 && second != first && again == first);
  OK(store_finish(store, err));
  store_close(store);
  OK(store_open(path, &store, err));
  struct arena arena = {0};
  size_t count;
  struct store_experiment *experiments;
  OK(store_experiments(store, &arena, &experiments, &count, err));
  assert_int_equal(count, 1);
  assert_string_equal(experiments[0].name, "n");
  assert_null(experiments[0].workload);
  struct store_system_value *values;
  OK(store_system(store, experiments[0].system_id, &arena, &values, &count, err));
  assert_int_equal(count, 3);
  assert_true(!values[0].is_number && values[1].is_number && values[1].number == 1.5e12 && values[2].number == 0.25);
  OK(store_workload(store, 4, &arena, &values, &count, err));
  assert_int_equal(count, 2);
  assert_string_equal(values[0].text, "EPYC");
  assert_true(values[1].is_number && values[1].number == 2);
  OK(store_evaluation(store, 4, &arena, &values, &count, err));
  assert_int_equal(count, 3);
  assert_true(values[1].is_number && values[1].number == 2 && values[2].number == 0.25);
  OK(store_workload(store, 5, &arena, &values, &count, err));
  assert_int_equal(count, 0);
  struct store_run *runs;
  OK(store_runs(store, &arena, &runs, &count, err));
  assert_int_equal(count, 2);
  assert_int_equal(runs[0].levels.mask, XSP_LEVEL_MASK(XSP_LEVEL_MODEL) | XSP_LEVEL_MASK(XSP_LEVEL_LAYER));
  assert_true(runs[0].levels.metrics && !runs[0].epoch_is_unix && runs[1].epoch_is_unix);
  assert_true(runs[0].batch_size == 0 && runs[1].batch_size == 8 && runs[0].own_pct == 0.5 && isnan(runs[1].own_pct));
  assert_string_equal(runs[0].layer, "innermost");
  struct store_track *tracks;
  OK(store_tracks(store, 9, &arena, &tracks, &count, err));
  assert_int_equal(count, 1);
  assert_string_equal(tracks[0].name, "new");
  assert_string_equal(tracks[0].clock, "simulator");
  assert_true(tracks[0].process_id == 0 && tracks[0].thread_id == STORE_NONE && tracks[0].stream_id == -1);
  assert_true(tracks[0].rank.rank == 0 && tracks[0].rank.local_rank == STORE_NONE && tracks[0].rank.world_size == 4);
  arena_done(&arena);
  store_close(store);
}

static enum status count_columns(void *context, const char *const *names, size_t count, struct error *error)
{
  (void)names;
  (void)error;
  *(size_t *)context = count;
  return STATUS_OK;
}

static enum status expect_null(void *context, const struct store_cell *cells, size_t count, struct error *error)
{
  (void)context;
  (void)error;
  for (size_t i = 0; i < count; i++)
    assert_int_equal(cells[i].type, 0);
  return STATUS_OK;
}

static void test_a_file_from_before_ranks_has_none(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, false, &store, err));
  add_plain_rows(store);
  OK(store_finish(store, err));
  store_close(store);
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  static const char *const columns[] = {"rank", "local_rank", "world_size"};
  for (size_t i = 0; i < 3; i++) {
    char sql[80];
    snprintf(sql, sizeof sql, "ALTER TABLE track DROP COLUMN %s", columns[i]);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  }
  sqlite3_close(db);
  OK(store_open(path, &store, err));
  struct arena arena = {0};
  struct store_track *tracks;
  size_t count;
  OK(store_tracks(store, 9, &arena, &tracks, &count, err));
  assert_int_equal(count, 1);
  assert_string_equal(tracks[0].name, "new");
  assert_true(tracks[0].rank.world_size == STORE_NONE && tracks[0].rank.rank == STORE_NONE);
  struct store_query_sink sink = {.context = &count, .columns = count_columns, .row = expect_null};
  OK(store_query(store, "select rank, local_rank, world_size from track", &sink, err));
  assert_int_equal(count, 3);
  arena_done(&arena);
  store_close(store);
}

static void make_derived(struct arena *arena, size_t count, struct store_derived *ret)
{
  *ret = (struct store_derived){.count = count};
  ret->parent_id = arena_alloc_array(arena, count, sizeof(int64_t));
  ret->model_id = arena_alloc_array(arena, count, sizeof(int64_t));
  ret->layer_id = arena_alloc_array(arena, count, sizeof(int64_t));
  ret->self_ns = arena_alloc_array(arena, count, sizeof(int64_t));
  ret->observation = arena_alloc_array(arena, count, sizeof(int32_t));
  ret->depth = arena_alloc_array(arena, count, sizeof(uint32_t));
  ret->basis = arena_alloc_array(arena, count, 1);
  for (size_t i = 0; i < count; i++) {
    ret->parent_id[i] = (int64_t)(i / 2);
    ret->model_id[i] = (int64_t)(i / 3);
    ret->layer_id[i] = (int64_t)(i / 4);
    ret->self_ns[i] = -(int64_t)i;
    ret->observation[i] = (int32_t)(i % 7) - 1;
    ret->depth[i] = (uint32_t)(i % 9);
    ret->basis[i] = (uint8_t)(i % BASIS_COUNT);
  }
  ret->kind = NULL;
}

static void check_derived(struct store *store, int64_t run_id, size_t count)
{
  struct arena arena = {0};
  struct store_derived expected, derived;
  make_derived(&arena, count, &expected);
  assert_true(store_has_derived(store, run_id));
  OK(store_load_derived(store, run_id, &arena, &derived, err));
  assert_int_equal(derived.count, count);
  assert_memory_equal(derived.parent_id, expected.parent_id, count * 8);
  assert_memory_equal(derived.model_id, expected.model_id, count * 8);
  assert_memory_equal(derived.layer_id, expected.layer_id, count * 8);
  assert_memory_equal(derived.self_ns, expected.self_ns, count * 8);
  assert_memory_equal(derived.observation, expected.observation, count * 4);
  assert_memory_equal(derived.depth, expected.depth, count * 4);
  assert_memory_equal(derived.basis, expected.basis, count);
  struct store_observation *observations;
  size_t observation_count;
  OK(store_observations(store, run_id, &arena, &observations, &observation_count, err));
  assert_int_equal(observation_count, 2);
  assert_true(observations[0].warmup && !observations[1].warmup && observations[1].span_id == 0);
  arena_done(&arena);
}

static const struct store_observation two_observations[2] = {
    {.observation = 0, .span_id = 5, .start_ns = 1, .duration_ns = 2, .warmup = true},
    {.observation = 1, .span_id = 0, .start_ns = 3, .duration_ns = 4},
};

static void test_derived_columns_are_replaced_and_outdated_by_new_spans(void **state)
{
  (void)state;
  enum { COUNT = 70000 };
  struct arena arena = {0};
  struct store_derived derived;
  struct store *store;
  OK(store_create(path, false, &store, err));
  add_spans(store, 1, 0, COUNT);
  make_derived(&arena, COUNT, &derived);
  assert_false(store_has_derived(store, 1));
  derived.count--;
  assert_int_equal(store_put_derived(store, 1, &derived, NULL, 0, NULL), STATUS_USE);
  derived.count++;
  OK(store_put_derived(store, 1, &derived, two_observations, 1, err));
  OK(store_put_derived(store, 1, &derived, two_observations, 2, err));
  check_derived(store, 1, COUNT);
  add_spans(store, 1, COUNT, COUNT + 1);
  OK(store_commit(store, err));
  assert_false(store_has_derived(store, 1));
  make_derived(&arena, COUNT + 1, &derived);
  OK(store_put_derived(store, 1, &derived, two_observations, 2, err));
  OK(store_finish(store, err));
  check_derived(store, 1, COUNT + 1);
  store_close(store);
  OK(store_open(path, &store, err));
  check_derived(store, 1, COUNT + 1);
  assert_int_equal(store_put_derived(store, 1, &derived, NULL, 0, NULL), STATUS_USE);
  store_close(store);
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

static void test_overlay_shows_derived_without_writing(void **state)
{
  (void)state;
  enum { COUNT = 70000 };
  struct arena arena = {0};
  struct store_derived derived;
  struct store *store;
  OK(store_create(path, false, &store, err));
  add_spans(store, 1, 0, COUNT);
  OK(store_commit(store, err));
  store_close(store); // as if killed
  make_derived(&arena, COUNT, &derived);
  OK(store_open(partial, &store, err));
  assert_false(store_has_derived(store, 1));
  OK(store_overlay_derived(store, 1, &derived, two_observations, 1, err));
  OK(store_overlay_derived(store, 1, &derived, two_observations, 2, err));
  check_derived(store, 1, COUNT);
  check_spans(store, 1, COUNT);
  assert_int_equal(ask(store, "select count(parent_id) from span"), COUNT - 2);
  assert_int_equal(ask(store, "select count(*) from span where parent_id = 100"), 2);
  assert_int_equal(ask(store, "select count(*) from observation"), 2);
  store_close(store);
  OK(store_open(partial, &store, err));
  assert_false(store_has_derived(store, 1));
  store_close(store);
  arena_done(&arena);
}

// Kinds that correlate made come before those that were stored, for typed readers and SQL alike.
static void check_kinds(struct store *store, size_t count, const uint8_t *expected)
{
  struct arena arena = {0};
  struct store_spans spans, stored;
  struct store_derived derived;
  int64_t launches = 0;
  OK(store_load_spans(store, 1, STORE_BIT(STORE_KIND), &arena, &spans, err));
  OK(store_load_spans(store, 1, STORE_BIT(STORE_KIND) | STORE_KIND_AS_STORED, &arena, &stored, err));
  OK(store_load_derived_columns(store, 1, STORE_BIT(STORE_DERIVED_KIND) | STORE_BIT(STORE_BASIS), &arena, &derived,
                                err));
  assert_null(derived.parent_id);
  assert_non_null(derived.basis);
  assert_int_equal(derived.kind != NULL, expected != NULL);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(stored.kind[i], i % 3);
    assert_int_equal(spans.kind[i], expected != NULL ? expected[i] : i % 3);
    assert_true(expected == NULL || derived.kind[i] == expected[i]);
    launches += spans.kind[i] == XSP_KIND_LAUNCH;
  }
  assert_int_equal(ask(store, "select count(*) from span where kind = 'launch'"), launches);
  assert_int_equal(ask(store, "select n from (select kind, count(*) as n from span group by kind) where kind='launch'"),
                   launches);
  arena_done(&arena);
}

static void test_derived_kinds_replace_the_stored_ones(void **state)
{
  (void)state;
  enum { COUNT = 70000 };
  static uint8_t kinds[COUNT];
  struct arena arena = {0};
  struct store_derived derived;
  struct store *store;
  for (size_t i = 0; i < COUNT; i++)
    kinds[i] = (uint8_t)(i / 7 % 2);
  OK(store_create(path, false, &store, err));
  add_spans(store, 1, 0, COUNT);
  make_derived(&arena, COUNT, &derived);
  derived.kind = kinds;
  OK(store_put_derived(store, 1, &derived, NULL, 0, err));
  check_kinds(store, COUNT, kinds);
  derived.kind = NULL; // correlated again: nothing to change
  OK(store_put_derived(store, 1, &derived, NULL, 0, err));
  check_kinds(store, COUNT, NULL);
  derived.kind = kinds;
  OK(store_put_derived(store, 1, &derived, NULL, 0, err));
  OK(store_finish(store, err));
  store_close(store);
  OK(store_open(path, &store, err));
  check_kinds(store, COUNT, kinds);
  derived.kind = NULL;
  OK(store_overlay_derived(store, 1, &derived, NULL, 0, err));
  check_kinds(store, COUNT, NULL);
  for (size_t i = 0; i < COUNT; i++)
    kinds[i] = (uint8_t)(i % 2);
  derived.kind = kinds;
  OK(store_overlay_derived(store, 1, &derived, NULL, 0, err));
  check_kinds(store, COUNT, kinds);
  store_close(store);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_spans_survive_commits_and_finish, clear_folder),
      cmocka_unit_test_teardown(test_a_finished_file_is_locked, clear_folder),
      cmocka_unit_test_teardown(test_extreme_integers_survive, clear_folder),
      cmocka_unit_test_teardown(test_tags_keep_type_and_bits, clear_folder),
      cmocka_unit_test_teardown(test_tags_of_some_keys_come_alone_and_in_order, clear_folder),
      cmocka_unit_test_teardown(test_tags_come_with_the_spans_that_are_walked, clear_folder),
      cmocka_unit_test_teardown(test_plain_tables_come_back, clear_folder),
      cmocka_unit_test_teardown(test_a_file_from_before_ranks_has_none, clear_folder),
      cmocka_unit_test_teardown(test_derived_columns_are_replaced_and_outdated_by_new_spans, clear_folder),
      cmocka_unit_test_teardown(test_overlay_shows_derived_without_writing, clear_folder),
      cmocka_unit_test_teardown(test_derived_kinds_replace_the_stored_ones, clear_folder),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
