// SPDX-License-Identifier: Apache-2.0
// Appends requests to the open journal, and hands out what is to be stored. Called by the threads of requests and by the keeper.
//
// Group commit: the first thread that finds its request not synced syncs for all that were written before, without the lock.
// A closed journal is synced by its file (store_finish) before it is removed.
#include "serve/journal.h"

#include "base/clock.h"
#include "base/condition.h"
#include "base/debug.h"
#include "base/scoped.h"
#include "serve/journal_private.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#define RETRY_NS UINT64_C(2000000000) // after a failure to store
#define REFRESH_BUSY 10u              // times refresh_ns: how often the file of a journal that grows is made
#define REFRESH_REST 5u               // times as long as it took: the least between two of them

enum status journal_open(const struct journal_options *options, struct journal **ret_journal, struct error *err)
{
  struct journal *journal = memory_new(1, sizeof *journal);
  pthread_mutex_init(&journal->lock, NULL);
  condition_init(&journal->changed);
  journal->options = *options;
  journal->file = journal->folder = journal->folder_lock = -1;
  enum status status = journal_folder_open(journal, err);
  if (status != STATUS_OK) {
    journal_free(journal);
    journal = NULL;
  }
  *ret_journal = journal;
  return status;
}

void journal_free(struct journal *journal)
{
  if (journal == NULL)
    return;
  const int files[] = {journal->file, journal->folder_lock, journal->folder};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    if (files[i] >= 0)
      close(files[i]);
  map_done(&journal->resources);
  vector_done(&journal->closed);
  pthread_cond_destroy(&journal->changed);
  pthread_mutex_destroy(&journal->lock);
  free(journal);
}

// Locked.
static void report_room(const struct journal *journal)
{
  size_t closed = journal->closed.count;
  if (journal->watch != NULL)
    journal->watch(journal->watch_context, closed < JOURNAL_WAITING_MOST ? JOURNAL_WAITING_MOST - (unsigned)closed : 0);
}

void journal_watch(struct journal *journal, void (*fn)(void *context, unsigned left), void *context)
{
  SCOPED_LOCK(&journal->lock);
  journal->watch = fn;
  journal->watch_context = context;
  report_room(journal);
}

// ---- appending -------------------------------------------------------------------------------------------------------
// Locked. The next request begins another journal.
static void close_open(struct journal *journal)
{
  while (journal->is_syncing)
    pthread_cond_wait(&journal->changed, &journal->lock);
  if (journal->file < 0)
    return;
  if (journal->options.sync && journal->unsynced_number < journal->number && journal->synced < journal->size &&
      fdatasync(journal->file) != 0)
    journal->unsynced_number = journal->number;
  close(journal->file);
  journal->file = -1;
  journal->first_is_stored = journal->closed.count == 0 && journal->stored >= journal->size;
  *vector_add(&journal->closed) = journal->name;
  report_room(journal);
  map_done(&journal->resources);
  DEBUG(serve, "%s is closed at %llu bytes", journal->name.text, (unsigned long long)journal->size);
  pthread_cond_broadcast(&journal->changed);
}

// At journal->size, so that what a failed write left there is written over.
static bool write_record(struct journal *journal, const struct otlp_journal_head *head, struct slice body)
{
  struct iovec parts[] = {{(void *)head, sizeof *head}, {(void *)body.data, body.length}};
  size_t whole = sizeof *head + body.length, done = 0;
  ssize_t written = pwritev(journal->file, parts, 2, (off_t)journal->size);
  while (written > 0 && (done += (size_t)written) < whole) { // cut short: by a full disk, or by a signal
    size_t from = done > sizeof *head ? done - sizeof *head : 0;
    written = done < sizeof *head
                  ? pwrite(journal->file, (const char *)head + done, sizeof *head - done, (off_t)(journal->size + done))
                  : pwrite(journal->file, body.data + from, body.length - from, (off_t)(journal->size + done));
  }
  if (done == whole)
    return true;
  int reason = written == 0 ? ENOSPC : errno;
  if (ftruncate(journal->file, (off_t)journal->size) != 0)
    DEBUG(serve, "what is left of a request stays in %s", journal->name.text);
  errno = reason;
  return false;
}

// Locked. Waits until the disk has the journal up to `size`, or syncs it for all who wait. Linux reports a failed write once, and
// takes the pages for written afterwards: a second sync would say nothing. So the journal is closed, and all who wait have failed.
static bool sync_to(struct journal *journal, uint64_t number, uint64_t size)
{
  while (journal->number == number && journal->file >= 0 && journal->synced < size) {
    if (journal->is_syncing) {
      pthread_cond_wait(&journal->changed, &journal->lock);
      continue;
    }
    uint64_t target = journal->size;
    journal->is_syncing = true;
    pthread_mutex_unlock(&journal->lock);
    bool is_synced = fdatasync(journal->file) == 0;
    pthread_mutex_lock(&journal->lock);
    journal->is_syncing = false;
    if (is_synced) {
      journal->synced = target;
    } else {
      journal->unsynced_number = number;
      close_open(journal);
    }
    pthread_cond_broadcast(&journal->changed);
  }
  bool is_there = journal->number == number && journal->file >= 0;
  return is_there || number > journal->unsynced_number; // of one before that, it is not known any more
}

// Whether the journal with these resources, too, would have more than a file can take.
static bool has_too_many(struct journal *journal, const uint64_t *resources, size_t count)
{
  size_t more = 0;
  for (size_t i = 0; i < count; i++)
    more += map_find(&journal->resources, map_number(resources[i])) == NULL;
  return journal->resources.count > 0 && journal->resources.count + more > JOURNAL_RESOURCES_MOST;
}

static enum journal_result append(struct journal *journal, const struct otlp_journal_head *head, struct slice body,
                                  const uint64_t *resources, size_t resource_count)
{
  if (journal->is_ending || journal->closed.count >= JOURNAL_WAITING_MOST)
    return JOURNAL_BUSY;
  if (journal->file >= 0 && has_too_many(journal, resources, resource_count))
    close_open(journal);
  if (journal->file < 0 && !journal_folder_add(journal))
    return JOURNAL_FAILED;
  bool was_tried = journal->size == journal->tried;
  if (!write_record(journal, head, body))
    return JOURNAL_FAILED;
  for (size_t i = 0; i < resource_count; i++)
    (void)map_at(&journal->resources, map_number(resources[i]), NULL);
  journal->size += sizeof *head + body.length;
  journal->grown_ns = clock_now_ns(CLOCK_MONOTONIC);
  uint64_t number = journal->number;
  if (journal->options.sync && !sync_to(journal, number, journal->size))
    return JOURNAL_FAILED;
  if (journal->number == number && journal->size >= journal->options.file_bytes)
    close_open(journal);
  else if (was_tried)
    pthread_cond_broadcast(&journal->changed); // the keeper did not wait for this
  return JOURNAL_DONE;
}

enum journal_result journal_append(struct journal *journal, enum otlp_encoding encoding, struct slice body,
                                   const uint64_t *resources, size_t resource_count, struct error *err)
{
  const struct otlp_journal_head head = otlp_journal_head_of(encoding, body);
  pthread_mutex_lock(&journal->lock);
  enum journal_result result = append(journal, &head, body, resources, resource_count);
  int reason = errno;
  pthread_mutex_unlock(&journal->lock);
  errno = reason;
  if (result == JOURNAL_FAILED)
    (void)error_set_errno(err, STATUS_SYSTEM, "cannot keep a request", journal->options.folder, "freeing space");
  return result;
}

void journal_end(struct journal *journal)
{
  SCOPED_LOCK(&journal->lock);
  journal->is_ending = true;
  journal->retry_ns = 0;
  close_open(journal);
  pthread_cond_broadcast(&journal->changed);
}

// ---- the keeper's side -----------------------------------------------------------------------------------------------
// Locked. When there is something to do; 0: now; UINT64_MAX: not before something changes.
static uint64_t due_ns(const struct journal *journal)
{
  uint64_t due = UINT64_MAX;
  if (journal->closed.count > 0 || journal->is_ending)
    due = 0;
  if (journal->file >= 0 && journal->size > journal->tried) {
    uint64_t quiet = journal->grown_ns + journal->options.refresh_ns;
    uint64_t busy = journal->stored_ns + REFRESH_BUSY * journal->options.refresh_ns;
    uint64_t rested = journal->stored_ns + REFRESH_REST * journal->store_ns;
    uint64_t wanted = quiet < busy ? quiet : busy;
    uint64_t refresh = wanted > rested ? wanted : rested;
    due = refresh < due ? refresh : due;
  }
  if (journal->file >= 0 && journal->grown_ns + journal->options.quiet_ns < due)
    due = journal->grown_ns + journal->options.quiet_ns;
  return due != UINT64_MAX && due < journal->retry_ns ? journal->retry_ns : due;
}

static void wait_until(struct journal *journal, uint64_t time_ns)
{
  if (time_ns == UINT64_MAX)
    pthread_cond_wait(&journal->changed, &journal->lock);
  else
    (void)condition_wait(&journal->changed, &journal->lock, time_ns);
}

bool journal_next(struct journal *journal, struct journal_work *ret_work)
{
  bool has_work = true;
  *ret_work = (struct journal_work){0};
  SCOPED_LOCK(&journal->lock);
  for (uint64_t due; (due = due_ns(journal)) > clock_now_ns(CLOCK_MONOTONIC);)
    wait_until(journal, due);
  if (journal->closed.count == 0 && journal->file >= 0 &&
      clock_now_ns(CLOCK_MONOTONIC) >= journal->grown_ns + journal->options.quiet_ns)
    close_open(journal);
  if (journal->closed.count > 0) {
    memcpy(ret_work->name, journal->closed.items[0].text, sizeof ret_work->name);
    ret_work->is_closed = true;
    ret_work->is_stored = journal->first_is_stored;
  } else if (journal->file >= 0) {
    memcpy(ret_work->name, journal->name.text, sizeof ret_work->name);
    ret_work->bytes = journal->size;
  } else {
    has_work = false;
  }
  journal->stored_ns = has_work && !ret_work->is_closed ? clock_now_ns(CLOCK_MONOTONIC) : journal->stored_ns;
  return has_work;
}

static void remove_first(struct journal *journal)
{
  memmove(journal->closed.items, journal->closed.items + 1,
          (journal->closed.count - 1) * sizeof journal->closed.items[0]);
  journal->closed.count--;
  journal->first_is_stored = false;
  report_room(journal);
}

void journal_done(struct journal *journal, const struct journal_work *work, enum status status)
{
  SCOPED_LOCK(&journal->lock);
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  bool is_open = journal->file >= 0 && strcmp(work->name, journal->name.text) == 0;
  bool is_final = status == STATUS_OK || status == STATUS_INPUT;
  journal->retry_ns = is_final ? 0 : now_ns + RETRY_NS;
  if (is_open && is_final) {
    journal->store_ns = now_ns - journal->stored_ns;
    journal->tried = work->bytes;
    journal->stored = status == STATUS_OK ? work->bytes : journal->stored;
    journal->stored_ns = now_ns;
  }
  if (work->is_closed && status == STATUS_OK)
    journal_folder_remove(journal, work->name);
  if (work->is_closed && status == STATUS_INPUT)
    journal_folder_set_aside(journal, work->name);
  if (work->is_closed && (is_final || journal->is_ending))
    remove_first(journal);
}
