// SPDX-License-Identifier: Apache-2.0
// Files that are no trace, not whole, or tampered with: one clear error, never a crash.
#include "store/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/expect.h"

static char folder[] = "/tmp/xsp-broken-test-XXXXXX";
static char path[64], good_path[64];
static char *good;
static size_t good_size;
static bool commits_meanwhile;

static void write_file(const char *to, const void *data, size_t size);

// Instead of the C library's: before the next header that is read, a writer of the file commits.
ssize_t pread(int file, void *bytes, size_t size, off_t offset)
{
  if (commits_meanwhile && size == 100 && offset == 0) {
    commits_meanwhile = false;
    int written = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(written, good, good_size), good_size);
    close(written);
  }
  return syscall(SYS_pread64, file, bytes, size, offset);
}

static void write_file(const char *to, const void *data, size_t size)
{
  FILE *file = fopen(to, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
}

static int make_good(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/bad.xsp", folder);
  snprintf(good_path, sizeof good_path, "%s/good.xsp", folder);
  struct store *store;
  OK(store_create(good_path, false, &store, err));
  uint32_t context_id = 0;
  for (size_t i = 0; i < 3000; i++) {
    char text[32];
    snprintf(text, sizeof text, "name %zu", i % 50);
    const struct store_frame frame = {.kind = i % 4, .name = "a function", .line = (int64_t)(i % 8)};
    context_id = store_context_id(store, i % 16 == 0 ? 0 : context_id, store_frame_id(store, &frame));
    struct store_span span = {.span_id = (int64_t)i + 1,
                              .start_ns = (int64_t)(i * i * 7919),
                              .name = store_string(store, text, strlen(text)),
                              .level = (uint8_t)(i % 5),
                              .kind = (uint8_t)(i % 3),
                              .context_id = context_id};
    struct store_tag tag = {.span_id = span.span_id, .key = span.name, .type = STORE_TEXT, .value.string = span.name};
    OK(store_add_spans(store, 1, &span, 1, err));
    OK(store_add_tags(store, 1, &tag, 1, err));
  }
  OK(store_finish(store, err));
  store_close(store);
  FILE *file = fopen(good_path, "rb");
  fseek(file, 0, SEEK_END);
  good_size = (size_t)ftell(file);
  rewind(file);
  good = malloc(good_size);
  assert_int_equal(fread(good, 1, good_size, file), good_size);
  fclose(file);
  return 0;
}

static int remove_good(void **state)
{
  (void)state;
  free(good);
  unlink(path);
  unlink(good_path);
  return rmdir(folder);
}

static enum status ignore_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  for (size_t i = 0; i < count; i++)
    *(int64_t *)context += cells[i].integer + (int64_t)cells[i].length;
  return STATUS_OK;
}

// Reads all there is in all ways. Returns the first error.
static enum status read_all(const char *file, struct error *err)
{
  static const char *const questions[] = {
      "select * from span",
      "select * from tag",
      "select name, count(*) from span group by name",
      "select count(*) from span s join span p on p.run_id = s.run_id and p.span_id = s.parent_id",
      "select * from run, experiment, system, workload, evaluation, observation, track, log, trace, note",
      "select * from span s left join context c using (context_id) left join frame f using (frame_id)"};
  struct store *store;
  struct arena arena = {0};
  XSP_TRY(store_open(file, &store, err));
  struct store_spans spans;
  struct store_tag *tags;
  struct store_run *runs;
  struct store_derived derived;
  struct store_call_paths paths;
  size_t count;
  int64_t sum = 0;
  struct store_query_sink sink = {.context = &sum, .row = ignore_row};
  enum status status = store_load_spans(store, 1, STORE_ALL_BASE, &arena, &spans, err);
  enum status next = store_load_tags(store, 1, &arena, &tags, &count, status == STATUS_OK ? err : NULL);
  status = status == STATUS_OK ? next : status;
  next = store_runs(store, &arena, &runs, &count, status == STATUS_OK ? err : NULL);
  status = status == STATUS_OK ? next : status;
  next = store_call_paths(store, &arena, &paths, status == STATUS_OK ? err : NULL);
  status = status == STATUS_OK ? next : status;
  if (store_has_derived(store, 1))
    next = store_load_derived(store, 1, &arena, &derived, status == STATUS_OK ? err : NULL);
  status = status == STATUS_OK ? next : status;
  for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
    next = store_query(store, questions[i], &sink, status == STATUS_OK ? err : NULL);
    status = status == STATUS_OK ? next : status;
  }
  arena_done(&arena);
  store_close(store);
  return status;
}

static void check_refused(const char *file, const char *why)
{
  struct error err = {0};
  assert_int_equal(read_all(file, &err), STATUS_INPUT);
  assert_string_equal(err.where, file);
  if (strstr(err.why, why) == NULL)
    fail_msg("%s: \"%s\" instead of \"%s\"", file, err.why, why);
}

static void change(const char *sql)
{
  sqlite3 *db;
  write_file(path, good, good_size);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_close(db);
}

static void test_files_that_are_no_trace(void **state)
{
  (void)state;
  struct error failure = {0};
  struct store *store;
  OK(read_all(good_path, err));
  check_refused("/nonexistent.xsp", "No such file");
  check_refused(folder, "directory");
  check_refused("/dev/null", "it is a device");
  write_file(path, "", 0);
  check_refused(path, "empty");
  write_file(path, "{\"traceEvents\": []}", 19);
  check_refused(path, "not an .xsp file");
  assert_int_equal(store_open(path, &store, &failure), STATUS_INPUT);
  assert_non_null(strstr(failure.advice, "xsp import"));
  write_file(path, good, 50);
  check_refused(path, "truncated");
  write_file(path, good, good_size / 2);
  check_refused(path, "truncated");
  unlink(path);
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  sqlite3_exec(db, "CREATE TABLE span(a)", NULL, NULL, NULL);
  sqlite3_close(db);
  check_refused(path, "SQLite database, but not an .xsp file");
}

static void test_versions(void **state)
{
  (void)state;
  change("PRAGMA user_version = 7");
  check_refused(path, "version is 7, this xsp reads up to 1");
  change("PRAGMA user_version = 0");
  check_refused(path, "version is 0");
}

static void test_a_file_of_before_a_table(void **state)
{
  (void)state;
  change("DROP TABLE workload; DROP TABLE evaluation; DROP TABLE frame; DROP TABLE context; DELETE FROM chunk WHERE "
         "\"column\" = 'context_id'");
  struct store *store;
  assert_int_equal(store_open(path, &store, NULL), STATUS_OK);
  struct arena arena = {0};
  struct store_system_value *values;
  size_t count = 7;
  assert_int_equal(store_workload(store, 1, &arena, &values, &count, NULL), STATUS_OK);
  assert_int_equal(count, 0);
  assert_int_equal(store_evaluation(store, 1, &arena, &values, &count, NULL), STATUS_OK);
  assert_int_equal(count, 0);
  struct store_call_paths paths;
  struct store_spans spans;
  OK(store_call_paths(store, &arena, &paths, err));
  assert_int_equal(paths.frame_count + paths.context_count, 0);
  OK(store_load_spans(store, 1, STORE_BIT(STORE_CONTEXT_ID), &arena, &spans, err));
  assert_int_equal(spans.context_id[0] | spans.context_id[2999], 0);
  arena_done(&arena);
  store_close(store);
}

static void test_tables_that_lie(void **state)
{
  (void)state;
  static const struct {
    const char *sql, *why;
  } cases[] = {
      {"DROP TABLE chunk", "no such table"},
      {"DROP TABLE string", "no such table"},
      {"CREATE TABLE span(a)", "of its own"},
      {"DELETE FROM string WHERE string_id = 5", "gaps"},
      {"DELETE FROM string WHERE string_id > 5", "out of range"},
      {"DELETE FROM frame WHERE frame_id = 1", "gaps"},
      {"DELETE FROM frame WHERE frame_id = 8", "does not exist"},
      {"UPDATE frame SET kind = 'unknown' WHERE frame_id = 8", "no known kind"},
      {"UPDATE frame SET kind = x'00'", "no known kind"},
      {"DELETE FROM context WHERE context_id = 3", "gaps"},
      {"DELETE FROM context WHERE context_id = 16", "out of range"},
      {"DROP TABLE context", "out of range"},
      {"UPDATE context SET parent_id = 3 WHERE context_id = 3", "does not come before"},
      {"UPDATE context SET parent_id = 4 WHERE context_id = 3", "does not come before"},
      {"UPDATE context SET parent_id = 4000000000 WHERE context_id = 3", "does not come before"},
      {"UPDATE context SET frame_id = 9 WHERE context_id = 3", "does not exist"},
      {"UPDATE context SET frame_id = 0 WHERE context_id = 3", "does not exist"},
      {"UPDATE context SET frame_id = 'text'", "does not exist"},
      {"WITH n(i) AS (VALUES(17) UNION ALL SELECT i + 1 FROM n WHERE i < 17000)"
       " INSERT INTO context SELECT i, i - 1, 1 FROM n",
       "too many frames"},
      {"UPDATE chunk SET row_count = 4000000000", "claims"},
      {"UPDATE chunk SET row_count = -1", "claims"},
      {"UPDATE chunk SET row_count = 2999 WHERE \"column\" = 'level'", "disagree"},
      {"UPDATE chunk SET row_count = 2999", "does not match"},
      {"UPDATE chunk SET part = 3", "missing"},
      {"DELETE FROM chunk WHERE \"column\" = 'start_ns'", "start_ns"},
      {"UPDATE chunk SET data = x'00'", "impossible"},
      {"UPDATE chunk SET data = zeroblob(100)", "unknown version"},
      {"UPDATE chunk SET data = zeroblob(3000000)", "impossible"},
      {"UPDATE chunk SET data = (SELECT data FROM chunk WHERE \"column\" = 'start_ns') WHERE \"column\" = 'level'",
       "type"},
      {"UPDATE chunk SET data = (SELECT data FROM chunk WHERE \"column\" = 'start_ns') WHERE \"column\" = 'span_id'",
       "out of range"},
      {"UPDATE chunk SET data = 'text' WHERE \"column\" = 'value'", "impossible"},
      {"UPDATE chunk SET data = substr(data, 1, length(data) - 1) WHERE \"column\" = 'name'", "checksum"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    change(cases[i].sql);
    check_refused(path, cases[i].why);
  }
}

// Analyses ask how many spans the runs have before they choose among them: no column is read for that.
static void test_spans_are_counted_without_their_columns(void **state)
{
  (void)state;
  change("UPDATE chunk SET data = x'00' WHERE series = 'span'");
  struct store *store;
  struct arena arena = {0};
  struct store_spans spans;
  assert_int_equal(store_open(path, &store, NULL), STATUS_OK);
  assert_int_equal(store_load_spans(store, 1, 0, &arena, &spans, NULL), STATUS_OK);
  assert_int_equal(spans.count, 3000);
  assert_int_equal(store_load_spans(store, 1, STORE_BIT(STORE_LEVEL), &arena, &spans, NULL), STATUS_INPUT);
  arena_done(&arena);
  store_close(store);
}

// Any byte may be anything: what is read is right or refused, and nothing else happens.
static void test_flipped_bytes(void **state)
{
  (void)state;
  uint32_t seed = 1;
  for (int round = 0; round < 400; round++) {
    char *copy = malloc(good_size);
    memcpy(copy, good, good_size);
    for (int flips = 0; flips < 1 + round % 4; flips++) {
      seed = seed * 1664525 + 1013904223;
      copy[seed % good_size] ^= (char)(1 << (seed >> 29));
    }
    write_file(path, copy, good_size);
    struct error err = {0};
    enum status status = read_all(path, &err);
    if (status != STATUS_OK && (err.what[0] == 0 || err.why[0] == 0))
      fail_msg("round %d: status %d without words", round, (int)status);
    free(copy);
  }
}

// The file is as long as its header says, although it was not when it was opened.
static void test_a_commit_meanwhile(void **state)
{
  struct store *store;
  (void)state;
  write_file(path, good, good_size / 2);
  commits_meanwhile = true;
  OK(store_open(path, &store, err));
  assert_false(commits_meanwhile);
  store_close(store);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_files_that_are_no_trace),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_a_file_of_before_a_table),
      cmocka_unit_test(test_tables_that_lie),
      cmocka_unit_test(test_spans_are_counted_without_their_columns),
      cmocka_unit_test(test_flipped_bytes),
      cmocka_unit_test(test_a_commit_meanwhile),
  };
  return cmocka_run_group_tests(tests, make_good, remove_good);
}
