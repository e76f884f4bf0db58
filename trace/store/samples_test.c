// SPDX-License-Identifier: Apache-2.0
// Samples of threads: written in parts, read typed and by SQL, copied, moved; what a writer refuses, what a reader refuses.
#include "store/copy.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

#define SAMPLES ((size_t)STORE_CHUNK_ROWS + 7)

static enum status take_number(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)count;
  (void)err;
  *(int64_t *)context = cells[0].type == STORE_NULL ? -1 : cells[0].integer;
  return STATUS_OK;
}

static int64_t ask(struct store *store, const char *sql)
{
  int64_t number = -2;
  const struct store_query_sink sink = {.context = &number, .row = take_number};
  OK(store_query(store, sql, &sink, err));
  return number;
}

static struct store_sample sample_of(size_t i)
{
  return (struct store_sample){.time_ns = (int64_t)i * 1001001 - 5,
                               .duration_ns = (int64_t)(i % 5) * 1000,
                               .span_id = (int64_t)(i % 3),
                               .track_id = (uint32_t)(i % 2) + 1,
                               .context_id = (uint32_t)(i % 4),
                               .kind = (uint8_t)(SAMPLE_CPU + i % 5)};
}

static void add_paths(struct store *store)
{
  for (int64_t line = 1; line <= 3; line++) {
    const struct store_frame frame = {.name = "train", .file = "/home/me/train.py", .line = line};
    assert_int_equal(store_context_id(store, 0, store_frame_id(store, &frame)), line);
  }
}

static void add_samples(struct store *store, int64_t run_id, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++) {
    const struct store_sample sample = sample_of(i);
    OK(store_add_samples(store, run_id, &sample, 1, err));
  }
}

static void check_one(const struct store_samples *samples, size_t at, size_t i, int64_t offset_ns)
{
  const struct store_sample expected = sample_of(i);
  assert_int_equal(samples->time_ns[at], expected.time_ns + offset_ns);
  assert_int_equal(samples->duration_ns[at], expected.duration_ns);
  assert_int_equal(samples->span_id[at], expected.span_id);
  assert_int_equal(samples->track_id[at], expected.track_id);
  assert_int_equal(samples->context_id[at], expected.context_id);
  assert_int_equal(samples->kind[at], expected.kind);
}

static enum status count_part(void *context, const struct store_samples *samples, struct error *err)
{
  size_t *walked = context;
  (void)err;
  for (size_t i = 0; i < samples->count; i++)
    check_one(samples, i, (*walked)++, 0);
  return STATUS_OK;
}

static void check_run(struct store *store, int64_t run_id, size_t count, int64_t offset_ns)
{
  struct arena arena = {0};
  struct store_samples samples;
  size_t counted;
  OK(store_load_samples(store, run_id, &arena, &samples, err));
  assert_int_equal(samples.count, count);
  OK(store_count_samples(store, run_id, &counted, err));
  assert_int_equal(counted, count);
  for (size_t i = 0; i < count; i++)
    check_one(&samples, i, i, offset_ns);
  arena_done(&arena);
}

static struct store *create(const char *name)
{
  struct store *store;
  OK(store_create(name, true, &store, err));
  const struct store_run run = {.run_id = 1, .experiment_id = 1, .epoch_is_unix = true, .own_pct = 0};
  OK(store_add_run(store, &run, err));
  add_paths(store);
  return store;
}

static void test_round_trip(void **state)
{
  (void)state;
  struct store *store = create(path);
  add_samples(store, 1, 0, SAMPLES - 3);
  OK(store_commit(store, err)); // the open part is written again below
  check_run(store, 1, SAMPLES - 3, 0);
  add_samples(store, 1, SAMPLES - 3, SAMPLES);
  check_run(store, 2, 0, 0);
  OK(store_finish(store, err));
  store_close(store);
  OK(store_open(path, &store, err));
  check_run(store, 1, SAMPLES, 0);
  size_t walked = 0;
  OK(store_walk_samples(store, 1, count_part, &walked, err));
  assert_int_equal(walked, SAMPLES);
  assert_true(store_has_derived(store, 1)); // without spans there is nothing to correlate
  store_close(store);
}

static void test_sql(void **state)
{
  (void)state;
  struct store *store = create(path);
  add_samples(store, 1, 0, 60);
  assert_int_equal(ask(store, "select count(*) from sample where run_id = 1"), 60);
  assert_int_equal(ask(store, "select count(*) from sample where kind = 'lock'"), 12);
  assert_int_equal(ask(store, "select count(*) from sample where kind in ('cpu', 'lock', 'sleep', 'io', 'child')"), 60);
  assert_int_equal(ask(store, "select count(*) from sample where kind = 'wait'"), 0);
  assert_int_equal(ask(store, "select count(*) from sample where span_id = 2"), 20);
  assert_int_equal(ask(store, "select count(*) from sample where span_id is null"), 20);
  assert_int_equal(ask(store, "select count(*) from sample where context_id is null"), 15);
  assert_int_equal(ask(store, "select sum(duration_ns) from sample where kind = 'child'"), 48000);
  assert_int_equal(ask(store, "select count(*) from sample where time_ns < 10010000"), 10);
  assert_int_equal(ask(store, "select f.line from sample s join context c using (context_id) join frame f"
                              " using (frame_id) where s.time_ns = 2 * 1001001 - 5"),
                   2);
  store_discard(store);
}

static void test_copy_and_shift(void **state)
{
  (void)state;
  char copy_path[sizeof path + 8];
  snprintf(copy_path, sizeof copy_path, "%s.copy", path);
  struct store *from = create(path), *to;
  add_samples(from, 1, 0, SAMPLES);
  OK(store_create(copy_path, true, &to, err));
  OK(store_copy(from, to, (struct headway_watcher){0}, err));
  check_run(to, 1, SAMPLES, 0);
  OK(store_shift_run(to, 1, 1 << 20, err));
  check_run(to, 1, SAMPLES, 1 << 20);
  const struct store_sample last = {.time_ns = INT64_MAX - 9, .kind = SAMPLE_CPU};
  OK(store_add_samples(to, 1, &last, 1, err));
  struct error err = {0};
  assert_int_equal(store_shift_run(to, 1, 10, &err), STATUS_INPUT);
  store_discard(to);
  store_discard(from);
}

static void refuse(struct store *store, struct store_sample sample)
{
  struct error err = {0};
  assert_int_equal(store_add_samples(store, 1, &sample, 1, &err), STATUS_INPUT);
}

static void test_writer_refuses(void **state)
{
  (void)state;
  struct store *store = create(path);
  refuse(store, (struct store_sample){.kind = 0});
  refuse(store, (struct store_sample){.kind = SAMPLE_CHILD + 1});
  refuse(store, (struct store_sample){.kind = SAMPLE_CPU, .duration_ns = -1});
  refuse(store, (struct store_sample){.kind = SAMPLE_CPU, .span_id = -1});
  refuse(store, (struct store_sample){.kind = SAMPLE_CPU, .context_id = 4});
  check_run(store, 1, 0, 0);
  store_discard(store);
}

// Columns of a damaged file: kinds that are none, call paths that the file does not have.
static void test_reader_refuses(void **state)
{
  static const char *const damages[] = {
      ("UPDATE chunk SET data = (SELECT data FROM chunk WHERE series = 'span' AND \"column\" = 'level')"
       " WHERE series = 'sample' AND \"column\" = 'kind'"),
      "DELETE FROM context; DELETE FROM frame",
      "DELETE FROM chunk WHERE series = 'sample' AND \"column\" = 'duration_ns'",
  };
  (void)state;
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    struct store *store = create(path);
    struct arena arena = {0};
    struct store_samples samples;
    struct error error = {0};
    sqlite3 *db;
    const struct store_span spans[2] = {{.span_id = 1, .level = 0}, {.span_id = 2, .level = 1}};
    add_samples(store, 1, 2, 4);
    OK(store_add_spans(store, 1, spans, 2, err));
    OK(store_finish(store, err));
    store_close(store);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, damages[i], NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    enum status status = store_open(path, &store, &error);
    if (status == STATUS_OK) {
      status = store_load_samples(store, 1, &arena, &samples, &error);
      arena_done(&arena);
      store_close(store);
    }
    assert_int_equal(status, STATUS_INPUT);
  }
}

// What docs/format.md says of a million samples of one program: no more than so many bytes each.
static void test_size(void **state)
{
  (void)state;
  struct stat status;
  struct store *store = create(path);
  uint64_t random = 1;
  for (size_t i = 0; i < 4 * (size_t)STORE_CHUNK_ROWS; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    const struct store_sample sample = {.time_ns = INT64_C(1700000000000000000) + (int64_t)i * 1001001 +
                                                   (int64_t)(random >> 48), // of 65 µs: when the signal came
                                        .duration_ns = 1000000 + (int64_t)(random >> 40 & 0xffff),
                                        .span_id = INT64_C(1) << 32 | (int64_t)(i / 20),
                                        .track_id = 1,
                                        .context_id = (uint32_t)(random >> 33 & 3),
                                        .kind = SAMPLE_CPU};
    OK(store_add_samples(store, 1, &sample, 1, err));
  }
  OK(store_finish(store, err));
  store_close(store);
  assert_int_equal(stat(path, &status), 0);
  double bytes = (double)status.st_size / (4.0 * STORE_CHUNK_ROWS);
  if (bytes < 4 || bytes > 8)
    fail_msg("%g bytes a sample", bytes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_sql),  cmocka_unit_test(test_copy_and_shift),
      cmocka_unit_test(test_writer_refuses), cmocka_unit_test(test_size), cmocka_unit_test(test_reader_refuses),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
