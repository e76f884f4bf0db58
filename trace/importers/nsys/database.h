// SPDX-License-Identifier: Apache-2.0
// A stranger's SQLite database, table by table: rows in the order in which they lie in the file, columns by name, and
// one clear error for whatever is wrong with it. Inside this folder only. One thread at a time.
//
// Nothing of the database is executed: views, virtual tables, triggers and functions are refused, and no statement may
// take more steps than a file of its size can need.
#ifndef XSP_IMPORTERS_NSYS_DATABASE_H
#define XSP_IMPORTERS_NSYS_DATABASE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

#define NSYS_LARGEST_VALUE_BYTES (64 << 20)

struct nsys_table {
  const char *name;
  const char *refused; // NULL, or why it is not read: "it is a view"
};
struct nsys_database {
  struct sqlite3 *db;
  const char *path; // as the user wrote it; borrowed
  uint64_t size_bytes;
  const volatile sig_atomic_t *cancel; // not 0: end the statement; NULL: never
  uint64_t calls_left;                 // of the progress handler, until the statement is ended
  uint64_t all_calls_left;             // the same of all statements: tables, too, may share their pages
  bool is_exhausted;                   // it ended one
  struct nsys_table *tables;           // in the arena that was given
  size_t table_count;
};

// `path` is opened, errors show `shown_path`. STATUS_INPUT: no SQLite database, or a damaged one.
enum status nsys_database_open(struct nsys_database *ret_database, const char *path, const char *shown_path,
                               struct arena *arena, struct error *err) MUST_CHECK;
void nsys_database_close(struct nsys_database *database); // {0} is fine
// What SQLite's last error means. `table` may be NULL; row: the last one that was read, else below 1.
enum status nsys_database_failed(struct nsys_database *database, const char *table, int64_t row, struct error *err);
void nsys_database_refill(struct nsys_database *database); // steps for one more statement
const struct nsys_table *nsys_find_table(const struct nsys_database *database, const char *name); // NULL: none
bool nsys_has_prefix(const struct nsys_database *database, const char *prefix);                   // of any table's name

// ---- one pass over a table
enum nsys_need {
  NSYS_OPTIONAL = false,
  NSYS_NEEDED = true,
  NSYS_EITHER
}; // EITHER: two columns, of which one is needed
struct nsys_column {
  const char *name;
  unsigned need; // enum nsys_need; the values of a column that the table lacks are NULL
};
#define NSYS_COLUMNS_MOST 48
struct nsys_scan {
  struct nsys_database *database;
  struct sqlite3_stmt *statement; // NULL: there is no such table
  const char *table;
  const struct nsys_column *columns;
  size_t column_count;
  uint64_t present; // bit i: the table has column i
  int64_t row;      // its number in the table (rowid)
  bool has_row;
  uint64_t text_bytes;
  enum status status; // sticky: the first value of a row that could not be read
  struct error error;
};

// A table that is not there: STATUS_OK and a scan without rows.
enum status nsys_scan_begin(struct nsys_database *database, const char *table, const struct nsys_column *columns,
                            size_t column_count, struct nsys_scan *ret_scan, struct error *err) MUST_CHECK;
// Reports the values that nsys_int and nsys_text could not read since the last call, then goes to the next row.
enum status nsys_scan_next(struct nsys_scan *scan, bool *ret_has_row, struct error *err) MUST_CHECK;
void nsys_scan_end(struct nsys_scan *scan); // {0} is fine; twice is fine
// All further rows of a scan, until one fails.
typedef enum status nsys_row_reader(void *context, struct nsys_scan *scan, struct error *err);
enum status nsys_scan_rows(struct nsys_scan *scan, nsys_row_reader *read, void *context, struct error *err) MUST_CHECK;
// All rows of a table that may not be there.
enum status nsys_read_rows(struct nsys_database *database, const char *table, const struct nsys_column *columns,
                           size_t column_count, nsys_row_reader *read, void *context, struct error *err) MUST_CHECK;
bool nsys_has_column(const struct nsys_scan *scan, size_t column);
// Rows of a table that has at least one of these columns; 0 of others.
enum status nsys_count(struct nsys_database *database, const char *table, const struct nsys_column *columns,
                       size_t column_count, uint64_t *ret_count, struct error *err) MUST_CHECK;

// ---- values of the row
enum nsys_type { NSYS_NULL, NSYS_INTEGER, NSYS_REAL, NSYS_TEXT, NSYS_BLOB };
enum nsys_type nsys_type_of(struct nsys_scan *scan, size_t column);
// `otherwise` where it is NULL. Anything but a whole number of 64 bits is an error that the next nsys_scan_next reports.
int64_t nsys_int(struct nsys_scan *scan, size_t column, int64_t otherwise);
double nsys_real(struct nsys_scan *scan, size_t column);
// Bytes of a text or blob, valid until the next row; their data is NULL where it is NULL.
struct slice nsys_text(struct nsys_scan *scan, size_t column);
// STATUS_INPUT: "cannot import: FILE, table T, row N: …".
__attribute__((format(printf, 3, 4))) enum status nsys_scan_broken(const struct nsys_scan *scan, struct error *err,
                                                                   const char *format, ...);
// What nsys_int and the like left in this row; nsys_scan_next says so too.
enum status nsys_scan_check(const struct nsys_scan *scan, struct error *err) MUST_CHECK;

// ---- one value by its key: SELECT value FROM table WHERE key = ?
struct nsys_lookup {
  struct nsys_database *database;
  struct sqlite3_stmt *statement; // NULL: `key` is no primary key, so that looking up would read the table each time
  const char *table;
  uint64_t text_bytes;
};
enum status nsys_lookup_begin(struct nsys_database *database, const char *table, const char *key, const char *value,
                              struct nsys_lookup *ret_lookup, struct error *err) MUST_CHECK;
// ret_text->data NULL: there is none. Valid until the next call.
enum status nsys_lookup_text(struct nsys_lookup *lookup, int64_t key, struct slice *ret_text,
                             struct error *err) MUST_CHECK;
void nsys_lookup_end(struct nsys_lookup *lookup);

#endif
