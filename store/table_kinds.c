// SPDX-License-Identifier: Apache-2.0
// The tables `span` and `tag` of SQL, over column chunks. A column is decoded when a statement asks for it, by parts.
#include "store/problem.h"
#include "store/store_private.h"
#include "store/table.h"

#include <string.h>

enum {
  SQL_RUN_ID,
  SQL_SPAN_ID,
  SQL_TRACE_ID,
  SQL_PARENT_ID,
  SQL_MODEL_ID,
  SQL_LAYER_ID,
  SQL_LEVEL,
  SQL_KIND,
  SQL_CATEGORY,
  SQL_TRACER,
  SQL_TRACK_ID,
  SQL_NAME,
  SQL_START_NS,
  SQL_END_NS,
  SQL_DURATION_NS,
  SQL_SELF_NS,
  SQL_CORRELATION_ID,
  SQL_BASIS,
  SQL_DEPTH,
  SQL_IS_OPEN,
  SQL_OBSERVATION,
  SQL_RECORDED_PARENT_ID,
  SQL_COLUMNS,
};

// Never finished: what depends on the end is not known. Parts without flags skip the look.
static enum status is_open(struct scan *scan, bool *ret_is_open, struct error *err)
{
  *ret_is_open = false;
  if (scan->part->slot[STORE_FLAGS].maximum == 0)
    return STATUS_OK;
  XSP_TRY(scan_need(scan, STORE_FLAGS, err));
  *ret_is_open = (scan_uint8(scan, STORE_FLAGS) & STORE_SPAN_OPEN) != 0;
  return STATUS_OK;
}

static enum status put_span_value(struct scan *scan, int column, sqlite3_context *context, struct error *err)
{
  bool has_no_end = false;
  XSP_TRY(is_open(scan, &has_no_end, err));
  if (column == SQL_IS_OPEN) {
    sqlite3_result_int(context, has_no_end);
    return STATUS_OK;
  }
  if (has_no_end)
    return STATUS_OK;
  unsigned stored = column == SQL_SELF_NS ? STORE_SELF_NS : STORE_DURATION_NS;
  XSP_TRY(scan_need(scan, stored, err));
  int64_t value = scan_int64(scan, stored);
  if (column == SQL_END_NS) {
    XSP_TRY(scan_need(scan, STORE_START_NS, err));
    if (__builtin_add_overflow(scan_int64(scan, STORE_START_NS), value, &value))
      value = value < 0 ? INT64_MAX : INT64_MIN; // the sum wrapped the other way
  }
  sqlite3_result_int64(context, value);
  return STATUS_OK;
}

static enum status put_tag_value(struct scan *scan, int column, sqlite3_context *context, struct error *err)
{
  (void)column;
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

static void put_integer(const struct scan *scan, const struct table_kind *kind, const struct table_column *column,
                        sqlite3_context *context)
{
  bool is_wide = series_kinds[kind->series].columns[column->column].type == CHUNK_INT64;
  int64_t value = is_wide ? scan_int64(scan, column->column) : scan_uint32(scan, column->column);
  if (column->render == RENDER_INTEGER || (column->render == RENDER_ID && value != 0) ||
      (column->render == RENDER_OBSERVATION && value >= 0))
    sqlite3_result_int64(context, value);
}

static void put_text(const struct scan *scan, const struct table_column *column, sqlite3_context *context)
{
  switch (column->render) {
  case RENDER_NAME:
    table_string(context, scan->reader, scan_uint32(scan, column->column));
    break;
  case RENDER_STRING:
    if (scan_uint32(scan, column->column) != 0)
      table_string(context, scan->reader, scan_uint32(scan, column->column));
    break;
  case RENDER_LEVEL:
    sqlite3_result_text(context, level_name(scan_uint8(scan, column->column)), -1, SQLITE_STATIC);
    break;
  case RENDER_KIND:
    sqlite3_result_text(context, kind_name(scan_uint8(scan, column->column)), -1, SQLITE_STATIC);
    break;
  default:
    sqlite3_result_text(context, basis_name(scan_uint8(scan, column->column)), -1, SQLITE_STATIC);
  }
}

// A cell that is not set is NULL.
static enum status put_cell(struct scan *scan, const struct table_kind *kind, int number, sqlite3_context *context,
                            struct error *err)
{
  const struct table_column *column = &kind->columns[number];
  if (column->render == RENDER_RUN) {
    sqlite3_result_int64(context, scan->run->run_id);
    return STATUS_OK;
  }
  if (!scan_has_column(scan, column->column)) // not correlated yet
    return STATUS_OK;
  if (column->render == RENDER_OWN)
    return kind->put_own(scan, number, context, err);
  XSP_TRY(scan_need(scan, column->column, err));
  if (column->render == RENDER_ID || column->render == RENDER_INTEGER || column->render == RENDER_OBSERVATION)
    put_integer(scan, kind, column, context);
  else
    put_text(scan, column, context);
  return STATUS_OK;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
  struct table_cursor *cursor = (struct table_cursor *)base;
  struct error err;
  err.status = STATUS_OK;
  enum status status = put_cell(&cursor->scan, ((struct table *)base->pVtab)->kind, number, context, &err);
  return status == STATUS_OK ? SQLITE_OK : table_failed(base->pVtab, status, &err);
}

// ---- the tables -----------------------------------------------------------------------------------------------------
// The contract's columns in its order, then ours.
static const struct table_column span_columns[SQL_COLUMNS] = {
    [SQL_RUN_ID] = {"run_id", "INTEGER", 0, RENDER_RUN, false, false},
    [SQL_SPAN_ID] = {"span_id", "INTEGER", STORE_SPAN_ID, RENDER_ID, true, true},
    [SQL_TRACE_ID] = {"trace_id", "INTEGER", STORE_TRACE_ID, RENDER_ID, false, false},
    [SQL_PARENT_ID] = {"parent_id", "INTEGER", STORE_PARENT_ID, RENDER_ID, true, true},
    [SQL_MODEL_ID] = {"model_id", "INTEGER", STORE_MODEL_ID, RENDER_ID, true, true},
    [SQL_LAYER_ID] = {"layer_id", "INTEGER", STORE_LAYER_ID, RENDER_ID, true, true},
    [SQL_LEVEL] = {"level", "TEXT", STORE_LEVEL, RENDER_LEVEL, false, false},
    [SQL_KIND] = {"kind", "TEXT", STORE_KIND, RENDER_KIND, false, false},
    [SQL_CATEGORY] = {"category", "TEXT", STORE_CATEGORY, RENDER_STRING, false, false},
    [SQL_TRACER] = {"tracer", "TEXT", STORE_TRACER, RENDER_STRING, false, false},
    [SQL_TRACK_ID] = {"track_id", "INTEGER", STORE_TRACK_ID, RENDER_ID, false, true},
    [SQL_NAME] = {"name", "TEXT", STORE_NAME, RENDER_NAME, false, false},
    [SQL_START_NS] = {"start_ns", "INTEGER", STORE_START_NS, RENDER_INTEGER, false, true},
    [SQL_END_NS] = {"end_ns", "INTEGER", 0, RENDER_OWN, false, false},
    [SQL_DURATION_NS] = {"duration_ns", "INTEGER", STORE_DURATION_NS, RENDER_OWN, false, true},
    [SQL_SELF_NS] = {"self_ns", "INTEGER", STORE_SELF_NS, RENDER_OWN, false, true},
    [SQL_CORRELATION_ID] = {"correlation_id", "INTEGER", STORE_CORRELATION_ID, RENDER_ID, true, true},
    [SQL_BASIS] = {"basis", "TEXT", STORE_BASIS, RENDER_BASIS, false, false},
    [SQL_DEPTH] = {"depth", "INTEGER", STORE_DEPTH, RENDER_INTEGER, false, true},
    [SQL_IS_OPEN] = {"is_open", "INTEGER", STORE_FLAGS, RENDER_OWN, false, false},
    [SQL_OBSERVATION] = {"observation", "INTEGER", STORE_OBSERVATION, RENDER_OBSERVATION, false, true},
    [SQL_RECORDED_PARENT_ID] = {"recorded_parent_id", "INTEGER", STORE_RECORDED_PARENT_ID, RENDER_ID, true, true},
};
static const struct table_column tag_columns[] = {
    {"run_id", "INTEGER", 0, RENDER_RUN, false, false},
    {"span_id", "INTEGER", TAG_SPAN_ID, RENDER_ID, true, true},
    {"key", "TEXT", TAG_KEY, RENDER_NAME, false, false},
    {"value", "", TAG_VALUE, RENDER_OWN, false, false},
};
#define TAG_SQL_COLUMNS (sizeof tag_columns / sizeof tag_columns[0])

static const struct table_kind kinds[] = {
    {"span", SERIES_SPAN, span_columns, SQL_COLUMNS, SQL_SPAN_ID, put_span_value},
    {"tag", SERIES_TAG, tag_columns, TAG_SQL_COLUMNS, TAG_SQL_COLUMNS, put_tag_value},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static int connect(sqlite3 *db, void *reader, int argc, const char *const *argv, sqlite3_vtab **ret_table,
                   char **ret_message)
{
  (void)argc;
  size_t i = 0;
  while (i + 1 < KINDS && strcmp(argv[0], kinds[i].name) != 0) // the name that the module is registered by
    i++;
  return table_connect(db, &kinds[i], reader, ret_table, ret_message);
}

static sqlite3_module module = {
    .xConnect = connect, // without xCreate: the table is there by its name, and cannot be created otherwise
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

int table_register(sqlite3 *db, struct reader *reader)
{
  int code = SQLITE_OK;
  for (size_t i = 0; i < KINDS && code == SQLITE_OK; i++)
    code = sqlite3_create_module_v2(db, kinds[i].name, &module, reader, NULL);
  return code;
}
