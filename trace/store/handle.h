// SPDX-License-Identifier: Apache-2.0
// The store handle from inside: a connection, its strings and reader, and what a writer still holds in memory.
#ifndef XSP_STORE_HANDLE_H
#define XSP_STORE_HANDLE_H

#include "base/map.h"
#include "store/path_table.h"
#include "store/reader.h"
#include "store/store.h"
#include "store/unfinished.h"

#include "store/sqlite_api.h"

// Rows of one run that are not in the file yet, as columns. Never more than one part of each series.
struct pending_series {
  uint32_t row_count, capacity; // rows
  int64_t part;                 // number that the open part has or will have in the file
  bool is_dirty;                // rows came since the part was last written
  void *columns[STORE_BASE_COLUMNS];
};
struct pending_run {
  struct pending_run *next;
  int64_t run_id;
  struct pending_series series[SERIES_COUNT];
  bool has_derived; // in the file; dropped when spans follow
};

#define WRITER_STRINGS 32u
enum writer_statement {
  STATEMENT_CHUNK,
  STATEMENT_STRING,
  STATEMENT_STRINGS, // WRITER_STRINGS at once
  STATEMENT_TRACE,
  STATEMENT_FIND_TRACE,
  STATEMENT_COUNT,
};
enum row_table { // tables whose rows are structs of store.h
  ROWS_EXPERIMENT,
  ROWS_SYSTEM,
  ROWS_WORKLOAD,
  ROWS_EVALUATION,
  ROWS_OUTPUT,
  ROWS_RUN,
  ROWS_TRACK,
  ROWS_OBSERVATION,
  ROWS_NOTE,
  ROWS_NOTE_OF_ALL,
  ROWS_LOG,
  ROWS_LOG_FROM,
  ROWS_TRACE,
  ROWS_FRAME,
  ROWS_CONTEXT,
  ROWS_CONTEXT_METRIC,
  ROWS_CONTEXT_SAMPLE,
  ROWS_DRAINED,
  ROWS_SAMPLED,
  ROWS_COUNTER,
  ROWS_COUNTER_VALUE,
  ROWS_COUNT,
};

struct store {
  sqlite3 *db;
  char *path;                   // what the user named
  char *partial_path;           // the file while it is written: path + ".partial", or a temporary one; else NULL
  char *aside_path;             // where a killed writer's partial file was found and renamed; else NULL
  int lock_file;                // locked while writing, open until the database is closed; -1
  struct unfinished unfinished; // its .partial file
  bool is_writing;
  bool is_finished;  // .partial is no more, or stays where it could not be renamed
  bool is_temporary; // its file loses its name when it is finished; `path` is only what messages name
  bool may_replace;  // --force: what has the name `path` by the end
  bool has_failed;   // sticky: what the file lacks cannot be made good
  struct error failure;
  struct strings strings; // writer: all that the file will hold
  uint32_t strings_written;
  struct call_paths call_paths;
  const struct store_fold *fold; // borrowed; NULL: rows go to the file
  int64_t folded_trace_run;      // whose trace the file has, while `fold` is set
  int64_t next_system_id;
  struct pending_run *pending, *last_pending;
  struct map pending_of;                                                     // by run id
  size_t dirty_count;                                                        // of the series of all runs
  sqlite3_stmt *statements[STATEMENT_COUNT], *row_statements[ROWS_COUNT][2]; // the latter: for one row, for many
  struct reader reader;
  int format_version;
  bool is_recovery;  // opened by store_open_unfinished
  bool has_left_out; // a journal that belongs to another user than the file
};

// open.c
enum status store_configure(struct store *store,
                            struct error *err) MUST_CHECK; // limits and virtual tables of a connection
enum status store_read_on(struct store *store,
                          struct error *err) MUST_CHECK; // a writer's connection after its last commit: now a reader's

// pending.c
enum status pending_flush(struct store *store, struct error *err) MUST_CHECK; // every dirty part and all new strings
bool pending_is_dirty(const struct store *store);
void pending_free(struct store *store);
struct pending_run *pending_find(struct store *store, int64_t run_id); // creates
// A column of a part of the series `name`.
enum status pending_write_chunk(struct store *store, int64_t run_id, const char *name, int64_t part,
                                const struct column_kind *kind, const void *values, uint32_t count,
                                struct error *err) MUST_CHECK;
enum status pending_write_column(struct store *store, int64_t run_id, enum series_name series, int64_t part,
                                 unsigned column, const void *values, uint32_t count, struct error *err) MUST_CHECK;

// finish.c: with its journal; async-signal-safe
void partial_remove(const char *partial_path);

// call_paths.c: whether the file has a table that is made with its first rows
bool store_has_table(struct store *store, const char *name);

// columns.c: with rows that are still pending; *ret_run is NULL where the run has no rows.
enum status store_find_run(struct store *store, int64_t run_id, struct run_chunks **ret_run,
                           struct error *err) MUST_CHECK;

// write.c
enum status writer_check(struct store *store, struct error *err) MUST_CHECK; // may this handle still write?
enum status writer_failed(struct store *store, struct error *err);           // SQLite's last error, sticky
// A statement to bind and step.
enum status writer_start(struct store *store, enum writer_statement which, sqlite3_stmt **ret_statement,
                         struct error *err) MUST_CHECK;
enum status writer_step(struct store *store, sqlite3_stmt *statement, struct error *err) MUST_CHECK; // runs, resets
// For sqlite3_vmprintf: %Q and %w are quoted.
enum status writer_execute(struct store *store, struct error *err, const char *sql_format, ...) MUST_CHECK;

// rows.c: inserts or replaces `count` structs of the table; `key`: the column that the struct does not have.
enum status store_rows_insert(struct store *store, enum row_table table, int64_t key, const void *rows, size_t count,
                              struct error *err) MUST_CHECK;
// Rows as an array of the table's structs in `arena`; its address goes to *ret_array.
enum status store_rows_list(struct store *store, enum row_table table, int64_t key, struct arena *arena,
                            void *ret_array, size_t *ret_count, struct error *err) MUST_CHECK;
// The same where the table's rows are those between two places; store_rows_last_log: the last one of the logs.
enum status store_rows_list_from(struct store *store, enum row_table table, int64_t key, size_t first, size_t end,
                                 struct arena *arena, void *ret_array, size_t *ret_count, struct error *err) MUST_CHECK;
enum status store_rows_last_log(struct store *store, size_t *ret_place, struct error *err) MUST_CHECK;

// table_kinds.c: the virtual tables
int store_table_register(sqlite3 *db, struct reader *reader);

#endif
