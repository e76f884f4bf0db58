// SPDX-License-Identifier: Apache-2.0
// What the virtual tables share: constraints as filters, errors as SQLite's messages.
#ifndef XSP_STORE_TABLE_H
#define XSP_STORE_TABLE_H

#include "store/reader.h"
#include "store/scan.h"
#include "store/sqlite_api.h"

// How a stored column looks in SQL.
enum render {
  RENDER_RUN, // run_id: not stored in the column
  RENDER_ID,  // 0 is NULL
  RENDER_INTEGER,
  RENDER_STRING, // id of a string; 0 is NULL
  RENDER_NAME,   // id of a string; 0 is ''
  RENDER_LEVEL,
  RENDER_KIND,
  RENDER_SAMPLE_KIND,
  RENDER_BASIS,       // enum as text
  RENDER_OBSERVATION, // -1 is NULL
  RENDER_OWN,         // the table's own business: never pushed down
};
struct store_table_column {
  const char *name, *type; // of the declaration
  unsigned column;         // stored column
  enum render render;
  bool is_key;   // an equality may go through an index
  bool is_range; // <, <=, >, >= may prune
};
struct table_kind {
  const char *name;
  enum series_name series;
  const struct store_table_column *columns;
  unsigned column_count;
  unsigned unique; // SQL column that is unique within a run; column_count: none
  enum status (*put_own)(struct scan *scan, int column, sqlite3_context *context, struct error *err); // RENDER_OWN
};

// One object for every use of the table in statements of one connection.
struct store_table {
  sqlite3_vtab base;
  const struct table_kind *kind;
  struct reader *reader;
};
struct table_cursor {
  sqlite3_vtab_cursor base;
  struct scan scan;
};

#define TABLE_KINDS 3
extern const struct table_kind store_table_kinds[TABLE_KINDS]; // table_kinds.c

// Texts of enums.
struct table_names {
  const char *(*name)(unsigned value);
  bool (*from_name)(const char *text, size_t length, unsigned *ret_value);
};
extern const struct table_names store_table_names[RENDER_OWN + 1]; // by render; NULL: none

static inline bool table_is_text(enum render render)
{
  return render >= RENDER_STRING && render <= RENDER_BASIS;
}

void store_table_put_text(sqlite3_context *context, const struct reader *reader, enum render render, uint32_t value);
int store_table_failed(sqlite3_vtab *table, enum status status,
                       const struct error *err); // SQLite's code, with a message

// table_plan.c: which constraints and orders a scan takes over, and the scan of them.
int store_table_best_index(sqlite3_vtab *table, sqlite3_index_info *info);
int store_table_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int count, sqlite3_value **values);

#endif
