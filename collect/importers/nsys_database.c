// SPDX-License-Identifier: Apache-2.0
// Opens and reads a database that anyone may have made. Called by nsys*.c only.
//
// The file is opened read-only and immutable: no locks, no journals, nothing written beside it. Corrupt b-trees may lead
// in circles, so rows must have rising numbers, and the progress handler ends what takes more steps than the file's size
// explains.
#include "collect/importers/nsys_database.h"

#include <sqlite3.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_STEPS 65536
#define STEPS_PER_BYTE 64u // a row of six bytes of a table of 48 columns takes less
#define STEPS_ALWAYS UINT64_C(10000000)
#define LARGEST_VALUE_BYTES (64 << 20)
#define LONGEST_SQL_BYTES 1000000 // also of the statements in its schema
#define CACHE_KIB 32768

static const char what[] = "cannot import";

// ---- errors ----------------------------------------------------------------------------------------------------------
static enum status sqlite_failed(struct nsys_database *database, const char *table, int64_t row, struct error *err)
{
  int code = database->db != NULL ? sqlite3_errcode(database->db) : SQLITE_NOMEM;
  char where[sizeof err->where];
  if (row > 0)
    snprintf(where, sizeof where, "%s, table %s, behind row %lld", database->path, table, (long long)row);
  else if (table != NULL)
    snprintf(where, sizeof where, "%s, table %s", database->path, table);
  else
    snprintf(where, sizeof where, "%s", database->path);
  if (code == SQLITE_NOMEM)
    return error_set(err, STATUS_MEMORY, what, where, NULL, "out of memory");
  if (database->is_exhausted)
    return error_set(err, STATUS_INPUT, what, where, NULL,
                     "the database is damaged: reading it takes more steps than a file of %llu bytes can need",
                     (unsigned long long)database->size_bytes);
  if (code == SQLITE_NOTADB)
    return error_set(err, STATUS_INPUT, what, where, "nsys export --type sqlite", "it is no SQLite database");
  if (code == SQLITE_CORRUPT)
    return error_set(err, STATUS_INPUT, what, where, NULL, "the database is damaged (%s)",
                     sqlite3_errmsg(database->db));
  return error_set(err, code == SQLITE_IOERR || code == SQLITE_CANTOPEN ? STATUS_SYSTEM : STATUS_INPUT, what, where,
                   NULL, "%s", sqlite3_errmsg(database->db));
}

enum status nsys_scan_broken(const struct nsys_scan *scan, struct error *err, const char *format, ...)
{
  char where[sizeof err->where], why[sizeof err->why];
  if (scan->has_row)
    snprintf(where, sizeof where, "%s, table %s, row %lld", scan->database->path, scan->table, (long long)scan->row);
  else
    snprintf(where, sizeof where, "%s, table %s", scan->database->path, scan->table);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  return error_set(err, STATUS_INPUT, what, where, NULL, "%s", why);
}

// ---- opening ---------------------------------------------------------------------------------------------------------
static uint32_t big_endian(const unsigned char *bytes)
{
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// SQLite's header: page size at 16, change counter at 24, pages at 28, "pages is valid for this change counter" at 92.
// Read before SQLite does, for clearer words.
static enum status check_header(struct nsys_database *database, const char *path, struct error *err)
{
  unsigned char head[100] = {0};
  struct stat facts;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &facts) != 0) {
    enum status status = error_set_errno(err, STATUS_INPUT, what, database->path, NULL);
    if (file >= 0)
      close(file);
    return status;
  }
  ssize_t got = pread(file, head, sizeof head, 0);
  close(file);
  database->size_bytes = (uint64_t)facts.st_size;
  if (got < 16 || memcmp(head, "SQLite format 3", 16) != 0)
    return error_set(err, STATUS_INPUT, what, database->path, "nsys export --type sqlite", "it is no SQLite database");
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

static void refill_steps(struct nsys_database *database)
{
  database->calls_left = (STEPS_ALWAYS + STEPS_PER_BYTE * database->size_bytes) / PROGRESS_STEPS;
  database->is_exhausted = false;
}

static int on_progress(void *context)
{
  struct nsys_database *database = context;
  if (database->calls_left > 0) {
    database->calls_left--;
    return 0;
  }
  database->is_exhausted = true;
  return 1;
}

// Reading tables, nothing else: no functions (in generated columns), no pragmas, no writing.
static int authorize(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
  return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

static enum status distrust(struct nsys_database *database, struct error *err)
{
  sqlite3 *db = database->db;
  static const int off[] = {
      SQLITE_DBCONFIG_ENABLE_TRIGGER,  SQLITE_DBCONFIG_ENABLE_VIEW,
      SQLITE_DBCONFIG_TRUSTED_SCHEMA,  SQLITE_DBCONFIG_DQS_DML,
      SQLITE_DBCONFIG_DQS_DDL,         SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
      SQLITE_DBCONFIG_WRITABLE_SCHEMA, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER,
  };
  static const int limits[][2] = {
      {SQLITE_LIMIT_LENGTH, LARGEST_VALUE_BYTES},
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
  refill_steps(database);
  char pragmas[160];
  snprintf(pragmas, sizeof pragmas,
           "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -%d; PRAGMA temp_store = MEMORY",
           CACHE_KIB);
  if (sqlite3_exec(db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
    return sqlite_failed(database, NULL, 0, err);
  sqlite3_set_authorizer(db, authorize, NULL);
  return STATUS_OK;
}

static enum status add_table(struct nsys_database *database, size_t capacity, sqlite3_stmt *row, struct arena *arena,
                             struct error *err)
{
  const char *type = (const char *)sqlite3_column_text(row, 0), *name = (const char *)sqlite3_column_text(row, 1);
  if (type == NULL || name == NULL)
    return STATUS_OK;
  bool is_view = strcmp(type, "view") == 0, is_table = strcmp(type, "table") == 0;
  if ((!is_view && !is_table) || database->table_count == capacity)
    return STATUS_OK;
  struct nsys_table *table = &database->tables[database->table_count++];
  table->name = arena_copy(arena, name, strlen(name));
  if (table->name == NULL)
    return error_set(err, STATUS_MEMORY, what, database->path, NULL, "out of memory");
  if (is_view)
    table->refused = "it is a view; only tables are read";
  else if (sqlite3_column_int64(row, 2) <= 0)
    table->refused = "it is a virtual table; only tables are read";
  return STATUS_OK;
}

static enum status list_tables(struct nsys_database *database, struct arena *arena, struct error *err)
{
  enum { TABLES_MOST = 4096 };
  static const char sql[] = "SELECT type, name, rootpage FROM main.sqlite_schema";
  database->tables = arena_alloc_array(arena, TABLES_MOST, sizeof *database->tables);
  if (database->tables == NULL)
    return error_set(err, STATUS_MEMORY, what, database->path, NULL, "out of memory");
  sqlite3_stmt *statement = NULL;
  refill_steps(database);
  enum status status = STATUS_OK;
  int code = sqlite3_prepare_v2(database->db, sql, -1, &statement, NULL);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
      status = add_table(database, TABLES_MOST, statement, arena, err);
    if (status != STATUS_OK)
      break;
  }
  if (status == STATUS_OK && code != SQLITE_DONE)
    status = sqlite_failed(database, NULL, 0, err);
  sqlite3_finalize(statement);
  return status;
}

// The path as a URI: what has a meaning there is escaped.
static char *uri_of(const char *path, struct arena *arena)
{
  static const char digits[] = "0123456789ABCDEF", after[] = "?immutable=1";
  size_t length = strlen(path), at = 5;
  char *uri = arena_alloc(arena, 3 * length + sizeof after + 16);
  if (uri == NULL)
    return NULL;
  memcpy(uri, "file:", at);
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)path[i];
    if (strchr("%?#", byte) != NULL || byte < 0x20) {
      uri[at++] = '%';
      uri[at++] = digits[byte >> 4];
      uri[at++] = digits[byte & 15];
    } else {
      uri[at++] = (char)byte;
    }
    if (i + 1 < length && i == 0 && byte == '/' && path[1] == '/') // "//name" would be a host's name
      while (i + 1 < length && path[i + 1] == '/')
        i++;
  }
  memcpy(uri + at, after, sizeof after);
  return uri;
}

enum status nsys_database_open(struct nsys_database *ret_database, const char *path, const char *shown_path,
                               struct arena *arena, struct error *err)
{
  struct nsys_database *database = ret_database;
  *database = (struct nsys_database){.path = shown_path};
  XSP_TRY(check_header(database, path, err));
  const char *uri = uri_of(path, arena);
  if (uri == NULL)
    return error_set(err, STATUS_MEMORY, what, shown_path, NULL, "out of memory");
  int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  if (sqlite3_open_v2(uri, &database->db, flags, NULL) != SQLITE_OK) {
    enum status status = sqlite_failed(database, NULL, 0, err);
    nsys_database_close(database);
    return status;
  }
  enum status status = distrust(database, err);
  if (status == STATUS_OK)
    status = list_tables(database, arena, err);
  if (status != STATUS_OK)
    nsys_database_close(database);
  return status;
}

void nsys_database_close(struct nsys_database *database)
{
  sqlite3_close(database->db);
  database->db = NULL;
}

static const struct nsys_table *find_table(const struct nsys_database *database, const char *name)
{
  for (size_t i = 0; i < database->table_count; i++)
    if (sqlite3_stricmp(database->tables[i].name, name) == 0)
      return &database->tables[i];
  return NULL;
}

bool nsys_has_table(const struct nsys_database *database, const char *name)
{
  return find_table(database, name) != NULL;
}

bool nsys_has_prefix(const struct nsys_database *database, const char *prefix)
{
  for (size_t i = 0; i < database->table_count; i++)
    if (sqlite3_strnicmp(database->tables[i].name, prefix, (int)strlen(prefix)) == 0)
      return true;
  return false;
}

// ---- scans -----------------------------------------------------------------------------------------------------------
// Which of the columns the table has, and whether the needed ones are among them.
static enum status find_columns(struct nsys_scan *scan, struct error *err)
{
  char sql[256], where[sizeof err->where];
  snprintf(sql, sizeof sql, "SELECT * FROM main.\"%s\" LIMIT 0", scan->table);
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(scan->database->db, sql, -1, &statement, NULL) != SQLITE_OK)
    return sqlite_failed(scan->database, scan->table, 0, err);
  int count = sqlite3_column_count(statement);
  for (int i = 0; i < count; i++) {
    const char *name = sqlite3_column_name(statement, i);
    for (size_t column = 0; name != NULL && column < scan->column_count; column++)
      if (sqlite3_stricmp(name, scan->columns[column].name) == 0)
        scan->present |= UINT64_C(1) << column;
  }
  sqlite3_finalize(statement);
  for (size_t column = 0; column < scan->column_count; column++)
    if (scan->columns[column].is_needed && !nsys_has_column(scan, column)) {
      snprintf(where, sizeof where, "%s, table %s", scan->database->path, scan->table);
      return error_set(err, STATUS_INPUT, what, where, "an export by another version of nsys", "it has no column %s",
                       scan->columns[column].name);
    }
  return STATUS_OK;
}

static enum status prepare_scan(struct nsys_scan *scan, struct error *err)
{
  char sql[NSYS_COLUMNS_MOST * 48 + 256];
  size_t length = (size_t)snprintf(sql, sizeof sql, "SELECT rowid");
  for (size_t column = 0; column < scan->column_count && length < sizeof sql; column++)
    length += (size_t)snprintf(sql + length, sizeof sql - length, nsys_has_column(scan, column) ? ", \"%s\"" : ", NULL",
                               scan->columns[column].name);
  if (length < sizeof sql)
    length += (size_t)snprintf(sql + length, sizeof sql - length, " FROM main.\"%s\" NOT INDEXED", scan->table);
  if (length >= sizeof sql)
    return nsys_scan_broken(scan, err, "its names are too long");
  if (sqlite3_prepare_v2(scan->database->db, sql, (int)length, &scan->statement, NULL) != SQLITE_OK)
    return sqlite_failed(scan->database, scan->table, 0, err);
  return STATUS_OK;
}

enum status nsys_scan_begin(struct nsys_database *database, const char *table, const struct nsys_column *columns,
                            size_t column_count, struct nsys_scan *ret_scan, struct error *err)
{
  struct nsys_scan *scan = ret_scan;
  *scan = (struct nsys_scan){
      .database = database, .table = table, .columns = columns, .column_count = column_count, .row = INT64_MIN};
  const struct nsys_table *found = find_table(database, table);
  if (found == NULL)
    return STATUS_OK;
  if (found->refused != NULL) {
    char where[sizeof err->where];
    snprintf(where, sizeof where, "%s, table %s", database->path, table);
    return error_set(err, STATUS_INPUT, what, where, "nsys export --type sqlite", "%s", found->refused);
  }
  refill_steps(database);
  XSP_TRY(find_columns(scan, err));
  return prepare_scan(scan, err);
}

enum status nsys_scan_check(const struct nsys_scan *scan, struct error *err)
{
  if (scan->status != STATUS_OK && err != NULL)
    *err = scan->error;
  return scan->status;
}

enum status nsys_scan_next(struct nsys_scan *scan, bool *ret_has_row, struct error *err)
{
  *ret_has_row = false;
  XSP_TRY(nsys_scan_check(scan, err));
  if (scan->statement == NULL)
    return STATUS_OK;
  int code = sqlite3_step(scan->statement);
  if (code == SQLITE_DONE) {
    nsys_scan_end(scan);
    return STATUS_OK;
  }
  if (code != SQLITE_ROW)
    return sqlite_failed(scan->database, scan->table, scan->row, err);
  int64_t row = sqlite3_column_int64(scan->statement, 0);
  if (scan->has_row && row <= scan->row)
    return nsys_scan_broken(scan, err, "the database is damaged: row %lld follows", (long long)row);
  scan->row = row;
  scan->has_row = *ret_has_row = true;
  return STATUS_OK;
}

void nsys_scan_end(struct nsys_scan *scan)
{
  sqlite3_finalize(scan->statement);
  scan->statement = NULL;
}

bool nsys_has_column(const struct nsys_scan *scan, size_t column)
{
  return (scan->present >> column & 1) != 0;
}

enum status nsys_count(struct nsys_database *database, const char *table, const struct nsys_column *columns,
                       size_t column_count, uint64_t *ret_count, struct error *err)
{
  struct nsys_scan scan = {.database = database, .table = table, .columns = columns, .column_count = column_count};
  bool has_row = false;
  *ret_count = 0;
  refill_steps(database);
  XSP_TRY(find_columns(&scan, err));
  scan.column_count = 0; // rows are counted unread
  if (scan.present == 0)
    return STATUS_OK;
  enum status status = prepare_scan(&scan, err);
  if (status != STATUS_OK) // a table without row numbers, which nsys does not make, is none of our business
    return sqlite3_errcode(database->db) == SQLITE_ERROR ? STATUS_OK : status;
  status = nsys_scan_next(&scan, &has_row, err);
  for (; status == STATUS_OK && has_row; ++*ret_count)
    status = nsys_scan_next(&scan, &has_row, err);
  nsys_scan_end(&scan);
  return status;
}

// ---- values ----------------------------------------------------------------------------------------------------------
enum nsys_type nsys_type_of(struct nsys_scan *scan, size_t column)
{
  switch (sqlite3_column_type(scan->statement, (int)column + 1)) {
  case SQLITE_INTEGER:
    return NSYS_INTEGER;
  case SQLITE_FLOAT:
    return NSYS_REAL;
  case SQLITE_TEXT:
    return NSYS_TEXT;
  case SQLITE_BLOB:
    return NSYS_BLOB;
  default:
    return NSYS_NULL;
  }
}

static void fail(struct nsys_scan *scan, size_t column, const char *problem)
{
  if (scan->status == STATUS_OK)
    scan->status = nsys_scan_broken(scan, &scan->error, "column %s %s", scan->columns[column].name, problem);
}

int64_t nsys_int(struct nsys_scan *scan, size_t column, int64_t otherwise)
{
  switch (nsys_type_of(scan, column)) {
  case NSYS_INTEGER:
    return sqlite3_column_int64(scan->statement, (int)column + 1);
  case NSYS_NULL:
    return otherwise;
  case NSYS_REAL:
    fail(scan, column, "is no whole number of 64 bits");
    return otherwise;
  default:
    fail(scan, column, "is no number");
    return otherwise;
  }
}

double nsys_real(struct nsys_scan *scan, size_t column)
{
  return sqlite3_column_double(scan->statement, (int)column + 1);
}

const char *nsys_text(struct nsys_scan *scan, size_t column, size_t *ret_length)
{
  *ret_length = 0;
  if (nsys_type_of(scan, column) == NSYS_NULL)
    return NULL;
  const char *text = (const char *)sqlite3_column_text(scan->statement, (int)column + 1);
  if (text == NULL) { // out of memory, or an empty blob
    if (sqlite3_errcode(scan->database->db) == SQLITE_NOMEM && scan->status == STATUS_OK)
      scan->status = error_set(&scan->error, STATUS_MEMORY, what, scan->database->path, NULL, "out of memory");
    return "";
  }
  *ret_length = (size_t)sqlite3_column_bytes(scan->statement, (int)column + 1);
  scan->text_bytes += *ret_length;
  // Overflow pages that several rows share: what was read cannot have been written.
  if (scan->text_bytes / 16 > scan->database->size_bytes + LARGEST_VALUE_BYTES)
    fail(scan, column, "holds more than the file can: the database is damaged");
  return text;
}

// ---- look-ups --------------------------------------------------------------------------------------------------------
enum status nsys_lookup_begin(struct nsys_database *database, const char *table, const char *key, const char *value,
                              struct nsys_lookup *ret_lookup, struct error *err)
{
  *ret_lookup = (struct nsys_lookup){.database = database, .table = table};
  const char *type = NULL;
  int is_key = 0;
  if (sqlite3_table_column_metadata(database->db, "main", table, key, &type, NULL, NULL, &is_key, NULL) != SQLITE_OK)
    return sqlite_failed(database, table, 0, err);
  if (!is_key || type == NULL || sqlite3_stricmp(type, "INTEGER") != 0)
    return STATUS_OK;
  char sql[256];
  snprintf(sql, sizeof sql, "SELECT \"%s\" FROM main.\"%s\" WHERE \"%s\" = ?1", value, table, key);
  if (sqlite3_prepare_v2(database->db, sql, -1, &ret_lookup->statement, NULL) != SQLITE_OK)
    return sqlite_failed(database, table, 0, err);
  return STATUS_OK;
}

enum status nsys_lookup_text(struct nsys_lookup *lookup, int64_t key, const char **ret_text, size_t *ret_length,
                             struct error *err)
{
  *ret_text = NULL;
  *ret_length = 0;
  sqlite3_reset(lookup->statement);
  sqlite3_bind_int64(lookup->statement, 1, key);
  int code = sqlite3_step(lookup->statement);
  if (code == SQLITE_DONE)
    return STATUS_OK;
  if (code != SQLITE_ROW)
    return sqlite_failed(lookup->database, lookup->table, 0, err);
  if (sqlite3_column_type(lookup->statement, 0) == SQLITE_NULL)
    return STATUS_OK;
  *ret_text = (const char *)sqlite3_column_text(lookup->statement, 0);
  *ret_length = (size_t)sqlite3_column_bytes(lookup->statement, 0);
  if (*ret_text == NULL && *ret_length == 0)
    *ret_text = "";
  return STATUS_OK;
}

void nsys_lookup_end(struct nsys_lookup *lookup)
{
  sqlite3_finalize(lookup->statement);
  lookup->statement = NULL;
}
