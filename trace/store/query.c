// SPDX-License-Identifier: Apache-2.0
// One SELECT from a person or a script, and nothing else: an authorizer allows reading tables and calling functions, all
// other actions are refused while the statement is prepared. Called by `xsp sql`.
#include "base/clock.h"
#include "store/handle.h"
#include "store/problem.h"
#include "store/scan.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "cannot run SQL";

// ---- what is allowed -------------------------------------------------------------------------------------------------
static bool is_harmless_pragma(const char *name, const char *argument)
{
  static const char *const with_argument[] = {"table_info", "table_xinfo", "table_list", "index_list", "index_info"};
  static const char *const without[] = {"table_list",  "data_version", "application_id",  "user_version",
                                        "page_count",  "page_size",    "compile_options", "function_list",
                                        "module_list", "database_list"};
  const char *const *names = argument != NULL ? with_argument : without;
  size_t count = argument != NULL ? sizeof with_argument / sizeof *names : sizeof without / sizeof *names;
  for (size_t i = 0; i < count; i++)
    if (sqlite3_stricmp(name, names[i]) == 0)
      return true;
  return false;
}

static int authorize(void *context, int action, const char *first, const char *second, const char *database,
                     const char *trigger)
{
  const char **refused = context;
  switch (action) {
  case SQLITE_SELECT:
  case SQLITE_READ:
  case SQLITE_RECURSIVE:
    return SQLITE_OK;
  case SQLITE_FUNCTION:
    if (second == NULL || (sqlite3_stricmp(second, "load_extension") != 0 &&
                           sqlite3_stricmp(second, "writefile") != 0 && sqlite3_stricmp(second, "fts3_tokenizer") != 0))
      return SQLITE_OK;
    *refused = "that function is not allowed";
    return SQLITE_DENY;
  case SQLITE_PRAGMA:
    if (is_harmless_pragma(first, second))
      return SQLITE_OK;
    *refused = "that pragma is not allowed";
    return SQLITE_DENY;
  case SQLITE_ATTACH:
  case SQLITE_DETACH:
    *refused = "attach and detach are not allowed";
    return SQLITE_DENY;
  default:
    *refused = "only reading is allowed";
    return SQLITE_DENY;
  }
}

// ---- rows ------------------------------------------------------------------------------------------------------------
static void read_cell(sqlite3_stmt *statement, int column, struct store_cell *ret_cell)
{
  *ret_cell = (struct store_cell){.type = STORE_NULL};
  switch (sqlite3_column_type(statement, column)) {
  case SQLITE_INTEGER:
    ret_cell->type = STORE_INT;
    ret_cell->integer = sqlite3_column_int64(statement, column);
    break;
  case SQLITE_FLOAT:
    ret_cell->type = STORE_DOUBLE;
    ret_cell->real = sqlite3_column_double(statement, column);
    break;
  case SQLITE_TEXT:
    ret_cell->type = STORE_TEXT;
    ret_cell->text = (const char *)sqlite3_column_text(statement, column);
    ret_cell->length = (size_t)sqlite3_column_bytes(statement, column);
    break;
  case SQLITE_BLOB:
    ret_cell->type = STORE_BLOB;
    ret_cell->text = sqlite3_column_blob(statement, column);
    ret_cell->length = (size_t)sqlite3_column_bytes(statement, column);
    break;
  default:
    break;
  }
}

#define STEPS_BETWEEN_LOOKS 100000 // of SQLite's machine: about a millisecond
#define TELL_EVERY_NS UINT64_C(100000000)

struct look {
  const struct store *store;
  const struct store_query_sink *sink;
  uint64_t end_ns, told_ns;
};

// Not 0 ends the statement.
static int look(void *context)
{
  struct look *look = context;
  const struct scan *scan = look->store->reader.outermost;
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC), done, total;
  if (now_ns - look->told_ns > TELL_EVERY_NS && scan != NULL && !scan->at_end) {
    look->told_ns = now_ns;
    scan_place(scan, &done, &total);
    headway_tell(&look->sink->watcher, done, total);
  }
  return look->sink->timeout_s > 0 && now_ns > look->end_ns;
}

static enum status run_statement(struct store *store, sqlite3_stmt *statement, const struct store_query_sink *sink,
                                 struct error *err)
{
  size_t count = (size_t)sqlite3_column_count(statement);
  struct arena arena SCOPED(arena_done) = {0};
  struct store_cell *cells = arena_alloc_array(&arena, count + 1, sizeof *cells);
  const char **names = arena_alloc_array(&arena, count + 1, sizeof *names);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < count; i++)
    names[i] = sqlite3_column_name(statement, (int)i);
  if (sink->columns != NULL)
    status = sink->columns(sink->context, names, count, err);
  int code = SQLITE_ROW;
  while (status == STATUS_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    for (size_t i = 0; i < count; i++)
      read_cell(statement, (int)i, &cells[i]);
    status = sink->row(sink->context, cells, count, err);
  }
  if (status == STATUS_OK && code != SQLITE_DONE) {
    // An error of the statement's own making (integer overflow, a bad JSON path) is wrong use, not a broken file.
    status = problem_sqlite(err, what, store->path, store->db);
    int kind = code & 0xff;
    if (kind == SQLITE_INTERRUPT)
      status = error_set(err, STATUS_INPUT, what, store->path, NULL, "it ran for more than %u s", sink->timeout_s);
    if (kind == SQLITE_ERROR || kind == SQLITE_TOOBIG || kind == SQLITE_MISMATCH)
      status = error_set(err, STATUS_USE, what, store->path, NULL, "%s", sqlite3_errmsg(store->db));
  }
  return status;
}

// True where nothing but white space, comments and semicolons is left.
static bool is_blank(sqlite3 *db, const char *sql)
{
  while (sql != NULL && *sql != 0) {
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, &rest);
    bool has_statement = statement != NULL;
    sqlite3_finalize(statement);
    if (code != SQLITE_OK || has_statement)
      return false;
    if (rest == sql)
      break;
    sql = rest;
  }
  return true;
}

static enum status prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement, struct error *err)
{
  const char *refused = NULL, *rest = NULL;
  // Before SQLite plans: store_table_best_index says why.
  XSP_TRY(reader_refresh(&store->reader, err));
  // The virtual tables declare themselves at their first use, which the authorizer would take for a CREATE TABLE.
  if (sqlite3_exec(store->db, "SELECT 0 FROM span, tag, sample LIMIT 0", NULL, NULL, NULL) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, store->db);
  sqlite3_set_authorizer(store->db, authorize, &refused);
  int code = sqlite3_prepare_v2(store->db, sql, -1, ret_statement, &rest);
  enum status status = code == SQLITE_OK ? STATUS_OK : problem_sqlite(err, what, store->path, store->db);
  if (status != STATUS_OK && refused == NULL && ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_TOOBIG))
    refused = sqlite3_errmsg(store->db);
  else if (status == STATUS_OK && *ret_statement == NULL)
    refused = "the statement is empty";
  else if (status == STATUS_OK && !is_blank(store->db, rest))
    refused = "more than one statement";
  else if (status == STATUS_OK && !sqlite3_stmt_readonly(*ret_statement))
    refused = "only reading is allowed";
  if (refused != NULL)
    status = error_set(err, STATUS_USE, what, store->path,
                       "one SELECT; tables: experiment, system, workload, evaluation, output, run, observation, track, "
                       "span, tag, sample, frame, "
                       "context, context_metric, counter, counter_value, log, trace, note",
                       "%s", refused);
  sqlite3_set_authorizer(store->db, NULL, NULL);
  return status;
}

enum status store_query(struct store *store, const char *sql, const struct store_query_sink *sink, struct error *err)
{
  if (store->is_writing)
    XSP_TRY(pending_flush(store, err));
  sqlite3_stmt *statement = NULL;
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  struct look looks = {store, sink, now_ns + sink->timeout_s * UINT64_C(1000000000), now_ns};
  enum status status = prepare(store, sql, &statement, err);
  if (status == STATUS_OK) {
    bool has_looks = sink->timeout_s > 0 || sink->watcher.step != NULL;
    sqlite3_progress_handler(store->db, has_looks ? STEPS_BETWEEN_LOOKS : 0, look, &looks);
    status = run_statement(store, statement, sink, err);
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
  }
  sqlite3_finalize(statement);
  return status;
}
