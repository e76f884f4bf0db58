// SPDX-License-Identifier: Apache-2.0
// Completes what a killed writer left in a private copy; see database_connect_to_copy. Called by open.c.
//
// The copy is in a folder of its own (0700), and SQLite sees nothing but it. So whatever a journal holds, it could at worst
// spoil the copy.
#include "base/debug.h"
#include "base/input_file.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "store/database.h"
#include "store/problem.h"
#include "store/sqlite_api.h"
#include "store/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum reader_part { PART_FILE, PART_JOURNAL, PART_LOG, PARTS };
static const char *const endings[PARTS] = {"", "-journal", "-wal"};

struct original {
  const char *path; // by realpath
  const char *what, *shown_path;
  struct stat folder, facts[PARTS];
  int parts[PARTS];    // descriptors; -1: it has none, or
  int problems[PARTS]; // errno of one that is there but does not open
};
struct copy {
  char folder[3800], path[4000];
  struct unfinished unfinished;
};

// ---- may it be replayed? ---------------------------------------------------------------------------------------------
static bool is_own(const struct stat *facts)
{
  return facts->st_uid == geteuid() || facts->st_uid == 0;
}

static bool has_part(const struct original *original, enum reader_part part)
{
  return original->parts[part] >= 0 || original->problems[part] != 0;
}

static enum status check_own(const struct original *original, struct error *err)
{
  bool is_all_own = is_own(&original->folder);
  for (enum reader_part part = PART_FILE; part < PARTS; part++)
    is_all_own &= !has_part(original, part) || is_own(&original->facts[part]);
  if (is_all_own && (original->folder.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return STATUS_OK;
  char advice[sizeof err->advice];
  snprintf(advice, sizeof advice, "xsp recover %.200s -o OUT.xsp", original->shown_path);
  return error_set(err, STATUS_INPUT, original->what, original->shown_path, advice,
                   "the journal next to it has to be replayed first, but %s",
                   is_all_own ? "other users can write to its folder" : "one of them or the folder is another user's");
}

// Returns whether there was a journal that the file's writer cannot have made.
static bool leave_out_strangers(struct original *original)
{
  bool has_left_out = false;
  for (enum reader_part part = PART_JOURNAL; part < PARTS; part++) {
    const struct stat *facts = &original->facts[part];
    if (!has_part(original, part) || is_own(facts) || facts->st_uid == original->facts[PART_FILE].st_uid)
      continue;
    if (original->parts[part] >= 0)
      close(original->parts[part]);
    original->parts[part] = -1;
    original->problems[part] = 0;
    has_left_out = true;
  }
  return has_left_out;
}

// What will be replayed has to be readable; what was left out does not.
static enum status check_opened(const struct original *original, struct error *err)
{
  for (enum reader_part part = PART_JOURNAL; part < PARTS; part++)
    if (original->problems[part] != 0) {
      errno = original->problems[part];
      return error_set_errno(err, STATUS_INPUT, original->what, original->shown_path,
                             "reading as the user who owns the journal next to it");
    }
  return STATUS_OK;
}

// A journal that is a link or a FIFO is none: SQLite makes regular files.
static bool open_part(struct original *original, int folder, const char *name, enum reader_part part)
{
  struct stat *facts = &original->facts[part];
  original->parts[part] = regular_file_open(folder, name, O_RDONLY, facts);
  if (original->parts[part] >= 0)
    return true;
  int problem = errno;
  if (part != PART_FILE && problem != ENOENT && fstatat(folder, name, facts, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(facts->st_mode))
    original->problems[part] = problem;
  errno = problem;
  return part != PART_FILE;
}

static enum status open_original(struct original *original, struct error *err)
{
  char *folder_path SCOPED(scoped_free) = memory_text(original->path);
  char *name_path SCOPED(scoped_free) = memory_text(original->path);
  int folder SCOPED(scoped_close) = open(dirname(folder_path), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || fstat(folder, &original->folder) != 0)
    return error_set_errno(err, STATUS_INPUT, original->what, original->shown_path, NULL);
  for (enum reader_part part = PART_FILE; part < PARTS; part++) {
    char name[NAME_MAX + 16];
    snprintf(name, sizeof name, "%s%s", basename(name_path), endings[part]);
    if (!open_part(original, folder, name, part))
      return error_set_errno(err, STATUS_INPUT, original->what, name, NULL);
  }
  return STATUS_OK;
}

// ---- the copy --------------------------------------------------------------------------------------------------------
// The first stretch of data at or after *start: a hole takes no room and stays one. False: there is none.
static bool find_data(int file, off_t size, off_t *start, off_t *ret_end)
{
  *start = lseek(file, *start, SEEK_DATA);
  if (*start < 0 || *start >= size)
    return false;
  off_t end = lseek(file, *start, SEEK_HOLE);
  *ret_end = end < 0 || end > size ? size : end;
  return true;
}

static uint64_t data_bytes(const struct original *original)
{
  uint64_t bytes = 0;
  for (enum reader_part part = PART_FILE; part < PARTS; part++)
    if (original->parts[part] >= 0)
      for (off_t start = 0, end; find_data(original->parts[part], original->facts[part].st_size, &start, &end);
           start = end)
        bytes += (uint64_t)(end - start);
  return bytes;
}

// Leaves `to` at its end.
static bool copy_data(int from, off_t size, int to)
{
  for (off_t start = 0, end; find_data(from, size, &start, &end);) {
    if (lseek(to, start, SEEK_SET) < 0)
      return false;
    while (start < end) {
      ssize_t part = sendfile(to, from, &start, end - start < 1 << 30 ? (size_t)(end - start) : 1 << 30);
      if (part < 0)
        return false;
      if (part == 0) // cut short meanwhile
        end = size = start;
    }
  }
  return ftruncate(to, size) == 0 && lseek(to, size, SEEK_SET) >= 0;
}

// The name of a super-journal would be the last thing in a journal. xsp names none, so that no journal is to have one: with
// zeros at its end it is replayed like any other.
static bool end_journal(int journal)
{
  const char zeros[16] = {0};
  return write(journal, zeros, sizeof zeros) == (ssize_t)sizeof zeros;
}

static const char what_copy[] = "cannot complete trace in a private copy";
static const char advice_copy[] = "TMPDIR=FOLDER with room for the file";

static enum status check_room(const struct original *original, const struct copy *copy, struct error *err)
{
  struct statvfs facts;
  uint64_t needed = data_bytes(original);
  if (statvfs(copy->folder, &facts) != 0 || needed <= (uint64_t)facts.f_bavail * facts.f_frsize)
    return STATUS_OK;
  return error_set(err, STATUS_SYSTEM, what_copy, copy->folder, advice_copy,
                   "it takes %" PRIu64 " bytes, and %" PRIu64 " are free there", needed,
                   (uint64_t)facts.f_bavail * facts.f_frsize);
}

static void remove_copy(const char *folder)
{
  static const char *const all[] = {"/trace", "/trace-journal", "/trace-wal", "/trace-shm"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    unfinished_unlink(folder, all[i]);
  rmdir(folder);
}

static enum status make_copy(const struct original *original, struct copy *copy, struct error *err)
{
  const char *temporary = getenv("TMPDIR");
  snprintf(copy->folder, sizeof copy->folder, "%s/xsp-copy-XXXXXX",
           temporary != NULL && temporary[0] != 0 ? temporary : "/tmp");
  copy->unfinished = (struct unfinished){copy->folder, remove_copy};
  unfinished_add(&copy->unfinished); // before it is made: a signal finds nothing, or the folder
  char *folder = mkdtemp(copy->folder) != NULL ? realpath(copy->folder, NULL) : NULL; // SQLite's names are such
  bool is_copied = folder != NULL && strlen(folder) < sizeof copy->folder;
  snprintf(copy->path, sizeof copy->path, "%.3799s/trace", is_copied ? folder : copy->folder);
  free(folder);
  if (is_copied)
    XSP_TRY(check_room(original, copy, err));
  for (enum reader_part part = PART_FILE; part < PARTS && is_copied; part++) {
    char path[sizeof copy->path + 16];
    snprintf(path, sizeof path, "%s%s", copy->path, endings[part]);
    if (original->parts[part] < 0)
      continue;
    int to SCOPED(scoped_close) = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    is_copied = to >= 0 && copy_data(original->parts[part], original->facts[part].st_size, to) &&
                (part != PART_JOURNAL || end_journal(to));
  }
  if (!is_copied)
    return error_set_errno(err, STATUS_SYSTEM, what_copy, copy->folder, advice_copy);
  debug_stop("copy");
  return STATUS_OK;
}

// ---- a VFS for which nothing exists but the copy ---------------------------------------------------------------------
struct copy_vfs {
  sqlite3_vfs vfs; // first: SQLite hands it back
  const sqlite3_vfs *system;
  const char *path;
};

static bool is_of_copy(sqlite3_vfs *vfs, const char *name)
{
  const char *path = ((struct copy_vfs *)(void *)vfs)->path;
  size_t length = strlen(path);
  return name == NULL ||
         (strncmp(name, path, length) == 0 && (name[length] == 0 || strcmp(name + length, endings[PART_JOURNAL]) == 0 ||
                                               strcmp(name + length, endings[PART_LOG]) == 0));
}

static int open_of_copy(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
  file->pMethods = NULL;
  return is_of_copy(vfs, name) ? ((struct copy_vfs *)(void *)vfs)->system->xOpen(vfs, name, file, flags, ret_flags)
                               : SQLITE_CANTOPEN;
}

static int delete_of_copy(sqlite3_vfs *vfs, const char *name, int is_synced)
{
  return is_of_copy(vfs, name) ? ((struct copy_vfs *)(void *)vfs)->system->xDelete(vfs, name, is_synced)
                               : SQLITE_IOERR_DELETE;
}

static int access_of_copy(sqlite3_vfs *vfs, const char *name, int question, int *ret_answer)
{
  *ret_answer = 0;
  return is_of_copy(vfs, name) ? ((struct copy_vfs *)(void *)vfs)->system->xAccess(vfs, name, question, ret_answer)
                               : SQLITE_OK;
}

static enum status complete_copy(const struct original *original, const struct copy *copy, struct error *err)
{
  const sqlite3_vfs *system = sqlite3_vfs_find(NULL);
  struct copy_vfs own = {.vfs = *system, .system = system, .path = copy->path};
  char name[40];
  snprintf(name, sizeof name, "xsp-copy-%p", (void *)&own); // one for each thread
  own.vfs.zName = name;
  own.vfs.xOpen = open_of_copy;
  own.vfs.xDelete = delete_of_copy;
  own.vfs.xAccess = access_of_copy;
  sqlite3_vfs_register(&own.vfs, 0);
  sqlite3 *db = NULL;
  int code = sqlite3_open_v2(copy->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, name);
  if (code == SQLITE_OK) // the first read replays a journal; a log is written into the file
    code = sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema; PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
  enum status status = code == SQLITE_OK ? STATUS_OK : problem_sqlite(err, original->what, original->shown_path, db);
  sqlite3_close(db);
  sqlite3_vfs_unregister(&own.vfs);
  return status;
}

// ---- the front door --------------------------------------------------------------------------------------------------
static enum status connect_to(const struct original *original, sqlite3 **ret_db, struct error *err)
{
  struct copy copy;
  enum status status = make_copy(original, &copy, err);
  if (status == STATUS_OK)
    status = complete_copy(original, &copy, err);
  if (status == STATUS_OK && database_connect(copy.path, true, ret_db) != SQLITE_OK)
    status = problem_sqlite(err, original->what, original->shown_path, *ret_db);
  remove_copy(copy.folder);
  unfinished_forget(&copy.unfinished);
  return status;
}

enum status database_connect_to_copy(const char *path, enum database_trust trust, const char *what,
                                     const char *shown_path, sqlite3 **ret_db, bool *ret_left_out, struct error *err)
{
  struct original original = {.path = path, .what = what, .shown_path = shown_path, .parts = {-1, -1, -1}};
  enum status status = open_original(&original, err);
  if (status == STATUS_OK)
    *ret_left_out = trust == DATABASE_TRUST_OWNER && leave_out_strangers(&original);
  if (status == STATUS_OK && trust == DATABASE_TRUST_OWN)
    status = check_own(&original, err);
  if (status == STATUS_OK)
    status = check_opened(&original, err);
  if (status == STATUS_OK)
    status = connect_to(&original, ret_db, err);
  for (enum reader_part part = PART_FILE; part < PARTS; part++)
    if (original.parts[part] >= 0)
      close(original.parts[part]);
  return status;
}
