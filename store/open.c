// SPDX-License-Identifier: Apache-2.0
// Opens a file for reading: reports what is wrong with it, and recovers what a killed writer left.
//
// A killed writer leaves a rollback journal next to its file. SQLite rolls it back on the first read, for which it must
// write; where that is not permitted, a private copy is recovered instead.
#include "base/debug.h"
#include "base/memory.h"
#include "store/problem.h"
#include "store/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS 10000
#define LARGEST_VALUE_BYTES (256 << 20)

static const char what[] = "cannot open trace", advice[] = "a file that xsp profile or xsp recover wrote";

// ---- what kind of file is it? ----------------------------------------------------------------------------------------
static uint32_t big_endian(const unsigned char *bytes)
{
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool has_journal(const char *path)
{
  char journal[4096];
  struct stat facts;
  snprintf(journal, sizeof journal, "%s-journal", path);
  return stat(journal, &facts) == 0 && facts.st_size > 0;
}

static enum status check_identity(const char *path, int64_t application_id, int64_t version, struct error *err)
{
  if (application_id != SCHEMA_APPLICATION_ID)
    return error_set(err, STATUS_INPUT, what, path, advice, "an SQLite database, but not an .xsp file");
  if (version > STORE_FORMAT_VERSION)
    return error_set(err, STATUS_INPUT, what, path, "a newer xsp",
                     "its format version is %lld, this xsp reads up to %d", (long long)version, STORE_FORMAT_VERSION);
  return STATUS_OK;
}

// SQLite's header: magic at 0, page size at 16, change counter at 24, page count at 28, user version at 60, application
// id at 68, "page count is valid for this change counter" at 92. Read before SQLite does, for clearer words.
static enum status check_header(const char *path, const unsigned char head[100], size_t head_size, int64_t file_size,
                                struct error *err)
{
  if (file_size == 0)
    return error_set(err, STATUS_INPUT, what, path, NULL, "the file is empty");
  if (head_size < 16 || memcmp(head, "SQLite format 3", 16) != 0)
    return error_set(err, STATUS_INPUT, what, path, advice, "not an .xsp file");
  if (head_size < 100)
    return error_set(err, STATUS_INPUT, what, path, NULL, "the file is truncated");
  if (has_journal(path)) // the header may be half-written; SQLite restores it first
    return STATUS_OK;
  XSP_TRY(check_identity(path, big_endian(head + 68), big_endian(head + 60), err));
  int64_t page_size = head[16] << 8 | head[17];
  page_size = page_size == 1 ? 65536 : page_size;
  if (big_endian(head + 24) == big_endian(head + 92) && page_size * big_endian(head + 28) > file_size)
    return error_set(err, STATUS_INPUT, what, path, NULL, "the file is truncated: %lld bytes of %lld",
                     (long long)file_size, (long long)(page_size * big_endian(head + 28)));
  return STATUS_OK;
}

static enum status check_file(const char *path, struct error *err)
{
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat facts;
  unsigned char head[100] = {0};
  ssize_t got = 0;
  enum status status = STATUS_OK;
  if (file < 0 || fstat(file, &facts) != 0)
    status = error_set_errno(err, STATUS_INPUT, what, path, NULL);
  else if (!S_ISREG(facts.st_mode))
    status = error_set(err, STATUS_INPUT, what, path, NULL,
                       S_ISDIR(facts.st_mode) ? "it is a directory" : "it is no regular file");
  else if ((got = pread(file, head, sizeof head, 0)) < 0)
    status = error_set_errno(err, STATUS_INPUT, what, path, NULL);
  else
    status = check_header(path, head, (size_t)got, facts.st_size, err);
  if (file >= 0)
    close(file);
  return status;
}

// ---- connection ------------------------------------------------------------------------------------------------------
enum status store_configure(struct store *store, struct error *err)
{
  sqlite3 *db = store->db;
  sqlite3_extended_result_codes(db, 1);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LARGEST_VALUE_BYTES);
  if (table_register(db, &store->reader) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, db);
  return STATUS_OK;
}

// A schema from a stranger runs no code: no views, no triggers, no unsafe functions.
static void distrust(sqlite3 *db)
{
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
}

// Opens `path` and reads from it, so that errors show now. On failure *ret_db is closed and NULL, *err is filled.
static enum status connect(const char *path, const char *shown_path, int flags, sqlite3 **ret_db, struct error *err)
{
  int code = sqlite3_open_v2(path, ret_db, flags | SQLITE_OPEN_NOMUTEX, NULL);
  if (code == SQLITE_OK) {
    sqlite3_extended_result_codes(*ret_db, 1);
    distrust(*ret_db);
    code = sqlite3_exec(*ret_db, "SELECT count(*) FROM main.sqlite_schema", NULL, NULL, NULL);
  }
  if (code == SQLITE_OK)
    return STATUS_OK;
  enum status status = problem_sqlite(err, what, shown_path, *ret_db);
  sqlite3_close(*ret_db);
  *ret_db = NULL;
  return status;
}

static bool copy_file(const char *from_path, int to)
{
  int from = open(from_path, O_RDONLY | O_CLOEXEC);
  if (from < 0)
    return false;
  char buffer[65536];
  ssize_t got;
  bool is_good = true;
  while (is_good && (got = read(from, buffer, sizeof buffer)) != 0)
    is_good = got > 0 && write(to, buffer, (size_t)got) == got;
  close(from);
  return is_good;
}

// The recovered copy has no name by the time this returns: it goes with the connection.
static enum status connect_to_copy(const char *path, sqlite3 **ret_db, struct error *err)
{
  const char *folder = getenv("TMPDIR");
  char copy[4000], journal[4096], source[4096];
  snprintf(copy, sizeof copy, "%s/xsp-recover-XXXXXX", folder != NULL && folder[0] != 0 ? folder : "/tmp");
  int to = mkstemp(copy);
  if (to < 0)
    return error_set_errno(err, STATUS_SYSTEM, "cannot recover trace into a temporary copy", copy, "TMPDIR elsewhere");
  snprintf(journal, sizeof journal, "%s-journal", copy);
  snprintf(source, sizeof source, "%s-journal", path);
  bool is_copied = copy_file(path, to);
  close(to);
  to = open(journal, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  is_copied = is_copied && to >= 0 && copy_file(source, to);
  if (to >= 0)
    close(to);
  enum status status = is_copied
                           ? connect(copy, path, SQLITE_OPEN_READWRITE, ret_db, err)
                           : error_set_errno(err, STATUS_SYSTEM, "cannot recover trace into a temporary copy", copy,
                                             "TMPDIR elsewhere, or permission to write into the trace's folder");
  if (status == STATUS_OK)
    sqlite3_exec(*ret_db, "PRAGMA query_only=1", NULL, NULL, NULL);
  unlink(copy);
  unlink(journal);
  return status;
}

static enum status connect_for_reading(const char *path, sqlite3 **ret_db, struct error *err)
{
  enum status status = connect(path, path, SQLITE_OPEN_READONLY, ret_db, err);
  if (status == STATUS_OK || !has_journal(path))
    return status;
  sqlite3 *writer = NULL;
  if (connect(path, path, SQLITE_OPEN_READWRITE, &writer, err) == STATUS_OK) {
    bool is_read_only = sqlite3_db_readonly(writer, "main") == 1;
    sqlite3_close(writer);
    if (!is_read_only)
      return connect(path, path, SQLITE_OPEN_READONLY, ret_db, err);
  }
  return connect_to_copy(path, ret_db, err);
}

static enum status read_pragma(struct store *store, const char *sql, int64_t *ret_value, struct error *err)
{
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, store->db);
  int code = sqlite3_step(statement);
  *ret_value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  if (sqlite3_finalize(statement) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, store->db);
  return STATUS_OK;
}

// Names that the virtual tables have must not be taken by the file.
static enum status check_database(struct store *store, struct error *err)
{
  int64_t application = 0, version = 0, taken = 0;
  XSP_TRY(read_pragma(store, "PRAGMA application_id", &application, err));
  XSP_TRY(read_pragma(store, "PRAGMA user_version", &version, err));
  XSP_TRY(check_identity(store->path, application, version, err));
  if (version < 1)
    return problem_broken(err, store->path, "its format version is %lld", (long long)version);
  XSP_TRY(
      read_pragma(store, "SELECT count(*) FROM main.sqlite_schema WHERE lower(name) IN ('span', 'tag')", &taken, err));
  if (taken != 0)
    return problem_broken(err, store->path, "it has tables of its own named span or tag");
  store->format_version = (int)version;
  return STATUS_OK;
}

// Tables that the format got after its first files: empty where the file has none, for all readers and for SQL.
static enum status add_later_tables(struct store *store, struct error *err)
{
  int64_t count = 0;
  XSP_TRY(read_pragma(store, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'workload'", &count, err));
  if (count == 0 && sqlite3_exec(store->db, "CREATE TEMP TABLE workload(experiment_id INTEGER, key TEXT, value)", NULL,
                                 NULL, NULL) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, store->db);
  return STATUS_OK;
}

enum status store_open_database(struct store *store, struct error *err)
{
  XSP_TRY(check_file(store->path, err));
  XSP_TRY(connect_for_reading(store->path, &store->db, err));
  // Two threads sort while one feeds them; SQLite keeps them to its sorter.
  sqlite3_exec(store->db, "PRAGMA cache_size=-16384; PRAGMA cell_size_check=ON; PRAGMA threads=2", NULL, NULL, NULL);
  XSP_TRY(check_database(store, err));
  XSP_TRY(add_later_tables(store, err));
  reader_start(&store->reader, store->db, store->path, store->is_finished ? &store->strings : NULL);
  XSP_TRY(store_configure(store, err));
  return reader_refresh(&store->reader, err);
}

enum status store_open(const char *path, struct store **ret_store, struct error *err)
{
  *ret_store = NULL;
  struct store *store = memory_new(1, sizeof *store);
  store->path = memory_text(path);
  store->lock_file = -1;
  enum status status = store_open_database(store, err);
  if (status != STATUS_OK) {
    store_close(store);
    return status;
  }
  *ret_store = store;
  DEBUG(store, "opened %s, format version %d", path, store->format_version);
  return STATUS_OK;
}

int store_format_version(const struct store *store)
{
  return store->format_version;
}

const char *store_path(const struct store *store)
{
  return store->path;
}

const char *store_text(struct store *store, uint32_t string_id, size_t *ret_length)
{
  size_t length;
  return reader_text(&store->reader, string_id, ret_length != NULL ? ret_length : &length);
}

bool store_find_string(struct store *store, const char *text, size_t length, uint32_t *ret_id)
{
  *ret_id = 0;
  return store->reader.strings != NULL && strings_find(store->reader.strings, text, length, ret_id);
}

uint32_t store_string_count(struct store *store)
{
  return store->reader.strings != NULL ? strings_count(store->reader.strings) : 0;
}
