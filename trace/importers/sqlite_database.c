// SPDX-License-Identifier: Apache-2.0
// Opens a database that anyone may have made, and lists its tables. Called by importers of SQLite files.
//
// The file is read as it is (trace/store/database.h): no locks, no journals, nothing written next to it. The progress handler ends
// statements that take more steps than the file's size explains.
#include "importers/sqlite_database.h"

#include "base/input_file.h"
#include "base/scoped.h"
#include "store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_STEPS 65536
#define STEPS_PER_BYTE 64u // a row of six bytes of a table of 48 columns takes less
#define STEPS_ALWAYS UINT64_C(10000000)
#define STATEMENTS_ALWAYS 8
#define LONGEST_SQL_BYTES 1000000 // also of the statements in its schema
#define CACHE_KIB 32768

static const char what[] = "cannot import";

// ---- errors ----------------------------------------------------------------------------------------------------------
static bool is_cancelled(const struct import_database *database)
{
  return database->cancel != NULL && *database->cancel != 0;
}

enum status import_database_failed(struct import_database *database, const char *table, int64_t row, struct error *err)
{
  int code = database->db != NULL ? sqlite3_errcode(database->db) : SQLITE_NOMEM;
  char where[sizeof err->where];
  if (row > 0)
    snprintf(where, sizeof where, "%s, table %s, after row %lld", database->path, table, (long long)row);
  else if (table != NULL)
    snprintf(where, sizeof where, "%s, table %s", database->path, table);
  else
    snprintf(where, sizeof where, "%s", database->path);
  if (code == SQLITE_NOMEM)
    return error_set(err, STATUS_MEMORY, what, where, NULL, "out of memory");
  if (code == SQLITE_INTERRUPT && is_cancelled(database))
    return error_set(err, STATUS_SYSTEM, what, database->path, "it again", "it was interrupted");
  if (database->is_exhausted)
    return error_set(err, STATUS_INPUT, what, where, NULL,
                     "the database is damaged: reading it takes more steps than a file of %llu bytes can need",
                     (unsigned long long)database->size_bytes);
  if (code == SQLITE_NOTADB)
    return error_set(err, STATUS_INPUT, what, where, database->advice, "it is no SQLite database");
  if (code == SQLITE_CORRUPT)
    return error_set(err, STATUS_INPUT, what, where, NULL, "the database is damaged (%s)",
                     sqlite3_errmsg(database->db));
  return error_set(err, code == SQLITE_IOERR || code == SQLITE_CANTOPEN ? STATUS_SYSTEM : STATUS_INPUT, what, where,
                   NULL, "%s", sqlite3_errmsg(database->db));
}

// ---- opening ---------------------------------------------------------------------------------------------------------
static uint32_t big_endian(const unsigned char *bytes)
{
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// What another program has not yet written into the file itself would be missed without a word.
static enum status check_unfinished(struct import_database *database, const char *path, struct error *err)
{
  static const unsigned char journal_magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  static const char *const endings[] = {"-wal", "-journal"};
  for (size_t i = 0; i < 2; i++) {
    char beside[4096];
    unsigned char head[8] = {0};
    if (snprintf(beside, sizeof beside, "%s%s", path, endings[i]) >= (int)sizeof beside)
      continue;
    struct stat facts;
    int file SCOPED(scoped_close) = regular_file_open(AT_FDCWD, beside, O_RDONLY, &facts);
    ssize_t got = file >= 0 ? pread(file, head, sizeof head, 0) : 0;
    if (got == sizeof head && (i == 0 || memcmp(head, journal_magic, sizeof head) == 0))
      return error_set(err, STATUS_INPUT, what, database->path, "when that program has closed it",
                       "another program is writing it: %s holds changes", beside);
  }
  return STATUS_OK;
}

// SQLite's header: page size at 16, change counter at 24, pages at 28, "pages is valid for this change counter" at 92.
// Read before SQLite does, for clearer words.
static enum status check_header(struct import_database *database, const char *path, struct error *err)
{
  unsigned char head[100] = {0};
  struct stat facts;
  int file SCOPED(scoped_close) = -1;
  XSP_TRY(input_file_open(path, INPUT_FILE_REGULAR, what, &file, &facts, err));
  ssize_t got = pread(file, head, sizeof head, 0);
  database->size_bytes = (uint64_t)facts.st_size;
  if (got < 16 || memcmp(head, "SQLite format 3", 16) != 0)
    return error_set(err, STATUS_INPUT, what, database->path, database->advice, "it is no SQLite database");
  if (got < (ssize_t)sizeof head)
    return error_set(err, STATUS_INPUT, what, database->path, NULL, "the file is truncated: %zd bytes", got);
  uint64_t page_size = (uint64_t)head[16] << 8 | head[17];
  page_size = page_size == 1 ? 65536 : page_size;
  uint64_t needed = page_size * big_endian(head + 28);
  if (big_endian(head + 24) == big_endian(head + 92) && needed > database->size_bytes)
    return error_set(err, STATUS_INPUT, what, database->path, NULL, "the file is truncated: %llu bytes of %llu",
                     (unsigned long long)database->size_bytes, (unsigned long long)needed);
  return STATUS_OK;
}

void import_database_refill(struct import_database *database)
{
  database->calls_left = (STEPS_ALWAYS + STEPS_PER_BYTE * database->size_bytes) / PROGRESS_STEPS;
  database->is_exhausted = false;
}

static int on_progress(void *context)
{
  struct import_database *database = context;
  if (is_cancelled(database))
    return 1;
  if (database->calls_left > 0 && database->all_calls_left > 0) {
    database->calls_left--;
    database->all_calls_left--;
    return 0;
  }
  database->is_exhausted = true;
  return 1;
}

// Reading tables, nothing else: no functions, no writing. (What a generated column computes is not asked for here:
// sqlite_scan.c refuses those.)
static int authorize(void *context, int action, const char *name, const char *argument, const char *database,
                     const char *view)
{
  if (action == SQLITE_PRAGMA)
    return strcmp(name, "table_xinfo") == 0 ? SQLITE_OK : SQLITE_DENY;
  return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

static enum status distrust(struct import_database *database, struct error *err)
{
  sqlite3 *db = database->db;
  static const int off[] = {
      SQLITE_DBCONFIG_ENABLE_TRIGGER,  SQLITE_DBCONFIG_ENABLE_VIEW,
      SQLITE_DBCONFIG_TRUSTED_SCHEMA,  SQLITE_DBCONFIG_DQS_DML,
      SQLITE_DBCONFIG_DQS_DDL,         SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
      SQLITE_DBCONFIG_WRITABLE_SCHEMA, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER,
  };
  static const int limits[][2] = {
      {SQLITE_LIMIT_LENGTH, IMPORT_LARGEST_VALUE_BYTES},
      {SQLITE_LIMIT_SQL_LENGTH, LONGEST_SQL_BYTES},
      {SQLITE_LIMIT_EXPR_DEPTH, 100},
      {SQLITE_LIMIT_COMPOUND_SELECT, 2},
      {SQLITE_LIMIT_VDBE_OP, 1000000},
      {SQLITE_LIMIT_ATTACHED, 0},
      {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
      {SQLITE_LIMIT_WORKER_THREADS, 0},
  };
  sqlite3_extended_result_codes(db, 0);
  for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
    sqlite3_db_config(db, off[i], 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
    sqlite3_limit(db, limits[i][0], limits[i][1]);
  sqlite3_progress_handler(db, PROGRESS_STEPS, on_progress, database);
  import_database_refill(database);
  database->all_calls_left = STATEMENTS_ALWAYS * STEPS_ALWAYS / PROGRESS_STEPS + 2 * database->calls_left;
  char pragmas[160];
  snprintf(pragmas, sizeof pragmas,
           "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -%d; PRAGMA temp_store = MEMORY",
           CACHE_KIB);
  if (sqlite3_exec(db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
    return import_database_failed(database, NULL, 0, err);
  sqlite3_set_authorizer(db, authorize, NULL);
  return STATUS_OK;
}

static void add_table(struct import_database *database, size_t capacity, sqlite3_stmt *row, struct arena *arena)
{
  const char *type = (const char *)sqlite3_column_text(row, 0), *name = (const char *)sqlite3_column_text(row, 1);
  if (type == NULL || name == NULL)
    return;
  bool is_view = strcmp(type, "view") == 0, is_table = strcmp(type, "table") == 0;
  if ((!is_view && !is_table) || database->table_count == capacity)
    return;
  struct import_table *table = &database->tables[database->table_count++];
  table->name = arena_copy(arena, name, strlen(name));
  if (is_view)
    table->refused = "it is a view; only tables are read";
  else if (sqlite3_column_int64(row, 2) <= 0)
    table->refused = "it is a virtual table; only tables are read";
}

static enum status list_tables(struct import_database *database, struct arena *arena, struct error *err)
{
  enum { TABLES_MOST = 4096 };
  static const char sql[] = "SELECT type, name, rootpage FROM main.sqlite_schema";
  database->tables = arena_alloc_array(arena, TABLES_MOST, sizeof *database->tables);
  sqlite3_stmt *statement = NULL;
  import_database_refill(database);
  int code = sqlite3_prepare_v2(database->db, sql, -1, &statement, NULL);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
      add_table(database, TABLES_MOST, statement, arena);
  }
  enum status status = code == SQLITE_DONE ? STATUS_OK : import_database_failed(database, NULL, 0, err);
  sqlite3_finalize(statement);
  return status;
}

enum status import_database_open(struct import_database *ret_database, const char *path, const char *shown_path,
                                 const char *advice, struct arena *arena, struct error *err)
{
  struct import_database *database = ret_database;
  *database = (struct import_database){.path = shown_path, .advice = advice};
  XSP_TRY(check_header(database, path, err));
  char *real_path = realpath(path, NULL); // journals lie next to the file itself, not next to a link
  if (real_path == NULL)
    return error_set_errno(err, STATUS_INPUT, what, shown_path, NULL);
  enum status status = check_unfinished(database, real_path, err);
  if (status == STATUS_OK && database_connect(real_path, true, &database->db) != SQLITE_OK)
    status = import_database_failed(database, NULL, 0, err);
  free(real_path);
  if (status == STATUS_OK)
    status = distrust(database, err);
  if (status == STATUS_OK)
    status = list_tables(database, arena, err);
  if (status != STATUS_OK)
    import_database_close(database);
  return status;
}

void import_database_close(struct import_database *database)
{
  sqlite3_close(database->db);
  database->db = NULL;
}

const struct import_table *import_find_table(const struct import_database *database, const char *name)
{
  for (size_t i = 0; i < database->table_count; i++)
    if (sqlite3_stricmp(database->tables[i].name, name) == 0)
      return &database->tables[i];
  return NULL;
}

bool import_has_tables(const struct import_database *database, const char *prefix)
{
  for (size_t i = 0; i < database->table_count; i++)
    if (sqlite3_strnicmp(database->tables[i].name, prefix, (int)strlen(prefix)) == 0)
      return true;
  return false;
}
