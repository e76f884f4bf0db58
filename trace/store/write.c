// SPDX-License-Identifier: Apache-2.0
// The writer: creates the file, runs its statements, keeps its texts. Called by collect, importers and correlate.
//
// Kill safety: one SQLite transaction from commit to commit, with a rollback journal and without fsync (a killed process
// loses nothing that it gave to the kernel; only store_finish pays for safety against power loss). Chunks append, so the
// journal stays small. What fails once fails for good: the file then holds what was committed before.
#include "base/file_place.h"
#include "base/input_file.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "base/transfer.h"
#include "store/handle.h"
#include "store/leftovers.h"
#include "store/problem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS 30000
#define TRIES_MOST 100u
// A file of that name could be somebody else's, in a folder that everybody writes to, and a link lead anywhere.
#define NEW_FILE (O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

static const char what[] = "cannot write trace", what_create[] = "cannot create trace";

// ---- failing ---------------------------------------------------------------------------------------------------------
enum status writer_check(struct store *store, struct error *err)
{
  if (store->has_failed) {
    if (err != NULL)
      *err = store->failure;
    return store->failure.status;
  }
  if (store->is_writing)
    return STATUS_OK;
  return error_set(err, STATUS_USE, what, store->path, NULL, "the file is open for reading");
}

static const char temporary_advice[] = "TMPDIR=FOLDER, with room for it";

// Of the file that is written, for people: the name of a temporary one is of no use to them.
static const char *shown_path(const struct store *store)
{
  return store->is_temporary ? "a temporary file in TMPDIR" : store->path;
}

enum status writer_failed(struct store *store, struct error *err)
{
  struct error *failure = &store->failure;
  if (!store->has_failed) {
    enum status status = problem_sqlite(failure, what, shown_path(store), store->db);
    if (store->is_temporary && status == STATUS_SYSTEM)
      snprintf(failure->advice, sizeof failure->advice, "%s", temporary_advice);
  }
  store->has_failed = true;
  if (err != NULL)
    *err = store->failure;
  return store->failure.status;
}

// ---- statements ------------------------------------------------------------------------------------------------------
#define STRINGS_8 "(?), (?), (?), (?), (?), (?), (?), (?)"
_Static_assert(WRITER_STRINGS == 32, "four times eight");
static const char *const statement_sql[STATEMENT_COUNT] = {
    [STATEMENT_CHUNK] =
        "INSERT OR REPLACE INTO chunk(run_id, series, part, \"column\", row_count, minimum, maximum, data)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    // Their ids count up from 1, as SQLite numbers rows by itself: then it appends, without looking for the place.
    [STATEMENT_STRING] = "INSERT INTO string(text) VALUES(?)",
    [STATEMENT_STRINGS] = "INSERT INTO string(text) VALUES" STRINGS_8 "," STRINGS_8 "," STRINGS_8 "," STRINGS_8,
    [STATEMENT_TRACE] = "INSERT INTO trace(run_id, trace_id, text) VALUES(?1,"
                        " (SELECT coalesce(max(trace_id), 0) + 1 FROM trace WHERE run_id = ?1), ?2) RETURNING trace_id",
    [STATEMENT_FIND_TRACE] = "SELECT trace_id FROM trace WHERE run_id = ?1 AND text = ?2",
};

enum status writer_start(struct store *store, enum writer_statement which, sqlite3_stmt **ret_statement,
                         struct error *err)
{
  sqlite3_stmt **statement = &store->statements[which];
  if (*statement == NULL)
    sqlite3_prepare_v3(store->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
  *ret_statement = *statement;
  return *statement != NULL ? STATUS_OK : writer_failed(store, err);
}

enum status writer_step(struct store *store, sqlite3_stmt *statement, struct error *err)
{
  int code = sqlite3_step(statement);
  enum status status = code == SQLITE_DONE || code == SQLITE_ROW ? STATUS_OK : writer_failed(store, err);
  sqlite3_reset(statement);
  return status;
}

enum status writer_execute(struct store *store, struct error *err, const char *sql_format, ...)
{
  va_list args;
  va_start(args, sql_format);
  char *sql = sqlite3_vmprintf(sql_format, args);
  va_end(args);
  int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
  sqlite3_free(sql);
  return code == SQLITE_OK ? STATUS_OK : writer_failed(store, err);
}

// ---- create ----------------------------------------------------------------------------------------------------------
// A leftover of a killed writer is set aside, never overwritten: it may be all that is left of a long capture.
static enum status move_away(struct store *store, struct error *err)
{
  const char *path = store->partial_path;
  struct stat facts;
  int file SCOPED(scoped_close) = regular_file_open(AT_FDCWD, path, O_RDWR, &facts);
  if (file < 0 && errno == ENOENT)
    return STATUS_OK;
  if (file < 0 && errno != EINVAL && errno != ELOOP)
    return error_set_errno(err, STATUS_SYSTEM, what_create, path, "another output path");
  if (file < 0)
    return error_set(err, STATUS_SYSTEM, what_create, path, "removing it, or another output path",
                     "it exists and is not a regular file");
  if (flock(file, LOCK_EX | LOCK_NB) != 0)
    return error_set(err, STATUS_SYSTEM, what_create, store->path, "another output path",
                     "another process is writing it");
  if (fstat(file, &facts) != 0 || (facts.st_size == 0 && unlink(path) != 0))
    return error_set_errno(err, STATUS_SYSTEM, what_create, path, "another output path");
  if (facts.st_size == 0)
    return STATUS_OK;
  free(store->aside_path);
  store->aside_path = NULL;
  return leftover_set_aside(path, &store->aside_path, err);
}

// Whether `path` still is the file that was opened: another writer may have moved it away before it was locked.
static bool is_still(const char *path, int file)
{
  struct stat opened, named;
  return fstat(file, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

static enum status claim_partial(struct store *store, struct error *err)
{
  const char *path = store->partial_path;
  for (unsigned tries = 0; tries < TRIES_MOST; tries++) {
    int file = open(path, NEW_FILE, 0666);
    if (file < 0 && errno != EEXIST)
      return error_set_errno(err, STATUS_SYSTEM, what_create, store->path,
                             "a folder that exists, which you may write to");
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && is_still(path, file)) {
      store->lock_file = file;
      store->unfinished = (struct unfinished){store->partial_path, partial_remove};
      unfinished_add(&store->unfinished);
      return STATUS_OK;
    }
    if (file >= 0)
      close(file);
    XSP_TRY(move_away(store, err));
  }
  return error_set(err, STATUS_SYSTEM, what_create, path, "another output path",
                   "other processes make it again and again");
}

static enum status claim_temporary(struct store *store, struct error *err)
{
  store->unfinished = (struct unfinished){store->partial_path, partial_remove};
  unfinished_add(&store->unfinished); // before it is made: a signal finds nothing, or the file
  store->lock_file = mkostemp(store->partial_path, O_CLOEXEC);
  if (store->lock_file < 0 || flock(store->lock_file, LOCK_EX | LOCK_NB) != 0)
    return error_set_errno(err, STATUS_SYSTEM, what_create, shown_path(store), temporary_advice);
  return STATUS_OK;
}

// The journal is made once and kept until the end, so that nobody else can put one in its place between two transactions,
// which SQLite would replay. One without its file is worth nothing.
static enum status claim_journal(const char *partial_path, mode_t mode, struct error *err)
{
  char *journal SCOPED(scoped_free) = memory_resize(NULL, strlen(partial_path) + sizeof "-journal", 1);
  sprintf(journal, "%s-journal", partial_path);
  unlink(journal);
  int file SCOPED(scoped_close) = open(journal, NEW_FILE, mode);
  return file >= 0 ? STATUS_OK : error_set_errno(err, STATUS_SYSTEM, what_create, journal, "another output path");
}

static enum status write_schema(const struct store *store, struct error *err)
{
  size_t size;
  void *image SCOPED(scoped_free) = schema_image(&size);
  return transfer_write(store->lock_file, image, size)
             ? STATUS_OK
             : error_set_errno(err, STATUS_SYSTEM, what_create, shown_path(store),
                               store->is_temporary ? temporary_advice : "a folder with room for it");
}

static enum status open_for_writing(struct store *store, struct error *err)
{
  XSP_TRY(claim_journal(store->partial_path, store->is_temporary ? 0600 : 0666, err));
  XSP_TRY(write_schema(store, err));
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(store->partial_path, &store->db, flags, NULL);
  if (code != SQLITE_OK)
    return problem_sqlite(err, what_create, shown_path(store), store->db);
  sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
  store->is_writing = true;
  XSP_TRY(writer_execute(store, err,
                         "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF; PRAGMA cache_size=-16384; BEGIN"));
  reader_start(&store->reader, store->db, store->path, &store->strings);
  XSP_TRY(store_configure(store, err));
  return reader_refresh(&store->reader, err);
}

static struct store *new_store(const char *path)
{
  struct store *store = memory_new(1, sizeof *store);
  store->lock_file = -1;
  store->next_system_id = 1;
  store->format_version = STORE_FORMAT_VERSION;
  store->path = memory_text(path);
  store->strings_written = 1;
  return store;
}

static enum status start_writing(struct store *store, enum status (*claim)(struct store *store, struct error *err),
                                 struct store **ret_store, struct error *err)
{
  *ret_store = NULL;
  enum status status = claim(store, err);
  if (status != STATUS_OK) {
    store_close(store); // the partial file is not ours
    return status;
  }
  status = open_for_writing(store, err);
  if (status == STATUS_OK)
    *ret_store = store;
  else
    store_discard(store);
  return status;
}

enum status store_create(const char *path, bool force, struct store **ret_store, struct error *err)
{
  *ret_store = NULL;
  struct stat facts;
  if (path[0] == 0)
    return error_set(err, STATUS_USE, what_create, NULL, "-o FILE", "the output's name is empty");
  XSP_TRY(file_place_check(path, force, err));
  if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
    return error_set(err, STATUS_USE, what_create, path, "another name", "it is no regular file");
  if (strcmp(path, "-") == 0)
    return error_set(err, STATUS_USE, what_create, "stdout", "-o FILE, or -o ./- for that name",
                     "SQLite writes the pages of a file in any order");
  struct store *store = new_store(path);
  store->may_replace = force;
  store->partial_path = memory_resize(NULL, strlen(path) + sizeof ".partial", 1);
  sprintf(store->partial_path, "%s.partial", path);
  return start_writing(store, claim_partial, ret_store, err);
}

enum status store_create_temporary(const char *shown_path, struct store **ret_store, struct error *err)
{
  const char *folder = getenv("TMPDIR");
  struct store *store = new_store(shown_path);
  store->is_temporary = true;
  if (asprintf(&store->partial_path, "%s/xsp-import-XXXXXX", folder != NULL && folder[0] != 0 ? folder : "/tmp") < 0)
    memory_exhausted();
  return start_writing(store, claim_temporary, ret_store, err);
}

const char *store_leftover(const struct store *store)
{
  return store->aside_path;
}

void store_warn_of_leftover(const struct store *store, message_fn warning)
{
  if (store->aside_path != NULL && warning != NULL)
    warning("xsp: what a killed writer had left in %s is now %s; try: xsp recover %s -o OUT.xsp", store->partial_path,
            store->aside_path, store->aside_path);
}

// ---- texts -----------------------------------------------------------------------------------------------------------
enum status store_add_trace(struct store *store, int64_t run_id, const char *text, uint32_t *ret_trace_id,
                            struct error *err)
{
  *ret_trace_id = 0;
  XSP_TRY(writer_check(store, err));
  if (store->fold != NULL && store->folded_trace_run == run_id)
    return STATUS_OK;
  store->folded_trace_run = run_id;
  const enum writer_statement steps[] = {STATEMENT_FIND_TRACE, STATEMENT_TRACE};
  for (unsigned i = 0; i < 2 && *ret_trace_id == 0; i++) {
    sqlite3_stmt *statement = NULL;
    XSP_TRY(writer_start(store, steps[i], &statement, err));
    sqlite3_bind_int64(statement, 1, run_id);
    sqlite3_bind_text(statement, 2, text, -1, SQLITE_TRANSIENT);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
      *ret_trace_id = (uint32_t)sqlite3_column_int64(statement, 0);
    else if (code != SQLITE_DONE)
      (void)writer_failed(store, err);
    sqlite3_reset(statement);
    XSP_TRY(writer_check(store, err));
  }
  return STATUS_OK;
}

uint32_t store_string(struct store *store, const char *text, size_t length)
{
  return store->has_failed ? 0 : strings_intern(&store->strings, text, length);
}

bool store_has_strings(const struct store *store)
{
  return strings_count(&store->strings) > 1;
}

uint32_t store_new_string(struct store *store, const char *text, size_t length)
{
  return store->has_failed ? 0 : strings_add(&store->strings, text, length);
}
