// SPDX-License-Identifier: Apache-2.0
// Threads that append while a keeper takes: each request is in exactly one journal, in whole records.
#include "serve/journal.h"

#include "base/folder.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4
#define REQUESTS 500u

// Instead of the C library's: a disk that fails once, when another request is written. Who wrote it has the journal's lock until it
// waits, and the failure is noted under that lock.
static atomic_bool must_fail, is_failing;
int fdatasync(int file)
{
  struct stat before, now;
  if (!atomic_exchange(&must_fail, false))
    return (int)syscall(SYS_fdatasync, file);
  assert_int_equal(fstat(file, &before), 0);
  atomic_store(&is_failing, true);
  do {
    sched_yield();
    assert_int_equal(fstat(file, &now), 0);
  } while (now.st_size == before.st_size);
  errno = EIO;
  return -1;
}

struct shared {
  char folder[64];
  struct journal *journal;
  unsigned seen[THREADS][REQUESTS]; // how often a finished journal had the request
};

static void set_up(struct shared *shared, uint64_t file_bytes, bool sync)
{
  *shared = (struct shared){.folder = "/tmp/xsp-journal-test-XXXXXX"};
  assert_non_null(mkdtemp(shared->folder));
  const struct journal_options options = {.folder = shared->folder,
                                          .file_bytes = file_bytes,
                                          .quiet_ns = UINT64_C(3600000000000),
                                          .refresh_ns = 1000000,
                                          .sync = sync};
  assert_int_equal(journal_open(&options, &shared->journal, NULL), STATUS_OK);
}

static struct slice request_of(unsigned thread, unsigned number, char text[64])
{
  int length = snprintf(text, 64, "%u %u %.*s", thread, number, (int)(number % 32), "................................");
  return (struct slice){text, (size_t)length + 1};
}

// Counts the records of a journal by reading the file as an importer does.
static size_t read_journal(struct shared *shared, const char *name)
{
  char path[256], magic[8], text[64];
  struct otlp_journal_head head;
  size_t count = 0;
  snprintf(path, sizeof path, "%s/%s.journal", shared->folder, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(magic, 1, sizeof magic, file), sizeof magic);
  assert_memory_equal(magic, OTLP_JOURNAL_MAGIC, sizeof magic);
  for (; fread(&head, 1, sizeof head, file) == sizeof head; count++) {
    unsigned thread = 0, number = 0;
    assert_true(otlp_journal_head_is_possible(&head) && head.length <= sizeof text);
    assert_int_equal(fread(text, 1, head.length, file), head.length);
    assert_true(head.checksum == otlp_journal_checksum(head.encoding, (struct slice){text, head.length}));
    assert_int_equal(sscanf(text, "%u %u", &thread, &number), 2);
    shared->seen[thread][number]++;
  }
  fclose(file);
  return count;
}

struct sender {
  struct shared *shared;
  unsigned thread;
  pthread_t id;
};

static void *send_all(void *context)
{
  struct sender *sender = context;
  for (unsigned number = 0; number < REQUESTS; number++) {
    char text[64];
    const uint64_t resource = sender->thread;
    enum journal_result result = JOURNAL_BUSY;
    while (result == JOURNAL_BUSY) {
      result = journal_append(sender->shared->journal, OTLP_PROTOBUF, request_of(sender->thread, number, text),
                              &resource, 1, NULL);
      if (result == JOURNAL_BUSY)
        sched_yield();
    }
    assert_int_equal(result, JOURNAL_DONE);
  }
  return NULL;
}

static void *take_all(void *context)
{
  struct shared *shared = context;
  struct journal_work work;
  while (journal_next(shared->journal, &work)) {
    if (work.is_closed)
      read_journal(shared, work.name);
    journal_done(shared->journal, &work, STATUS_OK);
  }
  return NULL;
}

static void tear_down(struct shared *shared)
{
  journal_free(shared->journal);
  folder_remove_flat(shared->folder);
}

static void check_threads(bool sync)
{
  static struct shared shared;
  struct sender senders[THREADS];
  pthread_t keeper;
  set_up(&shared, 4000, sync);
  pthread_create(&keeper, NULL, take_all, &shared);
  for (unsigned i = 0; i < THREADS; i++) {
    senders[i] = (struct sender){&shared, i, 0};
    pthread_create(&senders[i].id, NULL, send_all, &senders[i]);
  }
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join(senders[i].id, NULL);
  journal_end(shared.journal);
  pthread_join(keeper, NULL);
  for (unsigned thread = 0; thread < THREADS; thread++)
    for (unsigned number = 0; number < REQUESTS; number++)
      assert_int_equal(shared.seen[thread][number], 1);
  tear_down(&shared);
}

static void test_threads(void **state)
{
  (void)state;
  check_threads(false);
}

static void test_threads_with_sync(void **state)
{
  (void)state;
  check_threads(true);
}

static void note_room(void *context, unsigned left)
{
  *(unsigned *)context = left;
}

// Closed journals that nobody stores are bounded: then requests are refused, and taken again when one is stored.
static void test_busy(void **state)
{
  unsigned left = 0;
  static struct shared shared;
  struct journal_work work;
  char text[64];
  (void)state;
  set_up(&shared, 1, false);
  journal_watch(shared.journal, note_room, &left);
  for (unsigned i = 0; i < JOURNAL_WAITING_MOST; i++) {
    assert_int_equal(left, JOURNAL_WAITING_MOST - i);
    assert_int_equal(journal_append(shared.journal, OTLP_JSON, request_of(0, i, text), NULL, 0, NULL), JOURNAL_DONE);
  }
  assert_int_equal(left, 0);
  assert_int_equal(journal_append(shared.journal, OTLP_JSON, request_of(0, 9, text), NULL, 0, NULL), JOURNAL_BUSY);
  assert_true(journal_next(shared.journal, &work));
  assert_true(work.is_closed && !work.is_stored);
  assert_int_equal(read_journal(&shared, work.name), 1);
  journal_done(shared.journal, &work, STATUS_OK);
  assert_int_equal(left, 1);
  journal_watch(shared.journal, NULL, NULL);
  assert_int_equal(journal_append(shared.journal, OTLP_JSON, request_of(0, 9, text), NULL, 0, NULL), JOURNAL_DONE);
  assert_int_equal(left, 1);
  journal_end(shared.journal);
  while (journal_next(shared.journal, &work))
    journal_done(shared.journal, &work, STATUS_OK);
  tear_down(&shared);
}

// A second server of one folder is refused; the next one continues the newest journal.
static void test_again(void **state)
{
  static struct shared shared;
  const struct journal_options options = {.folder = shared.folder, .file_bytes = 1000, .quiet_ns = UINT64_MAX / 4};
  struct journal *second;
  struct journal_work work;
  char text[64];
  (void)state;
  set_up(&shared, 1000, false);
  assert_int_equal(journal_append(shared.journal, OTLP_JSON, request_of(1, 1, text), NULL, 0, NULL), JOURNAL_DONE);
  assert_int_equal(journal_open(&options, &second, NULL), STATUS_SYSTEM);
  assert_null(second);
  journal_free(shared.journal); // as if it had been killed
  assert_int_equal(journal_open(&options, &shared.journal, NULL), STATUS_OK);
  assert_int_equal(journal_append(shared.journal, OTLP_JSON, request_of(1, 2, text), NULL, 0, NULL), JOURNAL_DONE);
  journal_end(shared.journal);
  assert_true(journal_next(shared.journal, &work));
  assert_int_equal(read_journal(&shared, work.name), 2);
  journal_done(shared.journal, &work, STATUS_OK);
  assert_false(journal_next(shared.journal, &work));
  tear_down(&shared);
}

static void *send_one(void *context)
{
  char text[64];
  return journal_append(context, OTLP_JSON, request_of(0, 1, text), NULL, 0, NULL) == JOURNAL_FAILED ? context : NULL;
}

// What waits for a sync that fails has failed, too: the next sync would say nothing of it.
static void test_failed_sync(void **state)
{
  static struct shared shared;
  struct journal_work work;
  pthread_t first, second;
  void *has_failed[2];
  char text[64];
  (void)state;
  set_up(&shared, 1000, true);
  atomic_store(&must_fail, true);
  assert_int_equal(pthread_create(&first, NULL, send_one, shared.journal), 0);
  while (!atomic_load(&is_failing))
    sched_yield();
  assert_int_equal(pthread_create(&second, NULL, send_one, shared.journal), 0);
  assert_int_equal(pthread_join(first, &has_failed[0]) | pthread_join(second, &has_failed[1]), 0);
  assert_true(has_failed[0] != NULL && has_failed[1] != NULL);
  assert_int_equal(journal_append(shared.journal, OTLP_JSON, request_of(0, 2, text), NULL, 0, NULL), JOURNAL_DONE);
  journal_end(shared.journal);
  for (unsigned count = 2; journal_next(shared.journal, &work); count = 1) { // another journal since
    assert_int_equal(read_journal(&shared, work.name), count);
    journal_done(shared.journal, &work, STATUS_OK);
  }
  tear_down(&shared);
}

// What could not be imported while the journal was open is tried once more before the journal goes.
static void test_refused_while_open(void **state)
{
  static struct shared shared;
  struct journal_work work;
  char text[64];
  (void)state;
  set_up(&shared, 1000, false);
  assert_int_equal(journal_append(shared.journal, OTLP_JSON, request_of(0, 1, text), NULL, 0, NULL), JOURNAL_DONE);
  assert_true(journal_next(shared.journal, &work));
  assert_false(work.is_closed);
  journal_done(shared.journal, &work, STATUS_INPUT);
  journal_end(shared.journal);
  assert_true(journal_next(shared.journal, &work));
  assert_true(work.is_closed && !work.is_stored);
  journal_done(shared.journal, &work, STATUS_OK);
  assert_false(journal_next(shared.journal, &work));
  tear_down(&shared);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_threads), cmocka_unit_test(test_threads_with_sync),  cmocka_unit_test(test_failed_sync),
      cmocka_unit_test(test_busy),    cmocka_unit_test(test_refused_while_open), cmocka_unit_test(test_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
