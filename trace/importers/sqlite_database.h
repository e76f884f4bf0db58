// SPDX-License-Identifier: Apache-2.0
// A stranger's SQLite database, table by table: rows in the order in which they lie in the file, columns by name, and
// one clear error for whatever is wrong with it. Inside this room only. One thread at a time.
//
// Nothing of the database is executed: views, virtual tables, triggers and functions are refused, and no statement may
// take more steps than a file of its size can need.
#ifndef XSP_IMPORTERS_SQLITE_DATABASE_H
#define XSP_IMPORTERS_SQLITE_DATABASE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

#define IMPORT_LARGEST_VALUE_BYTES (64 << 20)

struct import_table {
  const char *name;
  const char *refused; // NULL, or why it is not read: "it is a view"
};
struct import_database {
  struct sqlite3 *db;
  const char *path;   // as the user wrote it; borrowed
  const char *advice; // what writes such a file: "nsys export --type sqlite"; static
  uint64_t size_bytes;
  const volatile sig_atomic_t *cancel; // not 0: end the statement; NULL: never
  uint64_t calls_left;                 // of the progress handler, until the statement is ended
  uint64_t all_calls_left;             // the same of all statements: tables, too, may share their pages
  bool is_exhausted;                   // it ended one
  struct import_table *tables;         // in the arena that was given
  size_t table_count;
};

// `path` is opened, errors show `shown_path` and `advice`. STATUS_INPUT: no SQLite database, or a damaged one.
enum status import_database_open(struct import_database *ret_database, const char *path, const char *shown_path,
                                 const char *advice, struct arena *arena, struct error *err) MUST_CHECK;
void import_database_close(struct import_database *database); // {0} is fine
// What SQLite's last error means. `table` may be NULL; row: the last one that was read, else below 1.
enum status import_database_failed(struct import_database *database, const char *table, int64_t row, struct error *err);
void import_database_refill(struct import_database *database); // steps for one more statement
const struct import_table *import_find_table(const struct import_database *database, const char *name); // NULL: none
bool import_has_tables(const struct import_database *database, const char *prefix); // of any table's name

// ---- one pass over a table
enum import_need {
  IMPORT_OPTIONAL = false,
  IMPORT_NEEDED = true,
  IMPORT_EITHER
}; // EITHER: two columns, of which one is needed
struct import_column {
  const char *name;
  unsigned need; // enum import_need; the values of a column that the table lacks are NULL
};
#define IMPORT_COLUMNS_MOST 48
struct import_scan {
  struct import_database *database;
  struct sqlite3_stmt *statement; // NULL: there is no such table
  const char *table;
  const struct import_column *columns;
  size_t column_count;
  uint64_t present; // bit i: the table has column i
  int64_t row;      // its number in the table (rowid)
  bool has_row, is_seek;
  uint64_t text_bytes;
  enum status status; // sticky: the first value of a row that could not be read
  struct error error;
};

// A table that is not there: STATUS_OK and a scan without rows.
enum status import_scan_begin(struct import_database *database, const char *table, const struct import_column *columns,
                              size_t column_count, struct import_scan *ret_scan, struct error *err) MUST_CHECK;
// Reports the values that import_scan_int and import_scan_text could not read since the last call, then goes to the next row.
enum status import_scan_next(struct import_scan *scan, bool *ret_has_row, struct error *err) MUST_CHECK;
void import_scan_end(struct import_scan *scan); // {0} is fine; twice is fine
// All further rows of a scan, until one fails.
typedef enum status import_row_reader(void *context, struct import_scan *scan, struct error *err);
enum status import_scan_rows(struct import_scan *scan, import_row_reader *read, void *context,
                             struct error *err) MUST_CHECK;
// The same for one row at a time, by its number: the key of a table whose first column is an INTEGER PRIMARY KEY. No row where
// the table is not there. STATUS_OK of import_scan_seek and no row: there is none of that number.
enum status import_scan_begin_seek(struct import_database *database, const char *table,
                                   const struct import_column *columns, size_t column_count,
                                   struct import_scan *ret_scan, struct error *err) MUST_CHECK;
enum status import_scan_seek(struct import_scan *scan, int64_t number, bool *ret_has_row, struct error *err) MUST_CHECK;
// All rows of a table that may not be there.
enum status import_read_rows(struct import_database *database, const char *table, const struct import_column *columns,
                             size_t column_count, import_row_reader *read, void *context, struct error *err) MUST_CHECK;
bool import_scan_has(const struct import_scan *scan, size_t column);
// Rows of a table that has at least one of these columns; 0 of others.
enum status import_count_rows(struct import_database *database, const char *table, const struct import_column *columns,
                              size_t column_count, uint64_t *ret_count, struct error *err) MUST_CHECK;

// ---- values of the row
enum import_type { IMPORT_NULL, IMPORT_INTEGER, IMPORT_REAL, IMPORT_TEXT, IMPORT_BLOB };
enum import_type import_scan_type(struct import_scan *scan, size_t column);
// `otherwise` where it is NULL. Anything but a whole number of 64 bits is an error that the next import_scan_next reports.
int64_t import_scan_int(struct import_scan *scan, size_t column, int64_t otherwise);
double import_scan_real(struct import_scan *scan, size_t column);
// Bytes of a text or blob, valid until the next row; their data is NULL where it is NULL.
struct slice import_scan_text(struct import_scan *scan, size_t column);
// STATUS_INPUT: "cannot import: FILE, table T, row N: …".
__attribute__((format(printf, 3, 4))) enum status import_scan_broken(const struct import_scan *scan, struct error *err,
                                                                     const char *format, ...);
// What import_scan_int and the like left in this row; import_scan_next says so too.
enum status import_scan_check(const struct import_scan *scan, struct error *err) MUST_CHECK;

// ---- one value by its key: SELECT value FROM table WHERE key = ?
struct import_lookup {
  struct import_database *database;
  struct sqlite3_stmt *statement; // NULL: `key` is no primary key, so that looking up would read the table each time
  const char *table;
  uint64_t text_bytes;
};
enum status import_lookup_begin(struct import_database *database, const char *table, const char *key, const char *value,
                                struct import_lookup *ret_lookup, struct error *err) MUST_CHECK;
// ret_text->data NULL: there is none. Valid until the next call.
enum status import_lookup_text(struct import_lookup *lookup, int64_t key, struct slice *ret_text,
                               struct error *err) MUST_CHECK;
void import_lookup_end(struct import_lookup *lookup);

#endif
