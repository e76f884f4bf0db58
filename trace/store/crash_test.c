// SPDX-License-Identifier: Apache-2.0
// Writers that are killed, disks that are full, folders that cannot be written, names that are taken: what was
// committed is there, and every refusal says why.
#include "store/store.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/folder.h"
#include "tests/support/expect.h"

#define KILLS 40

static char folder[] = "/tmp/xsp-crash-test-XXXXXX";
static char path[64], partial[80], journal[96];

static int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/out.xsp", folder);
  snprintf(partial, sizeof partial, "%s.partial", path);
  snprintf(journal, sizeof journal, "%s-journal", partial);
  return 0;
}

// Also the files that were set aside: out.xsp.partial~, ~2, ~3, ...
static int clear_folder(void **state)
{
  (void)state;
  folder_remove_tree(folder);
  return mkdir(folder, 0700);
}

static int remove_folder(void **state)
{
  (void)state;
  folder_remove_tree(folder);
  return access(folder, F_OK) == 0;
}

// Hard to compress, so that files grow. Row i is the same in every writer.
static struct store_span make_span(size_t i)
{
  uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (struct store_span){.span_id = (int64_t)i + 1,
                             .start_ns = (int64_t)(mixed ^ mixed >> 29),
                             .duration_ns = (int64_t)((mixed * 31) >> 3),
                             .correlation_id = (int64_t)((mixed * 77) >> 5)};
}

// In a child: adds rows, commits, tells the parent how many rows are committed, until killed.
static void write_until_killed(int to_parent)
{
  struct store *store;
  size_t rows = 0;
  if (store_create(path, true, &store, NULL) != STATUS_OK)
    _exit(1);
  for (size_t round = 0;; round++) {
    size_t more = round % 7 == 3 ? 70000 : 1 + round * 37 % 500;
    for (size_t i = 0; i < more; i++, rows++) {
      struct store_span span = make_span(rows);
      struct store_tag tag = {.span_id = span.span_id, .key = store_string(store, "key", 3), .type = STORE_INT};
      char text[32];
      snprintf(text, sizeof text, "name %zu", rows % 1000);
      span.name = store_string(store, text, strlen(text));
      if (store_add_spans(store, 1, &span, 1, NULL) != STATUS_OK ||
          store_add_tags(store, 1, &tag, 1, NULL) != STATUS_OK)
        _exit(2);
    }
    if (store_commit(store, NULL) != STATUS_OK || write(to_parent, &rows, sizeof rows) != sizeof rows)
      _exit(3);
  }
}

static size_t check_rows(const char *file)
{
  struct store *store;
  struct arena arena = {0};
  struct store_spans spans;
  struct store_tag *tags;
  size_t tag_count;
  OK(store_open(file, &store, err));
  OK(store_load_spans(store, 1, STORE_ALL_BASE, &arena, &spans, err));
  OK(store_load_tags(store, 1, &arena, &tags, &tag_count, err));
  assert_int_equal(tag_count, spans.count);
  for (size_t i = 0; i < spans.count; i++) {
    struct store_span expected = make_span(i);
    char text[32];
    snprintf(text, sizeof text, "name %zu", i % 1000);
    assert_true(spans.span_id[i] == expected.span_id && spans.start_ns[i] == expected.start_ns);
    assert_true(spans.duration_ns[i] == expected.duration_ns && tags[i].span_id == expected.span_id);
    assert_string_equal(store_text(store, spans.name[i], NULL), text);
  }
  size_t count = spans.count;
  arena_done(&arena);
  store_close(store);
  return count;
}

static void test_killed_writers_lose_nothing_committed(void **state)
{
  (void)state;
  unsigned seed = (unsigned)getpid();
  for (int kills = 0; kills < KILLS; kills++) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      write_until_killed(ends[1]);
    }
    close(ends[1]);
    size_t committed = 0, message;
    int wanted = rand_r(&seed) % 9;
    for (int i = 0; i < wanted && read(ends[0], &message, sizeof message) == sizeof message; i++)
      committed = message;
    for (volatile int spin = rand_r(&seed) % 2000000; spin > 0; spin--) // some instant within the next round
      ;
    kill(child, SIGKILL);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read(ends[0], &message, sizeof message) == sizeof message)
      committed = message;
    close(ends[0]);
    if (committed > 0 || access(partial, F_OK) == 0) {
      struct stat facts;
      if (committed == 0 && (stat(partial, &facts) != 0 || facts.st_size < 8192 || access(journal, F_OK) == 0))
        continue; // killed before the file was born: nothing was promised
      size_t found = check_rows(partial);
      if (found < committed)
        fail_msg("kill %d: %zu rows committed, %zu found", kills, committed, found);
    }
  }
}

// ---- a hot journal where nothing can be written ----------------------------------------------------------------------
static void leave_hot_journal(void)
{
  pid_t child = fork();
  if (child == 0) {
    sqlite3 *db;
    sqlite3_open(partial, &db);
    sqlite3_exec(db,
                 "PRAGMA cache_size=1; BEGIN; UPDATE string SET text = text || 'x'; DELETE FROM chunk;"
                 "CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 20000)"
                 " SELECT i, hex(randomblob(50)) FROM n;",
                 NULL, NULL, NULL);
    kill(getpid(), SIGKILL);
  }
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFSIGNALED(status));
  struct stat facts;
  assert_int_equal(stat(journal, &facts), 0);
  assert_true(facts.st_size > 512);
}

static void make_partial(size_t rows)
{
  struct store *store;
  OK(store_create(path, true, &store, err));
  for (size_t i = 0; i < rows; i++) {
    struct store_span span = make_span(i);
    struct store_tag tag = {.span_id = span.span_id, .key = store_string(store, "key", 3), .type = STORE_INT};
    char text[32];
    snprintf(text, sizeof text, "name %zu", i % 1000);
    span.name = store_string(store, text, strlen(text));
    OK(store_add_spans(store, 1, &span, 1, err));
    OK(store_add_tags(store, 1, &tag, 1, err));
  }
  OK(store_commit(store, err));
  store_close(store);
}

// In a private copy: the original and its journal stay as they are, byte for byte.
static void test_a_half_written_transaction_is_undone(void **state)
{
  (void)state;
  make_partial(5000);
  leave_hot_journal();
  struct stat file_before, journal_before, file_after, journal_after;
  assert_int_equal(stat(partial, &file_before) | stat(journal, &journal_before), 0);
  assert_int_equal(check_rows(partial), 5000);
  assert_int_equal(check_rows(partial), 5000);
  assert_int_equal(stat(partial, &file_after) | stat(journal, &journal_after), 0);
  assert_int_equal(file_after.st_mtim.tv_nsec, file_before.st_mtim.tv_nsec);
  assert_int_equal(file_after.st_size, file_before.st_size);
  assert_int_equal(journal_after.st_mtim.tv_nsec, journal_before.st_mtim.tv_nsec);
  assert_int_equal(journal_after.st_size, journal_before.st_size);
}

static void test_recovery_without_permission_to_write(void **state)
{
  (void)state;
  make_partial(5000);
  leave_hot_journal();
  pid_t child = fork();
  if (child == 0) {
    bool is_root = geteuid() == 0;
    chmod(partial, 0444);
    chmod(journal, 0444);
    chmod(folder, 0555);
    if (is_root && (setegid(65534) != 0 || seteuid(65534) != 0))
      _exit(77);
    struct store *store;
    struct arena arena = {0};
    struct store_spans spans;
    struct error err = {0};
    enum status status = store_open(partial, &store, &err);
    if (status == STATUS_OK)
      status = store_load_spans(store, 1, STORE_ALL_BASE, &arena, &spans, &err);
    if (status != STATUS_OK) {
      char line[2048];
      error_line(&err, line, sizeof line);
      fprintf(stderr, "%s\n", line);
      _exit(1);
    }
    _exit(spans.count == 5000 && access(journal, F_OK) == 0 ? 0 : 2);
  }
  int status;
  waitpid(child, &status, 0);
  chmod(folder, 0700);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    print_message("skipped: cannot change the user\n");
  else
    assert_int_equal(WEXITSTATUS(status), 0);
}

// ---- names that are taken --------------------------------------------------------------------------------------------
// Between two transactions nobody can put a journal there that SQLite would replay.
static void test_the_journal_keeps_its_place(void **state)
{
  (void)state;
  struct store *store;
  struct stat first, later;
  OK(store_create(path, false, &store, err));
  assert_int_equal(lstat(journal, &first), 0);
  for (int i = 0; i < 3; i++) {
    struct store_span span = make_span((size_t)i);
    OK(store_add_spans(store, 1, &span, 1, err));
    OK(store_commit(store, err));
    assert_int_equal(lstat(journal, &later), 0);
    assert_int_equal(later.st_ino, first.st_ino);
  }
  OK(store_finish(store, err));
  assert_int_equal(access(journal, F_OK), -1);
  store_close(store);
}

static void test_names_that_are_taken(void **state)
{
  (void)state;
  struct store *store, *other;
  struct error failure = {0};
  OK(store_create(path, false, &store, err));
  assert_int_equal(store_create(path, true, &other, &failure), STATUS_SYSTEM); // being written
  assert_non_null(strstr(failure.why, "another process"));
  store_discard(store);
  assert_int_equal(access(partial, F_OK), -1);

  make_partial(10); // a leftover is set aside
  OK(store_create(path, false, &store, err));
  OK(store_finish(store, err));
  store_close(store);
  char aside[96];
  snprintf(aside, sizeof aside, "%s~", partial);
  assert_int_equal(check_rows(aside), 10);

  assert_int_equal(store_create(path, false, &store, &failure), STATUS_USE);
  assert_non_null(strstr(failure.advice, "--force"));
  OK(store_create(path, true, &store, err));
  assert_int_equal(access(path, F_OK), 0); // untouched until the rename
  store_discard(store);
  assert_int_equal(access(path, F_OK), 0);
  assert_int_equal(store_create(folder, true, &store, &failure), STATUS_USE);
  assert_int_equal(store_create("/nonexistent/folder/out.xsp", false, &store, &failure), STATUS_SYSTEM);
}

static void test_a_name_that_is_taken_meanwhile(void **state)
{
  (void)state;
  struct store *store;
  struct error failure = {0};
  for (int force = 0; force < 2; force++) {
    OK(store_create(path, force, &store, err));
    FILE *precious = fopen(path, "w");
    assert_non_null(precious);
    fclose(precious);
    assert_int_equal(store_finish(store, &failure), force ? STATUS_OK : STATUS_USE);
    assert_non_null(strstr(failure.why, partial));
    store_discard(store);
    OK(store_open(force ? path : partial, &store, err));
    store_close(store);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_true(force ? facts.st_size > 0 : facts.st_size == 0);
    unlink(path);
    unlink(partial);
  }
  assert_int_equal(symlink("nowhere", path), 0); // found at the start, not after an hour
  assert_int_equal(store_create(path, false, &store, &failure), STATUS_USE);
}

// ---- full disk -------------------------------------------------------------------------------------------------------
// In a child with its own mounts. Exit 0: as it should be; 77: not permitted here.
static int fill_disk(void)
{
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", folder, "tmpfs", 0, "size=2m") != 0)
    return 77;
  struct store *store;
  struct error err = {0};
  size_t rows = 0, committed = 0;
  enum status status = store_create(path, false, &store, &err);
  while (status == STATUS_OK && rows < 10000000) {
    struct store_span span = make_span(rows);
    struct store_tag tag = {.span_id = span.span_id, .key = store_string(store, "key", 3), .type = STORE_INT};
    char text[32];
    snprintf(text, sizeof text, "name %zu", rows % 1000);
    span.name = store_string(store, text, strlen(text));
    status = store_add_spans(store, 1, &span, 1, &err);
    if (status == STATUS_OK)
      status = store_add_tags(store, 1, &tag, 1, &err);
    rows++;
    if (status == STATUS_OK && rows % 3000 == 0) {
      status = store_commit(store, &err);
      committed = status == STATUS_OK ? rows : committed;
    }
  }
  if (status != STATUS_SYSTEM || committed == 0 || err.advice[0] == 0 || strstr(err.where, "out.xsp") == NULL)
    return 1;
  if (store_commit(store, &err) != STATUS_SYSTEM || store_finish(store, &err) != STATUS_SYSTEM) // stays failed
    return 2;
  store_close(store);
  if (access(path, F_OK) == 0)
    return 3;
  return check_rows(partial) == committed ? 0 : 4;
}

static void test_full_disk_is_an_error_and_the_file_readable(void **state)
{
  (void)state;
  pid_t child = fork();
  if (child == 0)
    _exit(fill_disk());
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    print_message("skipped: mounting is not permitted here\n");
  else
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_killed_writers_lose_nothing_committed, clear_folder),
      cmocka_unit_test_teardown(test_a_half_written_transaction_is_undone, clear_folder),
      cmocka_unit_test_teardown(test_recovery_without_permission_to_write, clear_folder),
      cmocka_unit_test_teardown(test_the_journal_keeps_its_place, clear_folder),
      cmocka_unit_test_teardown(test_names_that_are_taken, clear_folder),
      cmocka_unit_test_teardown(test_a_name_that_is_taken_meanwhile, clear_folder),
      cmocka_unit_test_teardown(test_full_disk_is_an_error_and_the_file_readable, clear_folder),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
