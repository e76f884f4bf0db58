// SPDX-License-Identifier: Apache-2.0
// The writer's commits, derived columns, and the end: commit, sync, rename, and the same handle open for reading.
#include "store/problem.h"
#include "store/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status execute(struct store *store, const char *sql, struct error *err)
{
  return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? STATUS_OK : writer_failed(store, err);
}

enum status store_commit(struct store *store, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(pending_flush(store, err));
  XSP_TRY(execute(store, "COMMIT", err));
  return execute(store, "BEGIN", err);
}

// ---- derived columns -------------------------------------------------------------------------------------------------
static const void *derived_column(const struct store_derived *derived, unsigned column)
{
  switch (column) {
  case STORE_PARENT_ID:
    return derived->parent_id;
  case STORE_MODEL_ID:
    return derived->model_id;
  case STORE_LAYER_ID:
    return derived->layer_id;
  case STORE_SELF_NS:
    return derived->self_ns;
  case STORE_OBSERVATION:
    return derived->observation;
  case STORE_DEPTH:
    return derived->depth;
  case STORE_DERIVED_KIND:
    return derived->kind;
  default:
    return derived->basis;
  }
}

static enum status write_derived_part(struct store *store, int64_t run_id, const struct store_derived *derived,
                                      int64_t part, const struct part *rows, int64_t *wide, struct error *err)
{
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS; column++) {
    size_t width = chunk_type_size(series_kinds[SERIES_SPAN].columns[column].type);
    const char *values = derived_column(derived, column);
    if (values == NULL) // as stored
      continue;
    if (column == STORE_OBSERVATION) {
      for (uint32_t i = 0; i < rows->row_count; i++)
        wide[i] = derived->observation[rows->first_row + i];
      values = (const char *)wide;
    } else {
      values += rows->first_row * width;
    }
    XSP_TRY(pending_write_column(store, run_id, SERIES_SPAN, part, column, values, rows->row_count, err));
  }
  return STATUS_OK;
}

static enum status write_observations(struct store *store, int64_t run_id, const struct store_observation *observations,
                                      size_t count, struct error *err)
{
  char sql[96];
  snprintf(sql, sizeof sql, "DELETE FROM observation WHERE run_id = %lld", (long long)run_id);
  XSP_TRY(execute(store, sql, err));
  for (size_t i = 0; i < count; i++) {
    sqlite3_stmt *statement = writer_statement(store, STATEMENT_OBSERVATION);
    if (statement == NULL)
      return writer_failed(store, err);
    sqlite3_bind_int64(statement, 1, run_id);
    sqlite3_bind_int64(statement, 2, observations[i].observation);
    if (observations[i].span_id == 0)
      sqlite3_bind_null(statement, 3);
    else
      sqlite3_bind_int64(statement, 3, observations[i].span_id);
    sqlite3_bind_int64(statement, 4, observations[i].start_ns);
    sqlite3_bind_int64(statement, 5, observations[i].duration_ns);
    sqlite3_bind_int64(statement, 6, observations[i].warmup);
    XSP_TRY(writer_step(store, statement, err));
  }
  return STATUS_OK;
}

static enum status check_row_count(struct store *store, const struct run_chunks *run,
                                   const struct store_derived *derived, struct error *err)
{
  uint64_t rows = run == NULL ? 0 : run->series[SERIES_SPAN].row_count;
  if (derived->count == rows)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "cannot store derived columns", store->path, NULL,
                   "%zu rows for a run of %llu spans", derived->count, (unsigned long long)rows);
}

enum status store_put_derived(struct store *store, int64_t run_id, const struct store_derived *derived,
                              const struct store_observation *observations, size_t observation_count, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(pending_flush(store, err));
  XSP_TRY(reader_refresh(&store->reader, err));
  const struct run_chunks *run = reader_run(&store->reader, run_id);
  XSP_TRY(check_row_count(store, run, derived, err));
  struct pending_run *pending = pending_find(store, run_id);
  int64_t *wide = malloc(STORE_CHUNK_ROWS * sizeof *wide);
  if (pending == NULL || wide == NULL) {
    free(wide);
    return writer_memory(store, err);
  }
  enum status status = write_observations(store, run_id, observations, observation_count, err);
  if (status == STATUS_OK && derived->kind == NULL)
    status = pending_drop_column(store, run_id, STORE_DERIVED_KIND, err);
  if (run != NULL)
    for (size_t i = 0; i < run->series[SERIES_SPAN].part_count && status == STATUS_OK; i++)
      status = write_derived_part(store, run_id, derived, (int64_t)i, &run->series[SERIES_SPAN].parts[i], wide, err);
  free(wide);
  pending->has_derived = status == STATUS_OK;
  reader_invalidate(&store->reader);
  return status;
}

enum status store_overlay_derived(struct store *store, int64_t run_id, const struct store_derived *derived,
                                  const struct store_observation *observations, size_t observation_count,
                                  struct error *err)
{
  XSP_TRY(reader_refresh(&store->reader, err));
  XSP_TRY(check_row_count(store, reader_run(&store->reader, run_id), derived, err));
  struct overlay *overlay = calloc(1, sizeof *overlay);
  if (overlay == NULL)
    return problem_memory(err, "cannot correlate trace", store->path);
  overlay->run_id = run_id;
  overlay->row_count = derived->count;
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS; column++) {
    size_t width = chunk_type_size(series_kinds[SERIES_SPAN].columns[column].type);
    if (derived_column(derived, column) == NULL)
      continue;
    overlay->columns[column] = malloc(derived->count * width + 1);
    if (overlay->columns[column] == NULL) {
      overlay_free(overlay);
      return problem_memory(err, "cannot correlate trace", store->path);
    }
    if (column == STORE_OBSERVATION)
      for (size_t i = 0; i < derived->count; i++)
        ((int64_t *)overlay->columns[column])[i] = derived->observation[i];
    else if (derived->count > 0)
      memcpy(overlay->columns[column], derived_column(derived, column), derived->count * width);
  }
  XSP_TRY(reader_add_overlay(&store->reader, overlay, err));
  // A temporary table hides the file's: name resolution prefers temp.
  if (sqlite3_exec(store->db, "CREATE TEMP TABLE IF NOT EXISTS observation AS SELECT * FROM main.observation", NULL,
                   NULL, NULL) != SQLITE_OK)
    return problem_sqlite(err, "cannot correlate trace", store->path, store->db);
  return write_observations(store, run_id, observations, observation_count, err);
}

// ---- the end ---------------------------------------------------------------------------------------------------------
static void close_database(struct store *store)
{
  for (unsigned i = 0; i < STATEMENT_COUNT; i++) {
    sqlite3_finalize(store->statements[i]);
    store->statements[i] = NULL;
  }
  struct reader reader = store->reader;
  reader_done(&store->reader);
  store->reader.budget_bytes = reader.budget_bytes;
  sqlite3_close(store->db);
  store->db = NULL;
}

// fsync of the file and of its folder: the one place that pays for safety against power loss.
static enum status sync_and_rename(struct store *store, struct error *err)
{
  if (fsync(store->lock_file) != 0 || rename(store->partial_path, store->path) != 0) {
    (void)error_set_errno(&store->failure, STATUS_SYSTEM, "cannot finish trace", store->partial_path,
                          "the unfinished file is readable");
    store->has_failed = true;
    return writer_failed(store, err);
  }
  char *copy = strdup(store->path);
  if (copy != NULL) {
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      (void)fsync(folder); // some file systems refuse it; the file itself is safe
      close(folder);
    }
    free(copy);
  }
  return STATUS_OK;
}

enum status store_finish(struct store *store, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(pending_flush(store, err));
  XSP_TRY(execute(store, "COMMIT", err));
  pending_free(store);
  close_database(store);
  enum status status = sync_and_rename(store, err);
  store->is_writing = false;
  close(store->lock_file);
  store->lock_file = -1;
  if (status != STATUS_OK)
    return status;
  store->is_finished = true;
  return store_open_database(store, err);
}

static void close_handle(struct store *store)
{
  if (store->db != NULL && store->is_writing)
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL); // no transaction: an error that says nothing new
  close_database(store);
  pending_free(store);
  strings_done(&store->strings);
  if (store->lock_file >= 0)
    close(store->lock_file);
  free(store->path);
  free(store->partial_path);
  free(store);
}

void store_close(struct store *store)
{
  if (store != NULL)
    close_handle(store);
}

void store_discard(struct store *store)
{
  if (store == NULL)
    return;
  if (store->lock_file >= 0 && store->partial_path != NULL) { // ours: the lock says so
    char journal[4096];
    snprintf(journal, sizeof journal, "%s-journal", store->partial_path);
    unlink(store->partial_path);
    unlink(journal);
  }
  close_handle(store);
}
