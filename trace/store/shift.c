// SPDX-License-Identifier: Apache-2.0
// Moves the times of a run that is already stored: for sources that report only at their end what their times count from.
// A chunk's times are coded as differences to its base, so the base moves and nothing is coded again. Called by
// importers before correlate runs.
#include "base/memory.h"
#include "store/handle.h"

#include <stdlib.h>

static bool can_move(int64_t time_ns, int64_t offset_ns)
{
  return !__builtin_add_overflow(time_ns, offset_ns, &time_ns);
}

// One part's start times.
static enum status move_chunk(struct store *store, int64_t chunk_id, int64_t offset_ns, struct error *err)
{
  sqlite3_blob *blob = NULL;
  uint8_t *data SCOPED(scoped_free) = NULL;
  int code = sqlite3_blob_open(store->db, "main", "chunk", "data", chunk_id, 1, &blob);
  if (code == SQLITE_OK) {
    int size = sqlite3_blob_bytes(blob);
    data = memory_resize(NULL, (size_t)size, 1);
    code = sqlite3_blob_read(blob, data, size, 0);
    chunk_shift(data, (size_t)size, offset_ns);
    if (code == SQLITE_OK)
      code = sqlite3_blob_write(blob, data, size, 0);
  }
  enum status status = code == SQLITE_OK ? STATUS_OK : writer_failed(store, err);
  sqlite3_blob_close(blob);
  return status;
}

// Rows of the open part are in the file (they were flushed) and in memory, from where they are written again.
static void move_pending(const struct pending_series *series, unsigned column, int64_t offset_ns)
{
  int64_t *times = series->columns[column];
  for (uint32_t i = 0; i < series->row_count; i++)
    times[i] = (int64_t)((uint64_t)times[i] + (uint64_t)offset_ns); // in range: its part was
}

// The chunks with times.
#define TIMES "(series = 'span' AND \"column\" = 'start_ns' OR series = 'sample' AND \"column\" = 'time_ns')"

enum status store_shift_run(struct store *store, int64_t run_id, int64_t offset_ns, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  if (offset_ns == 0)
    return STATUS_OK;
  XSP_TRY(pending_flush(store, err));
  reader_invalidate(&store->reader);
  sqlite3_stmt *find = NULL;
  if (sqlite3_prepare_v2(store->db, "SELECT chunk_id, minimum, maximum FROM chunk WHERE run_id = ?1 AND " TIMES, -1,
                         &find, NULL) != SQLITE_OK)
    return writer_failed(store, err);
  sqlite3_bind_int64(find, 1, run_id);
  enum status status = STATUS_OK;
  int code = SQLITE_ROW;
  while (status == STATUS_OK && (code = sqlite3_step(find)) == SQLITE_ROW)
    if (can_move(sqlite3_column_int64(find, 1), offset_ns) && can_move(sqlite3_column_int64(find, 2), offset_ns))
      status = move_chunk(store, sqlite3_column_int64(find, 0), offset_ns, err);
    else
      status = error_set(err, STATUS_INPUT, "cannot write trace", store->path, NULL,
                         "moved by %lld ns, a time does not fit into 64 bits", (long long)offset_ns);
  if (status == STATUS_OK && code != SQLITE_DONE)
    status = writer_failed(store, err);
  sqlite3_finalize(find);
  XSP_TRY(status);
  const struct pending_run *run = pending_find(store, run_id);
  move_pending(&run->series[SERIES_SPAN], STORE_START_NS, offset_ns);
  move_pending(&run->series[SERIES_SAMPLE], SAMPLE_TIME_NS, offset_ns);
  if (store_has_table(store, "counter_value"))
    XSP_TRY(writer_execute(store, err, "UPDATE counter_value SET time_ns = time_ns + %lld WHERE run_id = %lld",
                           (long long)offset_ns, (long long)run_id));
  return writer_execute(store, err,
                        "UPDATE chunk SET minimum = minimum + %lld, maximum = maximum + %lld"
                        " WHERE run_id = %lld AND " TIMES ";"
                        "UPDATE log SET time_ns = time_ns + %lld WHERE run_id = %lld;"
                        "UPDATE observation SET start_ns = start_ns + %lld WHERE run_id = %lld",
                        (long long)offset_ns, (long long)offset_ns, (long long)run_id, (long long)offset_ns,
                        (long long)run_id, (long long)offset_ns, (long long)run_id);
}
