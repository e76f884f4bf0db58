// SPDX-License-Identifier: Apache-2.0
// Rows, values and look-ups of a stranger's database; see sqlite_database.h. Called by importers of SQLite files.
//
// Corrupt b-trees may lead in circles, so rows must have rising numbers, and texts may not add up to more than the file
// can hold.
#include "importers/sqlite_database.h"

#include "base/memory.h"

#include <sqlite3.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char what[] = "cannot import";

enum status import_scan_broken(const struct import_scan *scan, struct error *err, const char *format, ...)
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

// Overflow pages that several rows share: what was read cannot have been written. (Six times, because a text is read up to
// three times in one pass, and UTF-16 grows by half when it becomes UTF-8.)
static bool is_beyond_file(const struct import_database *database, uint64_t text_bytes)
{
  return text_bytes / 6 > database->size_bytes;
}

// ---- scans -----------------------------------------------------------------------------------------------------------
// A column that the table has. One that is computed could compute for ever.
static enum status note_column(struct import_scan *scan, const char *name, int64_t hidden, struct error *err)
{
  for (size_t column = 0; column < scan->column_count; column++) {
    if (sqlite3_stricmp(name, scan->columns[column].name) != 0)
      continue;
    if (hidden != 0)
      return import_scan_broken(scan, err, "column %s is computed; only stored ones are read", name);
    scan->present |= UINT64_C(1) << column;
  }
  return STATUS_OK;
}

// Which of the columns the table has, and whether the needed ones are among them.
static enum status find_columns(struct import_scan *scan, struct error *err)
{
  enum { NAME = 1, HIDDEN = 6 };
  char sql[256], where[sizeof err->where];
  snprintf(sql, sizeof sql, "PRAGMA main.table_xinfo(\"%s\")", scan->table);
  sqlite3_stmt *statement = NULL;
  enum status status = STATUS_OK;
  int code = sqlite3_prepare_v2(scan->database->db, sql, -1, &statement, NULL);
  while (status == STATUS_OK && (code == SQLITE_OK || code == SQLITE_ROW)) {
    code = sqlite3_step(statement);
    const char *name = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, NAME) : NULL;
    if (name != NULL)
      status = note_column(scan, name, sqlite3_column_int64(statement, HIDDEN), err);
  }
  if (status == STATUS_OK && code != SQLITE_DONE)
    status = import_database_failed(scan->database, scan->table, 0, err);
  sqlite3_finalize(statement);
  const char *either[2] = {NULL, NULL};
  for (size_t column = 0; column < scan->column_count && status == STATUS_OK; column++) {
    bool has_column = import_scan_has(scan, column);
    if (scan->columns[column].need == IMPORT_EITHER && !has_column)
      either[either[0] != NULL] = scan->columns[column].name;
    if (scan->columns[column].need == IMPORT_NEEDED && !has_column) {
      snprintf(where, sizeof where, "%s, table %s", scan->database->path, scan->table);
      return error_set(err, STATUS_INPUT, what, where, "a file by another version of its writer", "it has no column %s",
                       scan->columns[column].name);
    }
  }
  if (status == STATUS_OK && either[1] != NULL)
    return import_scan_broken(scan, err, "it has neither column %s nor %s", either[0], either[1]);
  return status;
}

static enum status prepare_scan(struct import_scan *scan, struct error *err)
{
  char sql[IMPORT_COLUMNS_MOST * 48 + 256];
  size_t length = (size_t)snprintf(sql, sizeof sql, "SELECT rowid");
  for (size_t column = 0; column < scan->column_count && length < sizeof sql; column++)
    length += (size_t)snprintf(sql + length, sizeof sql - length, import_scan_has(scan, column) ? ", \"%s\"" : ", NULL",
                               scan->columns[column].name);
  if (length < sizeof sql)
    length += (size_t)snprintf(sql + length, sizeof sql - length, " FROM main.\"%s\" NOT INDEXED%s", scan->table,
                               scan->is_seek ? " WHERE rowid = ?1" : "");
  if (length >= sizeof sql)
    return import_scan_broken(scan, err, "its names are too long");
  if (sqlite3_prepare_v2(scan->database->db, sql, (int)length, &scan->statement, NULL) != SQLITE_OK)
    return import_database_failed(scan->database, scan->table, 0, err);
  return STATUS_OK;
}

static enum status open_scan(struct import_database *database, const char *table, const struct import_column *columns,
                             size_t column_count, bool is_seek, struct import_scan *ret_scan, struct error *err)
{
  struct import_scan *scan = ret_scan;
  *scan = (struct import_scan){.database = database,
                               .table = table,
                               .columns = columns,
                               .column_count = column_count,
                               .row = INT64_MIN,
                               .is_seek = is_seek};
  const struct import_table *found = import_find_table(database, table);
  if (found == NULL)
    return STATUS_OK;
  if (found->refused != NULL) {
    char where[sizeof err->where];
    snprintf(where, sizeof where, "%s, table %s", database->path, table);
    return error_set(err, STATUS_INPUT, what, where, database->advice, "%s", found->refused);
  }
  import_database_refill(database);
  XSP_TRY(find_columns(scan, err));
  return prepare_scan(scan, err);
}

enum status import_scan_begin(struct import_database *database, const char *table, const struct import_column *columns,
                              size_t column_count, struct import_scan *ret_scan, struct error *err)
{
  return open_scan(database, table, columns, column_count, false, ret_scan, err);
}

enum status import_scan_begin_seek(struct import_database *database, const char *table,
                                   const struct import_column *columns, size_t column_count,
                                   struct import_scan *ret_scan, struct error *err)
{
  return open_scan(database, table, columns, column_count, true, ret_scan, err);
}

enum status import_scan_check(const struct import_scan *scan, struct error *err)
{
  if (scan->status != STATUS_OK && err != NULL)
    *err = scan->error;
  return scan->status;
}

enum status import_scan_next(struct import_scan *scan, bool *ret_has_row, struct error *err)
{
  *ret_has_row = false;
  XSP_TRY(import_scan_check(scan, err));
  if (scan->statement == NULL)
    return STATUS_OK;
  int code = sqlite3_step(scan->statement);
  if (code == SQLITE_DONE) {
    import_scan_end(scan);
    return STATUS_OK;
  }
  if (code != SQLITE_ROW)
    return import_database_failed(scan->database, scan->table, scan->row, err);
  int64_t row = sqlite3_column_int64(scan->statement, 0);
  if (scan->has_row && row <= scan->row)
    return import_scan_broken(scan, err, "the database is damaged: row %lld follows", (long long)row);
  scan->row = row;
  scan->has_row = *ret_has_row = true;
  return STATUS_OK;
}

enum status import_scan_seek(struct import_scan *scan, int64_t number, bool *ret_has_row, struct error *err)
{
  *ret_has_row = scan->has_row = false;
  if (scan->statement == NULL)
    return STATUS_OK;
  sqlite3_reset(scan->statement);
  import_database_refill(scan->database);
  sqlite3_bind_int64(scan->statement, 1, number);
  int code = sqlite3_step(scan->statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    return import_database_failed(scan->database, scan->table, number, err);
  scan->row = number;
  scan->has_row = *ret_has_row = code == SQLITE_ROW;
  return STATUS_OK;
}

void import_scan_end(struct import_scan *scan)
{
  sqlite3_finalize(scan->statement);
  scan->statement = NULL;
}

enum status import_scan_rows(struct import_scan *scan, import_row_reader *read, void *context, struct error *err)
{
  bool has_row = false;
  enum status status = import_scan_next(scan, &has_row, err);
  while (status == STATUS_OK && has_row) {
    status = read(context, scan, err);
    if (status == STATUS_OK)
      status = import_scan_next(scan, &has_row, err);
  }
  return status;
}

enum status import_read_rows(struct import_database *database, const char *table, const struct import_column *columns,
                             size_t column_count, import_row_reader *read, void *context, struct error *err)
{
  struct import_scan scan SCOPED(import_scan_end) = {0};
  XSP_TRY(import_scan_begin(database, table, columns, column_count, &scan, err));
  return import_scan_rows(&scan, read, context, err);
}

bool import_scan_has(const struct import_scan *scan, size_t column)
{
  return (scan->present >> column & 1) != 0;
}

enum status import_count_rows(struct import_database *database, const char *table, const struct import_column *columns,
                              size_t column_count, uint64_t *ret_count, struct error *err)
{
  struct import_scan scan = {.database = database, .table = table, .columns = columns, .column_count = column_count};
  bool has_row = false;
  *ret_count = 0;
  import_database_refill(database);
  XSP_TRY(find_columns(&scan, err));
  scan.column_count = 0; // rows are counted unread
  if (scan.present == 0)
    return STATUS_OK;
  enum status status = prepare_scan(&scan, err);
  if (status != STATUS_OK) // a table without row numbers, which no writer makes, is none of our business
    return sqlite3_errcode(database->db) == SQLITE_ERROR ? STATUS_OK : status;
  status = import_scan_next(&scan, &has_row, err);
  for (; status == STATUS_OK && has_row; ++*ret_count)
    status = import_scan_next(&scan, &has_row, err);
  import_scan_end(&scan);
  return status;
}

// ---- values ----------------------------------------------------------------------------------------------------------
enum import_type import_scan_type(struct import_scan *scan, size_t column)
{
  switch (sqlite3_column_type(scan->statement, (int)column + 1)) {
  case SQLITE_INTEGER:
    return IMPORT_INTEGER;
  case SQLITE_FLOAT:
    return IMPORT_REAL;
  case SQLITE_TEXT:
    return IMPORT_TEXT;
  case SQLITE_BLOB:
    return IMPORT_BLOB;
  default:
    return IMPORT_NULL;
  }
}

static void fail(struct import_scan *scan, size_t column, const char *problem)
{
  if (scan->status == STATUS_OK)
    scan->status = import_scan_broken(scan, &scan->error, "column %s %s", scan->columns[column].name, problem);
}

static struct slice text_of(sqlite3_stmt *statement, int column)
{
  const char *text = (const char *)sqlite3_column_text(statement, column);
  return (struct slice){text, (size_t)sqlite3_column_bytes(statement, column)};
}

int64_t import_scan_int(struct import_scan *scan, size_t column, int64_t otherwise)
{
  int64_t number;
  struct slice text;
  switch (import_scan_type(scan, column)) {
  case IMPORT_INTEGER:
    return sqlite3_column_int64(scan->statement, (int)column + 1);
  case IMPORT_NULL:
    return otherwise;
  case IMPORT_REAL:
    fail(scan, column, "is not a 64-bit integer");
    return otherwise;
  case IMPORT_TEXT: // columns without a type, of tables that a script copied, keep numbers as they were given
    text = text_of(scan->statement, (int)column + 1);
    if (text.data != NULL && slice_int64(text, &number))
      return number;
    fail(scan, column, "is not a 64-bit integer");
    return otherwise;
  case IMPORT_BLOB:
    fail(scan, column, "is not a number");
    break;
  }
  return otherwise;
}

double import_scan_real(struct import_scan *scan, size_t column)
{
  return sqlite3_column_double(scan->statement, (int)column + 1);
}

struct slice import_scan_text(struct import_scan *scan, size_t column)
{
  if (import_scan_type(scan, column) == IMPORT_NULL)
    return (struct slice){NULL, 0};
  struct slice text = text_of(scan->statement, (int)column + 1);
  if (text.data == NULL) { // out of memory, or an empty blob
    if (sqlite3_errcode(scan->database->db) == SQLITE_NOMEM)
      memory_exhausted();
    return (struct slice){"", 0};
  }
  scan->text_bytes += text.length;
  if (is_beyond_file(scan->database, scan->text_bytes))
    fail(scan, column, "holds more than the file can: the database is damaged");
  return text;
}

// ---- look-ups --------------------------------------------------------------------------------------------------------
enum status import_lookup_begin(struct import_database *database, const char *table, const char *key, const char *value,
                                struct import_lookup *ret_lookup, struct error *err)
{
  *ret_lookup = (struct import_lookup){.database = database, .table = table};
  const char *type = NULL;
  int is_key = 0;
  if (sqlite3_table_column_metadata(database->db, "main", table, key, &type, NULL, NULL, &is_key, NULL) != SQLITE_OK)
    return import_database_failed(database, table, 0, err);
  if (!is_key || type == NULL || sqlite3_stricmp(type, "INTEGER") != 0)
    return STATUS_OK;
  char sql[256];
  snprintf(sql, sizeof sql, "SELECT \"%s\" FROM main.\"%s\" WHERE \"%s\" = ?1", value, table, key);
  if (sqlite3_prepare_v2(database->db, sql, -1, &ret_lookup->statement, NULL) != SQLITE_OK)
    return import_database_failed(database, table, 0, err);
  return STATUS_OK;
}

enum status import_lookup_text(struct import_lookup *lookup, int64_t key, struct slice *ret_text, struct error *err)
{
  *ret_text = (struct slice){NULL, 0};
  sqlite3_reset(lookup->statement);
  sqlite3_bind_int64(lookup->statement, 1, key);
  int code = sqlite3_step(lookup->statement);
  if (code == SQLITE_DONE)
    return STATUS_OK;
  if (code != SQLITE_ROW)
    return import_database_failed(lookup->database, lookup->table, 0, err);
  if (sqlite3_column_type(lookup->statement, 0) == SQLITE_NULL)
    return STATUS_OK;
  *ret_text = text_of(lookup->statement, 0);
  lookup->text_bytes += ret_text->length;
  if (is_beyond_file(lookup->database, lookup->text_bytes)) {
    char where[sizeof err->where];
    snprintf(where, sizeof where, "%s, table %s", lookup->database->path, lookup->table);
    return error_set(err, STATUS_INPUT, what, where, NULL,
                     "its texts hold more than the file can: the database is damaged");
  }
  if (ret_text->data == NULL)
    ret_text->data = "";
  return STATUS_OK;
}

void import_lookup_end(struct import_lookup *lookup)
{
  sqlite3_finalize(lookup->statement);
  lookup->statement = NULL;
}
