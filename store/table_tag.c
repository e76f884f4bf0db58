// SPDX-License-Identifier: Apache-2.0
// The table `tag` of SQL, over column chunks. Values keep their type.
#include "store/problem.h"
#include "store/store_private.h"
#include "store/table.h"

#include <string.h>

enum { SQL_RUN_ID, SQL_SPAN_ID, SQL_KEY, SQL_VALUE, SQL_COLUMNS };
static const struct table_column columns[SQL_COLUMNS] = {
    [SQL_RUN_ID] = {"run_id", "INTEGER", 0, RENDER_RUN, false, false},
    [SQL_SPAN_ID] = {"span_id", "INTEGER", TAG_SPAN_ID, RENDER_ID, true, true},
    [SQL_KEY] = {"key", "TEXT", TAG_KEY, RENDER_NAME, false, false},
    [SQL_VALUE] = {"value", "", TAG_VALUE, RENDER_OWN, false, false},
};
static const struct table_kind tag_kind = {SERIES_TAG, columns, SQL_COLUMNS, SQL_COLUMNS};

static int connect(sqlite3 *db, void *reader, int argc, const char *const *argv, sqlite3_vtab **ret_table,
                   char **ret_message)
{
  (void)argc;
  (void)argv;
  return table_connect(db, &tag_kind, reader, ret_table, ret_message);
}

static enum status put_value(struct scan *scan, sqlite3_context *context, struct error *err)
{
  XSP_TRY(scan_need(scan, TAG_TYPE, err));
  XSP_TRY(scan_need(scan, TAG_VALUE, err));
  int64_t value = scan_int64(scan, TAG_VALUE);
  uint8_t type = scan_uint8(scan, TAG_TYPE);
  if (type == STORE_INT) {
    sqlite3_result_int64(context, value);
  } else if (type == STORE_DOUBLE) {
    double real;
    memcpy(&real, &value, sizeof real);
    sqlite3_result_double(context, real);
  } else if (value == 0 || (value > 0 && value < strings_count(scan->reader->strings))) {
    table_string(context, scan->reader, (uint32_t)value);
  } else {
    return problem_broken(err, scan->reader->path, "a tag refers to string %lld, which does not exist",
                          (long long)value);
  }
  return STATUS_OK;
}

static enum status put_cell(struct scan *scan, int number, sqlite3_context *context, struct error *err)
{
  switch (number) {
  case SQL_RUN_ID:
    sqlite3_result_int64(context, scan->run->run_id);
    return STATUS_OK;
  case SQL_SPAN_ID:
    XSP_TRY(scan_need(scan, TAG_SPAN_ID, err));
    if (scan_int64(scan, TAG_SPAN_ID) != 0)
      sqlite3_result_int64(context, scan_int64(scan, TAG_SPAN_ID));
    return STATUS_OK;
  case SQL_KEY:
    XSP_TRY(scan_need(scan, TAG_KEY, err));
    table_string(context, scan->reader, scan_uint32(scan, TAG_KEY));
    return STATUS_OK;
  default:
    return put_value(scan, context, err);
  }
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
  struct table_cursor *cursor = (struct table_cursor *)base;
  struct error err;
  err.status = STATUS_OK;
  enum status status = put_cell(&cursor->scan, number, context, &err);
  return status == STATUS_OK ? SQLITE_OK : table_failed(base->pVtab, status, &err);
}

static sqlite3_module module = {
    .xConnect = connect,
    .xBestIndex = table_best_index,
    .xDisconnect = table_disconnect,
    .xOpen = table_open,
    .xClose = table_close,
    .xFilter = table_filter,
    .xNext = table_next,
    .xEof = table_eof,
    .xColumn = get_column,
    .xRowid = table_rowid,
};

int table_tag_register(sqlite3 *db, struct reader *reader)
{
  return sqlite3_create_module_v2(db, "tag", &module, reader, NULL);
}
