// SPDX-License-Identifier: Apache-2.0
// Moves the times of a run that is already stored: for sources that say only at their end what their times count from.
// A chunk's times are coded as differences to its base, so the base moves and nothing is coded again. Called by
// importers before correlate runs.
#include "base/memory.h"
#include "store/store_private.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "cannot write trace";

static enum status too_far(const struct store *store, int64_t offset_ns, struct error *err)
{
  return error_set(err, STATUS_INPUT, what, store->path, NULL, "moved by %lld ns, a time does not fit into 64 bits",
                   (long long)offset_ns);
}

static bool moved(int64_t *time_ns, int64_t offset_ns)
{
  return !__builtin_add_overflow(*time_ns, offset_ns, time_ns);
}

static enum status write_back(struct store *store, int64_t chunk_id, int64_t minimum, int64_t maximum,
                              const uint8_t *data, size_t size, struct error *err)
{
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(store->db, "UPDATE chunk SET minimum = ?2, maximum = ?3, data = ?4 WHERE chunk_id = ?1", -1,
                         &statement, NULL) != SQLITE_OK)
    return writer_failed(store, err);
  sqlite3_bind_int64(statement, 1, chunk_id);
  sqlite3_bind_int64(statement, 2, minimum);
  sqlite3_bind_int64(statement, 3, maximum);
  sqlite3_bind_blob64(statement, 4, data, size, SQLITE_STATIC);
  enum status status = writer_step(store, statement, err);
  sqlite3_finalize(statement);
  return status;
}

// One part's start times; `find` is at its row.
static enum status move_part(struct store *store, sqlite3_stmt *find, int64_t offset_ns, struct error *err)
{
  int64_t minimum = sqlite3_column_int64(find, 1), maximum = sqlite3_column_int64(find, 2);
  if (!moved(&minimum, offset_ns) || !moved(&maximum, offset_ns))
    return too_far(store, offset_ns, err);
  const void *data = sqlite3_column_blob(find, 3);
  size_t size = (size_t)sqlite3_column_bytes(find, 3);
  if (data == NULL)
    return writer_failed(store, err);
  uint8_t *copy = memory_resize(NULL, size, 1);
  memcpy(copy, data, size);
  chunk_shift(copy, size, offset_ns);
  enum status status = write_back(store, sqlite3_column_int64(find, 0), minimum, maximum, copy, size, err);
  free(copy);
  return status;
}

// Rows of the open part are in the file (they were flushed) and in memory, from where they are written again.
static void move_pending(struct store *store, int64_t run_id, int64_t offset_ns)
{
  struct pending_series *series = &pending_find(store, run_id)->series[SERIES_SPAN];
  int64_t *starts = series->columns[STORE_START_NS];
  for (uint32_t i = 0; i < series->row_count; i++)
    starts[i] = (int64_t)((uint64_t)starts[i] + (uint64_t)offset_ns); // in range: its part was
}

static enum status move_table(struct store *store, const char *sql, int64_t run_id, int64_t offset_ns,
                              struct error *err)
{
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
    return writer_failed(store, err);
  sqlite3_bind_int64(statement, 1, run_id);
  sqlite3_bind_int64(statement, 2, offset_ns);
  enum status status = writer_step(store, statement, err);
  sqlite3_finalize(statement);
  return status;
}

enum status store_shift_run(struct store *store, int64_t run_id, int64_t offset_ns, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  if (offset_ns == 0)
    return STATUS_OK;
  XSP_TRY(pending_flush(store, err));
  reader_invalidate(&store->reader);
  sqlite3_stmt *find = NULL;
  if (sqlite3_prepare_v2(store->db,
                         "SELECT chunk_id, minimum, maximum, data FROM chunk WHERE run_id = ?1 AND series = 'span' AND"
                         " part = ?2 AND \"column\" = 'start_ns'",
                         -1, &find, NULL) != SQLITE_OK)
    return writer_failed(store, err);
  enum status status = STATUS_OK;
  int code = SQLITE_ROW;
  for (int64_t part = 0; status == STATUS_OK && code == SQLITE_ROW; part++) {
    sqlite3_bind_int64(find, 1, run_id);
    sqlite3_bind_int64(find, 2, part);
    code = sqlite3_step(find);
    if (code == SQLITE_ROW)
      status = move_part(store, find, offset_ns, err);
    else if (code != SQLITE_DONE)
      status = writer_failed(store, err);
    sqlite3_reset(find);
  }
  sqlite3_finalize(find);
  XSP_TRY(status);
  move_pending(store, run_id, offset_ns);
  XSP_TRY(move_table(store, "UPDATE log SET time_ns = time_ns + ?2 WHERE run_id = ?1", run_id, offset_ns, err));
  return move_table(store, "UPDATE main.observation SET start_ns = start_ns + ?2 WHERE run_id = ?1", run_id, offset_ns,
                    err);
}
