// SPDX-License-Identifier: Apache-2.0
// Opens a file for reading: reports what is wrong with it, and completes what a killed writer left.
//
// A killed writer leaves a rollback journal next to its file. It is replayed in a private copy: readers never write, and
// the journal may be a stranger's.
#include "base/debug.h"
#include "base/input_file.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "store/database.h"
#include "store/handle.h"
#include "store/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS 10000
#define LARGEST_VALUE_BYTES (256 << 20)
// Two threads sort while one feeds them; SQLite keeps them to its sorter. It sorts as much at a time as the page cache has:
// larger lists sort more slowly.
#define SORTING "PRAGMA cache_size=-2000; PRAGMA threads=2; "

static const char what[] = "cannot open trace", advice[] = "a file that xsp wrote, or one that xsp import takes";

// ---- what kind of file is it? ----------------------------------------------------------------------------------------
static uint32_t big_endian(const unsigned char *bytes)
{
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
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
                                bool has_journal, struct error *err)
{
  if (file_size == 0)
    return error_set(err, STATUS_INPUT, what, path, NULL, "the file is empty");
  if (head_size < 16 || memcmp(head, "SQLite format 3", 16) != 0)
    return error_set(err, STATUS_INPUT, what, path, advice, "not an .xsp file");
  if (head_size < 100)
    return error_set(err, STATUS_INPUT, what, path, NULL, "the file is truncated");
  if (has_journal) // the header may be half-written; SQLite restores it first
    return STATUS_OK;
  XSP_TRY(check_identity(path, big_endian(head + 68), big_endian(head + 60), err));
  int64_t page_size = head[16] << 8 | head[17];
  page_size = page_size == 1 ? 65536 : page_size;
  if (big_endian(head + 24) == big_endian(head + 92) && page_size * big_endian(head + 28) > file_size)
    return error_set(err, STATUS_INPUT, what, path, NULL, "the file is truncated: %lld bytes of %lld",
                     (long long)file_size, (long long)(page_size * big_endian(head + 28)));
  return STATUS_OK;
}

// *ret_is_log_mode: the file's writer kept a write-ahead log (read version at 19). `real`: `path` without links. In this order: a
// writer that commits meanwhile has the journal until the file is as long as its header says.
static enum status check_file(const char *path, const char *real, bool *ret_is_log_mode, struct error *err)
{
  int file SCOPED(scoped_close) = -1;
  struct stat facts;
  unsigned char head[100] = {0};
  XSP_TRY(input_file_open(path, INPUT_FILE_REGULAR, what, &file, &facts, err));
  ssize_t got = pread(file, head, sizeof head, 0);
  if (got < 0)
    return error_set_errno(err, STATUS_INPUT, what, path, NULL);
  *ret_is_log_mode = head[19] == 2;
  bool has_journal = database_has(real, "-journal");
  if (fstat(file, &facts) != 0)
    return error_set_errno(err, STATUS_INPUT, what, path, NULL);
  return check_header(path, head, (size_t)got, facts.st_size, has_journal, err);
}

// ---- connection ------------------------------------------------------------------------------------------------------
enum status store_configure(struct store *store, struct error *err)
{
  sqlite3 *db = store->db;
  sqlite3_extended_result_codes(db, 1);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LARGEST_VALUE_BYTES);
  if (store_table_register(db, &store->reader) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, db);
  return STATUS_OK;
}

// A schema from a stranger runs no code: no views, no triggers, no unsafe functions.
static void distrust(sqlite3 *db)
{
  sqlite3_extended_result_codes(db, 1);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
}

// A file whose writer kept a write-ahead log is read as it is where there is no log: nothing is missing then, and SQLite
// would make one.
static enum status connect(struct store *store, const char *path, bool is_log_mode, struct error *err)
{
  bool is_copied = database_has(path, "-wal") || (is_log_mode && database_has(path, "-journal"));
  int code = is_copied ? SQLITE_OK : database_connect(path, is_log_mode, &store->db);
  if (code == SQLITE_OK && !is_copied) {
    distrust(store->db);
    code = sqlite3_exec(store->db, "SELECT count(*) FROM main.sqlite_schema", NULL, NULL, NULL); // errors show now
    is_copied = code == SQLITE_READONLY_ROLLBACK;
  }
  if (!is_copied)
    return code == SQLITE_OK ? STATUS_OK : problem_sqlite(err, what, store->path, store->db);
  sqlite3_close(store->db);
  store->db = NULL;
  enum database_trust trust = store->is_recovery ? DATABASE_TRUST_OWNER : DATABASE_TRUST_OWN;
  XSP_TRY(database_connect_to_copy(path, trust, what, store->path, &store->db, &store->has_left_out, err));
  distrust(store->db);
  return STATUS_OK;
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

// Names that the virtual tables have must not be taken by the file. A computed column may take any time and memory for a row, which
// no time limit ends: SQLite looks at the clock after many steps, and a row is a few.
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
  XSP_TRY(read_pragma(store,
                      "SELECT count(*) FROM main.sqlite_schema AS own, pragma_table_xinfo(own.name) AS part WHERE "
                      "part.hidden > 1",
                      &taken, err));
  if (taken != 0)
    return problem_broken(err, store->path, "it has computed columns, which xsp never writes");
  store->format_version = (int)version;
  return STATUS_OK;
}

static bool has(const struct store *store, const char *table, const char *column) // NULL: the table itself
{
  return sqlite3_table_column_metadata(store->db, "main", table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

// Tables that the format got after its first files: empty where the file has none, for all readers and for SQL.
static enum status add_later_tables(struct store *store, struct error *err)
{
  static const char *const tables[][2] = {
      {"workload", "experiment_id INTEGER, key TEXT, value"},
      {"evaluation", "experiment_id INTEGER, key TEXT, value"},
      {"output", "experiment_id INTEGER, item INTEGER, file TEXT, type TEXT, shape TEXT, data BLOB"},
      {"frame", "frame_id INTEGER, kind TEXT, name TEXT, file TEXT, line INTEGER, module TEXT, address INTEGER"},
      {"context", "context_id INTEGER, parent_id INTEGER, frame_id INTEGER"},
      {"counter", "run_id INTEGER, counter_id INTEGER, name TEXT, source TEXT, process_id INTEGER, thread_id INTEGER,"
                  " device_id INTEGER, is_total INTEGER"},
      {"counter_value", "run_id INTEGER, counter_id INTEGER, time_ns INTEGER, value REAL"},
  };
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    char sql[256];
    snprintf(sql, sizeof sql, "CREATE TEMP TABLE %s(%s)", tables[i][0], tables[i][1]);
    if (!has(store, tables[i][0], NULL) && sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
      return problem_sqlite(err, what, store->path, store->db);
  }
  return STATUS_OK;
}

// Columns that the format got later: null where the file has none. A view of ours that stands for the file's table.
static enum status add_later_columns(struct store *store, struct error *err)
{
  if (!has(store, "track", "world_size") &&
      sqlite3_exec(store->db,
                   "CREATE TEMP VIEW track AS SELECT *, NULL AS rank, NULL AS local_rank,"
                   " NULL AS world_size FROM main.track",
                   NULL, NULL, NULL) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, store->db);
  return STATUS_OK;
}

static enum status open_database(struct store *store, struct error *err)
{
  bool is_log_mode = false;
  char *path = realpath(store->path, NULL); // journals lie next to the file itself, not next to a link
  if (path == NULL)
    return error_set_errno(err, STATUS_INPUT, what, store->path, NULL);
  enum status status = check_file(store->path, path, &is_log_mode, err);
  if (status == STATUS_OK)
    status = connect(store, path, is_log_mode, err);
  free(path);
  XSP_TRY(status);
  sqlite3_exec(store->db, SORTING "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
  XSP_TRY(check_database(store, err));
  XSP_TRY(add_later_tables(store, err));
  XSP_TRY(add_later_columns(store, err));
  reader_start(&store->reader, store->db, store->path, NULL);
  XSP_TRY(store_configure(store, err));
  return reader_refresh(&store->reader, err);
}

enum status store_read_on(struct store *store, struct error *err)
{
  distrust(store->db);
  // One lock for all statements, under which SQLite looks for no journal. Only on a file that this process has just written: to
  // others, it would last too long.
  if (sqlite3_exec(store->db, SORTING "PRAGMA locking_mode=EXCLUSIVE; SELECT count(*) FROM main.sqlite_schema", NULL,
                   NULL, NULL) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, store->db);
  XSP_TRY(add_later_tables(store, err));
  return reader_refresh(&store->reader, err);
}

static enum status open_store(const char *path, bool is_recovery, struct store **ret_store, struct error *err)
{
  *ret_store = NULL;
  struct store *store = memory_new(1, sizeof *store);
  store->is_recovery = is_recovery;
  store->path = memory_text(path);
  store->lock_file = -1;
  enum status status = open_database(store, err);
  if (status != STATUS_OK) {
    store_close(store);
    return status;
  }
  *ret_store = store;
  DEBUG(store, "opened %s, format version %d", path, store->format_version);
  return STATUS_OK;
}

enum status store_open(const char *path, struct store **ret_store, struct error *err)
{
  return open_store(path, false, ret_store, err);
}

enum status store_open_unfinished(const char *path, struct store **ret_store, bool *ret_left_out, struct error *err)
{
  XSP_TRY(open_store(path, true, ret_store, err));
  *ret_left_out = (*ret_store)->has_left_out;
  return STATUS_OK;
}

int store_format_version(const struct store *store)
{
  return store->format_version;
}

void store_limit_cache(struct store *store, size_t bytes)
{
  store->reader.budget_bytes = bytes;
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
