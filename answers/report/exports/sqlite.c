// SPDX-License-Identifier: Apache-2.0
// The tables of docs/format.md as ordinary SQLite tables with indexes, for tools that cannot load the extension. Reads
// through SQL, so that the output equals what `xsp sql` shows.
#include "report/exports/file.h"
#include "report/report.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static const char what[] = "cannot export to SQLite";

#define CACHE_BYTES ((size_t)32 << 20) // of the trace: each column is read once

struct copied_table {
  const char *name;
  const char *columns; // name and type, as declared
  const char *after;   // index, created after the rows; may be NULL
};
static const struct copied_table tables[] = {
    {"experiment",
     "experiment_id INTEGER PRIMARY KEY, name TEXT, workload TEXT, framework TEXT, framework_version TEXT, command "
     "TEXT,"
     " created_ns INTEGER, system_id INTEGER, xsp_version TEXT",
     NULL},
    {"system", "system_id INTEGER, key TEXT, value", NULL},
    {"workload", "experiment_id INTEGER, key TEXT, value", NULL},
    {"evaluation", "experiment_id INTEGER, key TEXT, value", NULL},
    {"output", "experiment_id INTEGER, item INTEGER, file TEXT, type TEXT, shape TEXT, data BLOB", NULL},
    {"run",
     "run_id INTEGER PRIMARY KEY, experiment_id INTEGER, levels TEXT, batch_size INTEGER, dropped_count INTEGER,"
     " epoch TEXT, layer TEXT, misused_count INTEGER, own_pct REAL",
     NULL},
    {"observation",
     "run_id INTEGER, observation INTEGER, span_id INTEGER, start_ns INTEGER, duration_ns INTEGER, warmup INTEGER",
     NULL},
    {"track",
     "run_id INTEGER, track_id INTEGER, name TEXT, host TEXT, process_id INTEGER, thread_id INTEGER, device_id INTEGER,"
     " stream_id INTEGER, clock TEXT, rank INTEGER, local_rank INTEGER, world_size INTEGER",
     "CREATE INDEX track_id ON track(run_id, track_id)"},
    {"span",
     "run_id INTEGER, span_id INTEGER, trace_id INTEGER, parent_id INTEGER, model_id INTEGER, layer_id INTEGER,"
     " level TEXT, kind TEXT, category TEXT, tracer TEXT, track_id INTEGER, name TEXT, start_ns INTEGER, end_ns "
     "INTEGER,"
     " duration_ns INTEGER, self_ns INTEGER, correlation_id INTEGER, basis TEXT, depth INTEGER, is_open INTEGER,"
     " observation INTEGER, recorded_parent_id INTEGER, forward_id INTEGER, context_id INTEGER",
     "CREATE INDEX span_id ON span(run_id, span_id)"},
    {"tag", "run_id INTEGER, span_id INTEGER, key TEXT, value", "CREATE INDEX tag_span ON tag(run_id, span_id, key)"},
    {"sample",
     "run_id INTEGER, time_ns INTEGER, track_id INTEGER, span_id INTEGER, context_id INTEGER, kind TEXT,"
     " duration_ns INTEGER",
     "CREATE INDEX sample_context ON sample(run_id, context_id)"},
    {"counter",
     "run_id INTEGER, counter_id INTEGER, name TEXT, source TEXT, process_id INTEGER, thread_id INTEGER, device_id "
     "INTEGER,"
     " is_total INTEGER",
     NULL},
    {"counter_value", "run_id INTEGER, counter_id INTEGER, time_ns INTEGER, value REAL",
     "CREATE INDEX counter_time ON counter_value(run_id, counter_id, time_ns)"},
    {"frame",
     "frame_id INTEGER PRIMARY KEY, kind TEXT, name TEXT, file TEXT, line INTEGER, module TEXT, address INTEGER", NULL},
    {"context_metric",
     "run_id INTEGER, context_id INTEGER, metric TEXT, count INTEGER, sum INTEGER, min INTEGER, max INTEGER, mean REAL,"
     " variance REAL, exclusive_sum INTEGER",
     NULL},
    {"context", "context_id INTEGER PRIMARY KEY, parent_id INTEGER, frame_id INTEGER", NULL},
    {"log", "run_id INTEGER, span_id INTEGER, time_ns INTEGER, message TEXT",
     "CREATE INDEX log_span ON log(run_id, span_id)"},
    {"trace", "run_id INTEGER, trace_id INTEGER, text TEXT", NULL},
    {"note", "run_id INTEGER, key TEXT, value TEXT", NULL},
};

static enum status failed(struct error *err, sqlite3 *db, const char *path)
{
  int code = db == NULL ? SQLITE_NOMEM : sqlite3_errcode(db);
  const char *advice = code == SQLITE_FULL ? "free space there or another output path" : NULL;
  return error_set(err, code == SQLITE_NOMEM ? STATUS_MEMORY : STATUS_SYSTEM, what, path, advice, "%s",
                   db == NULL ? "out of memory" : sqlite3_errmsg(db));
}

static enum status execute(sqlite3 *db, const char *sql, const char *path, struct error *err)
{
  return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? STATUS_OK : failed(err, db, path);
}

// ---- rows: from SQL into a prepared insert ---------------------------------------------------------------------------
struct copy {
  sqlite3 *db;
  const char *path, *table;
  sqlite3_stmt *insert;
  struct export_file *spans; // which counts rows of spans; NULL: these are others
};

// Column names come from our own tables and are quoted all the same.
static enum status prepare_insert(void *context, const char *const *names, size_t count, struct error *err)
{
  struct copy *copy = context;
  sqlite3_str *text = sqlite3_str_new(copy->db);
  sqlite3_str_appendf(text, "INSERT INTO \"%w\"(", copy->table);
  for (size_t i = 0; i < count; i++)
    sqlite3_str_appendf(text, "%s\"%w\"", i > 0 ? ", " : "", names[i]);
  sqlite3_str_appendall(text, ") VALUES(");
  for (size_t i = 0; i < count; i++)
    sqlite3_str_appendall(text, i > 0 ? ", ?" : "?");
  sqlite3_str_appendall(text, ")");
  char *sql = sqlite3_str_finish(text);
  int code = sql == NULL ? SQLITE_NOMEM : sqlite3_prepare_v2(copy->db, sql, -1, &copy->insert, NULL);
  sqlite3_free(sql);
  return code == SQLITE_OK ? STATUS_OK : failed(err, copy->db, copy->path);
}

static enum status insert_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct copy *copy = context;
  for (size_t i = 0; i < count; i++) {
    int at = (int)i + 1;
    switch (cells[i].type) {
    case STORE_INT:
      sqlite3_bind_int64(copy->insert, at, cells[i].integer);
      break;
    case STORE_DOUBLE:
      sqlite3_bind_double(copy->insert, at, cells[i].real);
      break;
    case STORE_TEXT:
      sqlite3_bind_text64(copy->insert, at, cells[i].text, cells[i].length, SQLITE_STATIC, SQLITE_UTF8);
      break;
    case STORE_BLOB:
      sqlite3_bind_blob64(copy->insert, at, cells[i].text, cells[i].length, SQLITE_STATIC);
      break;
    default:
      sqlite3_bind_null(copy->insert, at);
    }
  }
  int code = sqlite3_step(copy->insert);
  sqlite3_reset(copy->insert);
  if (copy->spans != NULL)
    export_file_spans(copy->spans, 1);
  return code == SQLITE_DONE ? STATUS_OK : failed(err, copy->db, copy->path);
}

// The query for the columns that the copy has: a later version's file may have more.
static enum status select_known(sqlite3 *db, const char *table, const char *path, char *ret_sql, size_t size,
                                struct error *err)
{
  static const char names[] = "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info(?)";
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, names, -1, &statement, NULL) != SQLITE_OK)
    return failed(err, db, path);
  sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
  enum status status = sqlite3_step(statement) == SQLITE_ROW ? STATUS_OK : failed(err, db, path);
  if (status == STATUS_OK)
    snprintf(ret_sql, size, "SELECT %s FROM %s", (const char *)sqlite3_column_text(statement, 0), table);
  sqlite3_finalize(statement);
  return status;
}

static enum status copy_table(struct store *store, const struct copied_table *table, sqlite3 *db,
                              struct export_file *file, struct error *err)
{
  const char *path = file->path;
  char sql[1024];
  snprintf(sql, sizeof sql, "CREATE TABLE %s(%s)", table->name, table->columns);
  XSP_TRY(execute(db, sql, path, err));
  struct copy copy = {
      .db = db, .path = path, .table = table->name, .spans = strcmp(table->name, "span") == 0 ? file : NULL};
  struct store_query_sink sink = {.context = &copy, .columns = prepare_insert, .row = insert_row};
  XSP_TRY(select_known(db, table->name, path, sql, sizeof sql, err));
  enum status status = store_query(store, sql, &sink, err);
  sqlite3_finalize(copy.insert);
  if (status == STATUS_OK && table->after != NULL)
    status = execute(db, table->after, path, err);
  return status;
}

static enum status write_tables(struct store *store, const char *path, const struct report_export_options *options,
                                struct error *err)
{
  struct export_file file = {.path = path, .watcher = options->watcher}; // SQLite writes it
  sqlite3 *db = NULL;
  store_limit_cache(store, CACHE_BYTES);
  XSP_TRY(correlate_context_metrics(store, err));
  XSP_TRY(export_file_count_spans(&file, store, err));
  XSP_TRY(export_file_make(path, err));
  enum status status = STATUS_OK;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK)
    status = failed(err, db, path);
  else // no journal: the file is removed on any error
    status = execute(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536; BEGIN", path, err);
  for (size_t i = 0; i < sizeof tables / sizeof tables[0] && status == STATUS_OK; i++)
    status = copy_table(store, &tables[i], db, &file, err);
  if (status == STATUS_OK)
    status = execute(db, "COMMIT", path, err);
  sqlite3_close(db);
  return status;
}

const struct report_export report_export_sqlite = {
    .name = "sqlite",
    .summary = "plain tables, for tools that cannot load the xsp extension",
    .extension = "db",
    .write = write_tables,
    .needs_file = "SQLite writes the pages of a file in any order",
};
