// SPDX-License-Identifier: Apache-2.0
// The folder of a server: its lock, the journals that an earlier server left, names of new ones. Called by journal.c.
#include "base/clock.h"
#include "base/debug.h"
#include "base/input_file.h"
#include "base/scoped.h"
#include "base/sorted.h"
#include "otlp/json_request.h"
#include "serve/journal_private.h"
#include "serve/request_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "spans-"
#define JOURNAL ".journal"
#define LOCK_NAME ".xsp-serve.lock"
#define PATH_SIZE (JOURNAL_NAME_SIZE + 32)

static void path_of(char path[PATH_SIZE], const char *name, const char *ending)
{
  snprintf(path, PATH_SIZE, "%s%s", name, ending);
}

// ---- the folder ------------------------------------------------------------------------------------------------------
static enum status open_folder(struct journal *journal, struct error *err)
{
  static const char what[] = "cannot use folder";
  const char *folder = journal->options.folder;
  if (mkdir(folder, 0700) != 0 && errno != EEXIST)
    return error_set_errno(err, STATUS_SYSTEM, what, folder, "--dir with a folder that can be made");
  journal->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (journal->folder < 0)
    return error_set_errno(err, STATUS_SYSTEM, what, folder, "--dir with a folder that can be written to");
  journal->folder_lock = openat(journal->folder, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (journal->folder_lock < 0)
    return error_set_errno(err, STATUS_SYSTEM, what, folder, "--dir with a folder that can be written to");
  if (flock(journal->folder_lock, LOCK_EX | LOCK_NB) != 0)
    return error_set(err, STATUS_SYSTEM, what, folder, "--dir with another folder", "another xsp serve uses it");
  return STATUS_OK;
}

// ---- what an earlier server left -------------------------------------------------------------------------------------
SORTED_BY(by_name, struct journal_name, strcmp(a->text, b->text))

// Fills journal->closed, oldest first, and removes what was half made of them.
static enum status list_journals(struct journal *journal, struct error *err)
{
  int copy = dup(journal->folder);
  DIR *entries SCOPED(scoped_closedir) = copy >= 0 ? fdopendir(copy) : NULL;
  if (entries == NULL)
    return error_set_errno(err, STATUS_SYSTEM, "cannot read folder", journal->options.folder, NULL);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    struct slice name = slice_of(entry->d_name);
    if (!slice_starts_with(name, PREFIX) || !slice_ends_with(name, JOURNAL) || name.length >= JOURNAL_NAME_SIZE)
      continue;
    struct stat facts;
    if (fstatat(journal->folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode) &&
        facts.st_size == 0) { // its server was killed while it made it
      unlinkat(journal->folder, entry->d_name, 0);
      continue;
    }
    struct journal_name *found = vector_add(&journal->closed);
    memcpy(found->text, name.data, name.length - strlen(JOURNAL));
  }
  vector_sort(&journal->closed, by_name);
  for (size_t i = 0; i < journal->closed.count; i++) {
    char path[PATH_SIZE];
    path_of(path, journal->closed.items[i].text, ".xsp.partial");
    unlinkat(journal->folder, path, 0);
    path_of(path, journal->closed.items[i].text, ".xsp.partial-journal");
    unlinkat(journal->folder, path, 0);
  }
  return STATUS_OK;
}

static void note_resources(struct journal *journal, enum otlp_encoding encoding, struct slice body)
{
  struct request_verdict verdict;
  serve_request_check(encoding, body, journal->options.seed, &verdict);
  for (size_t i = 0; i < verdict.resource_count; i++)
    (void)map_at(&journal->resources, map_number(verdict.resources[i]), NULL);
}

// The bytes up to the end of the last whole record, whose resources are noted; 0: it is no journal.
static uint64_t read_whole(struct journal *journal, int file, uint64_t size)
{
  char magic[OTLP_JOURNAL_MAGIC_BYTES];
  char *body = NULL;
  uint64_t at = sizeof magic;
  bool is_whole = pread(file, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
                  memcmp(magic, OTLP_JOURNAL_MAGIC, sizeof magic) == 0;
  if (!is_whole)
    return 0;
  while (is_whole) {
    struct otlp_journal_head head;
    is_whole = pread(file, &head, sizeof head, (off_t)at) == (ssize_t)sizeof head &&
               otlp_journal_head_is_possible(&head) && head.length <= size - at - sizeof head;
    if (!is_whole)
      break;
    body = memory_resize(body, head.length + OTLP_JSON_PADDING, 1);
    memset(body + head.length, 0, OTLP_JSON_PADDING);
    struct slice request = {body, head.length};
    is_whole = pread(file, body, head.length, (off_t)(at + sizeof head)) == (ssize_t)head.length &&
               otlp_journal_checksum(head.encoding, request) == head.checksum;
    if (is_whole) {
      note_resources(journal, head.encoding, request);
      at += sizeof head + head.length;
    }
  }
  free(body);
  return at;
}

// journal->file is open now.
static void use(struct journal *journal, uint64_t size)
{
  journal->size = journal->synced = size;
  journal->stored = journal->tried = OTLP_JOURNAL_MAGIC_BYTES; // nothing, as long as there is nothing else
  journal->store_ns = 0;
  journal->stored_ns = journal->grown_ns = clock_now_ns(CLOCK_MONOTONIC);
  journal->number++;
}

// Opens the newest journal again, without what was written of a request that was never acknowledged.
static void continue_newest(struct journal *journal)
{
  if (journal->closed.count == 0)
    return;
  struct journal_name *newest = &journal->closed.items[journal->closed.count - 1];
  struct stat facts;
  char path[PATH_SIZE];
  path_of(path, newest->text, JOURNAL);
  int file = regular_file_open(journal->folder, path, O_RDWR, &facts);
  uint64_t size = file >= 0 ? read_whole(journal, file, (uint64_t)facts.st_size) : 0;
  if (size == 0 || ftruncate(file, (off_t)size) != 0) { // it stays among the closed ones: the importer judges it
    map_done(&journal->resources);
    if (file >= 0)
      close(file);
    return;
  }
  journal->file = file;
  journal->name = *newest;
  use(journal, size);
  journal->synced = 0;
  journal->closed.count--;
  DEBUG(serve, "continues %s at byte %llu", path, (unsigned long long)size);
}

enum status journal_folder_open(struct journal *journal, struct error *err)
{
  XSP_TRY(open_folder(journal, err));
  XSP_TRY(list_journals(journal, err));
  continue_newest(journal);
  return STATUS_OK;
}

// ---- new journals ----------------------------------------------------------------------------------------------------
// Names sort by time. One that is taken, by a journal or its file, becomes a millisecond later.
static void make_name(struct journal_name *name, uint64_t now_ms)
{
  time_t seconds = (time_t)(now_ms / 1000);
  struct tm parts;
  char date[32];
  gmtime_r(&seconds, &parts);
  strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
  snprintf(name->text, sizeof name->text, PREFIX "%s-%03u", date, (unsigned)(now_ms % 1000));
}

static int create(struct journal *journal, struct journal_name *ret_name)
{
  uint64_t now_ms = clock_now_ns(CLOCK_REALTIME) / 1000000;
  for (uint64_t ms = now_ms; ms < now_ms + 1000; ms++) {
    char path[PATH_SIZE];
    make_name(ret_name, ms);
    path_of(path, ret_name->text, ".xsp");
    if (faccessat(journal->folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
      continue;
    path_of(path, ret_name->text, JOURNAL);
    int file = openat(journal->folder, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 || errno != EEXIST)
      return file;
  }
  errno = EEXIST;
  return -1;
}

bool journal_folder_add(struct journal *journal)
{
  struct journal_name name;
  int file = create(journal, &name);
  if (file < 0)
    return false;
  ssize_t written = pwrite(file, OTLP_JOURNAL_MAGIC, OTLP_JOURNAL_MAGIC_BYTES, 0);
  bool is_made = written == (ssize_t)OTLP_JOURNAL_MAGIC_BYTES;
  if (is_made && journal->options.sync)
    is_made = fsync(file) == 0 && fsync(journal->folder) == 0;
  if (!is_made) {
    int reason = written >= 0 && errno == 0 ? ENOSPC : errno;
    journal_folder_remove(journal, name.text);
    close(file);
    errno = reason;
    return false;
  }
  journal->file = file;
  journal->name = name;
  use(journal, OTLP_JOURNAL_MAGIC_BYTES);
  return true;
}

void journal_folder_remove(const struct journal *journal, const char *name)
{
  char path[PATH_SIZE];
  path_of(path, name, JOURNAL);
  unlinkat(journal->folder, path, 0);
}

void journal_folder_set_aside(const struct journal *journal, const char *name)
{
  char path[PATH_SIZE], aside[PATH_SIZE];
  path_of(path, name, JOURNAL);
  path_of(aside, name, JOURNAL ".refused");
  renameat(journal->folder, path, journal->folder, aside);
}
