// SPDX-License-Identifier: Apache-2.0
// The virtual tables' cursors and cells, for SQLite. A column is decoded when a statement asks for it, by parts.
#include "store/table.h"
#include "base/memory.h"
#include "store/handle.h"

#include <stdlib.h>
#include <string.h>

const struct table_names store_table_names[RENDER_OWN + 1] = {
    [RENDER_LEVEL] = {level_name, level_from_name},
    [RENDER_KIND] = {kind_name, kind_from_name},
    [RENDER_SAMPLE_KIND] = {sample_kind_name, sample_kind_from_name},
    [RENDER_BASIS] = {basis_name, basis_from_name},
};

int store_table_failed(sqlite3_vtab *table, enum status status, const struct error *err)
{
  char line[1600];
  error_line(err, line, sizeof line);
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", strncmp(line, "xsp: ", 5) == 0 ? line + 5 : line);
  return status == STATUS_MEMORY ? SQLITE_NOMEM : status == STATUS_SYSTEM ? SQLITE_IOERR : SQLITE_CORRUPT_VTAB;
}

// The text of a stored value; NULL: SQL NULL.
static const char *store_table_text_of(const struct reader *reader, enum render render, uint32_t value,
                                       size_t *ret_length)
{
  if (store_table_names[render].name == NULL)
    return render == RENDER_STRING && value == 0 ? NULL : reader_text(reader, value, ret_length);
  const char *text = store_table_names[render].name(value);
  *ret_length = strlen(text); // in range: checked on decode
  return text;
}

static const char *order_text(const struct scan *scan, uint8_t column, uint32_t value, size_t *ret_length)
{
  const struct table_kind *kind =
      ((const struct store_table *)((const struct table_cursor *)scan->owner)->base.pVtab)->kind;
  enum render render = RENDER_NAME;
  for (unsigned i = 0; i < kind->column_count; i++)
    if (kind->columns[i].column == column && table_is_text(kind->columns[i].render))
      render = kind->columns[i].render;
  return store_table_text_of(scan->reader, render, value, ret_length);
}

// ---- walking ---------------------------------------------------------------------------------------------------------
static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
  struct store_table *table = (struct store_table *)base;
  struct error err = {0};
  enum status status = reader_refresh(table->reader, &err);
  if (status != STATUS_OK)
    return store_table_failed(base, status, &err);
  struct table_cursor *cursor = memory_new(1, sizeof *cursor);
  cursor->scan.reader = table->reader;
  cursor->scan.name = table->kind->series;
  cursor->scan.at_end = true;
  cursor->scan.order_text = order_text;
  cursor->scan.owner = cursor;
  table->reader->cursors++;
  *ret_cursor = &cursor->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
  struct table_cursor *cursor = (struct table_cursor *)base;
  scan_done(&cursor->scan);
  if (cursor->scan.reader->outermost == &cursor->scan)
    cursor->scan.reader->outermost = NULL;
  cursor->scan.reader->cursors--;
  reader_rest(cursor->scan.reader);
  free(cursor);
  return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
  struct table_cursor *cursor = (struct table_cursor *)base;
  struct error err;
  err.status = STATUS_OK;
  enum status status = scan_next(&cursor->scan, &err);
  return status == STATUS_OK ? SQLITE_OK : store_table_failed(base->pVtab, status, &err);
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
  return ((struct table_cursor *)base)->scan.at_end;
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid)
{
  const struct scan *scan = &((struct table_cursor *)base)->scan;
  *ret_rowid = (sqlite3_int64)((uint64_t)(scan->run - scan->reader->runs) << 40 |
                               (scan->part->first_row + scan_row_in_part(scan)));
  return SQLITE_OK;
}

// ---- cells -----------------------------------------------------------------------------------------------------------
void store_table_put_text(sqlite3_context *context, const struct reader *reader, enum render render, uint32_t value)
{
  size_t length;
  const char *text = store_table_text_of(reader, render, value, &length);
  if (store_table_names[render].name != NULL) // without a length SQLite knows that it ends in NUL, and does not copy it
    sqlite3_result_text(context, text, -1, SQLITE_STATIC);
  else if (text != NULL)
    sqlite3_result_text64(context, text, length, SQLITE_STATIC, SQLITE_UTF8);
}

// A cell that is not set is NULL.
static enum status put_cell(struct scan *scan, const struct table_kind *kind, int number, sqlite3_context *context,
                            struct error *err)
{
  const struct store_table_column *column = &kind->columns[number];
  if (column->render == RENDER_RUN) {
    sqlite3_result_int64(context, scan->run->run_id);
    return STATUS_OK;
  }
  if (!scan_has_column(scan, column->column)) // not correlated yet
    return STATUS_OK;
  if (column->render == RENDER_OWN)
    return kind->put_own(scan, number, context, err);
  XSP_TRY(scan_need(scan, column->column, err));
  int64_t value = scan_value(scan, column->column);
  if (table_is_text(column->render))
    store_table_put_text(context, scan->reader, column->render, (uint32_t)value);
  else if (column->render == RENDER_INTEGER || (column->render == RENDER_ID && value != 0) ||
           (column->render == RENDER_OBSERVATION && value >= 0))
    sqlite3_result_int64(context, value);
  return STATUS_OK;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
  struct table_cursor *cursor = (struct table_cursor *)base;
  struct error err;
  err.status = STATUS_OK;
  enum status status = put_cell(&cursor->scan, ((struct store_table *)base->pVtab)->kind, number, context, &err);
  return status == STATUS_OK ? SQLITE_OK : store_table_failed(base->pVtab, status, &err);
}

// ---- the module ------------------------------------------------------------------------------------------------------
static int connect(sqlite3 *db, void *reader, int argc, const char *const *argv, sqlite3_vtab **ret_table,
                   char **ret_message)
{
  const struct table_kind *kind = store_table_kinds; // the name that the module is registered by
  while (strcmp(argv[0], kind->name) != 0)
    kind++;
  sqlite3_str *declaration = sqlite3_str_new(db);
  for (unsigned i = 0; i < kind->column_count; i++)
    sqlite3_str_appendf(declaration, "%s%s %s", i == 0 ? "CREATE TABLE x(" : ", ", kind->columns[i].name,
                        kind->columns[i].type);
  sqlite3_str_appendall(declaration, ")");
  char *sql = sqlite3_str_finish(declaration);
  int code = sql == NULL ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql);
  sqlite3_free(sql);
  struct store_table *table = code == SQLITE_OK ? sqlite3_malloc64(sizeof *table) : NULL;
  if (code == SQLITE_OK && table == NULL)
    code = SQLITE_NOMEM;
  if (code != SQLITE_OK) {
    *ret_message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    return code;
  }
  *table = (struct store_table){.kind = kind, .reader = reader};
  *ret_table = &table->base;
  return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table)
{
  sqlite3_free(table);
  return SQLITE_OK;
}

static sqlite3_module module = {
    .xConnect = connect, // without xCreate: the table is there by its name, and cannot be created otherwise
    .xBestIndex = store_table_best_index,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = store_table_filter,
    .xNext = next_row,
    .xEof = is_at_end,
    .xColumn = get_column,
    .xRowid = get_rowid,
};

int store_table_register(sqlite3 *db, struct reader *reader)
{
  int code = SQLITE_OK;
  for (size_t i = 0; i < TABLE_KINDS && code == SQLITE_OK; i++)
    code = sqlite3_create_module_v2(db, store_table_kinds[i].name, &module, reader, NULL);
  return code;
}
