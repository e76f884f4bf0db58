// SPDX-License-Identifier: Apache-2.0
// Typed reading of plain tables into the caller's arena. Called by every stage after the store.
#include "base/vector.h"
#include "store/problem.h"
#include "store/store_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char what[] = "cannot read trace";

// ---- plain tables ----------------------------------------------------------------------------------------------------
// One query whose rows become elements of an array in an arena.
struct listing {
  const char *sql; // of ?1, a key
  size_t row_size;
  // Fills one zeroed element.
  void (*read_row)(sqlite3_stmt *row, struct arena *arena, void *ret_element);
};

static enum status list(const struct listing *listing, struct store *store, int64_t key, struct arena *arena,
                        void *ret_array, size_t *ret_count, struct error *err)
{
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(store->db, listing->sql, -1, &statement, NULL) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, store->db);
  sqlite3_bind_int64(statement, 1, key);
  char *rows = NULL;
  size_t count = 0, capacity = 0;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    rows = vector_room(rows, count, &capacity, 1, listing->row_size);
    void *row = memset(rows + count++ * listing->row_size, 0, listing->row_size);
    listing->read_row(statement, arena, row);
  }
  enum status status = code == SQLITE_DONE ? STATUS_OK : problem_sqlite(err, what, store->path, store->db);
  sqlite3_finalize(statement);
  char *array = arena_alloc_array(arena, count + 1, listing->row_size);
  if (count > 0)
    memcpy(array, rows, count * listing->row_size);
  free(rows);
  memcpy(ret_array, &array, sizeof array);
  *ret_count = count;
  return status;
}

static const char *text_at(sqlite3_stmt *row, int column, struct arena *arena) // NULL stays NULL
{
  const char *text = (const char *)sqlite3_column_text(row, column);
  return text == NULL ? NULL : arena_copy(arena, text, (size_t)sqlite3_column_bytes(row, column));
}

static int64_t integer_or(sqlite3_stmt *row, int column, int64_t none)
{
  return sqlite3_column_type(row, column) == SQLITE_NULL ? none : sqlite3_column_int64(row, column);
}

static void read_experiment(sqlite3_stmt *row, struct arena *arena, void *ret_element)
{
  struct store_experiment *experiment = ret_element;
  experiment->experiment_id = sqlite3_column_int64(row, 0);
  experiment->name = text_at(row, 1, arena);
  experiment->workload = text_at(row, 2, arena);
  experiment->framework = text_at(row, 3, arena);
  experiment->framework_version = text_at(row, 4, arena);
  experiment->command = text_at(row, 5, arena);
  experiment->created_ns = sqlite3_column_int64(row, 6);
  experiment->system_id = sqlite3_column_int64(row, 7);
  experiment->xsp_version = text_at(row, 8, arena);
}

enum status store_experiments(struct store *store, struct arena *arena, struct store_experiment **ret,
                              size_t *ret_count, struct error *err)
{
  static const struct listing rows = {
      "SELECT experiment_id, name, workload, framework, framework_version, command, created_ns,"
      " system_id, xsp_version FROM main.experiment ORDER BY experiment_id",
      sizeof **ret, read_experiment};
  return list(&rows, store, 0, arena, ret, ret_count, err);
}

static void read_system_value(sqlite3_stmt *row, struct arena *arena, void *ret_element)
{
  struct store_system_value *value = ret_element;
  int type = sqlite3_column_type(row, 1);
  value->key = text_at(row, 0, arena);
  value->is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
  if (value->is_number)
    value->number = sqlite3_column_double(row, 1);
  else
    value->text = text_at(row, 1, arena);
}

enum status store_system(struct store *store, int64_t system_id, struct arena *arena, struct store_system_value **ret,
                         size_t *ret_count, struct error *err)
{
  static const struct listing rows = {"SELECT key, value FROM main.system WHERE system_id = ?1 ORDER BY key",
                                      sizeof **ret, read_system_value};
  return list(&rows, store, system_id, arena, ret, ret_count, err);
}

enum status store_workload(struct store *store, int64_t experiment_id, struct arena *arena,
                           struct store_system_value **ret, size_t *ret_count, struct error *err)
{
  static const struct listing rows = {"SELECT key, value FROM workload WHERE experiment_id = ?1 ORDER BY key",
                                      sizeof **ret, read_system_value};
  return list(&rows, store, experiment_id, arena, ret, ret_count, err);
}

static void read_run(sqlite3_stmt *row, struct arena *arena, void *ret_element)
{
  struct store_run *run = ret_element;
  run->run_id = sqlite3_column_int64(row, 0);
  run->experiment_id = sqlite3_column_int64(row, 1);
  const char *levels = (const char *)sqlite3_column_text(row, 2);
  if (levels == NULL || !level_set_parse(levels, strlen(levels), &run->levels))
    run->levels = (struct level_set){0};
  int64_t batch_size = sqlite3_column_int64(row, 3);
  run->batch_size = batch_size > 0 ? batch_size : 0; // a file may say anything; 0: unknown
  run->dropped_count = sqlite3_column_int64(row, 4);
  const char *epoch = (const char *)sqlite3_column_text(row, 5);
  run->epoch_is_unix = epoch != NULL && strcmp(epoch, "unix") == 0;
  run->layer = text_at(row, 6, arena);
  run->misused_count = sqlite3_column_int64(row, 7);
  run->own_pct = sqlite3_column_type(row, 8) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(row, 8);
}

enum status store_runs(struct store *store, struct arena *arena, struct store_run **ret, size_t *ret_count,
                       struct error *err)
{
  static const struct listing rows = {"SELECT run_id, experiment_id, levels, batch_size, dropped_count, epoch, layer,"
                                      " misused_count, own_pct FROM main.run ORDER BY run_id",
                                      sizeof **ret, read_run};
  return list(&rows, store, 0, arena, ret, ret_count, err);
}

static void read_track(sqlite3_stmt *row, struct arena *arena, void *ret_element)
{
  struct store_track *track = ret_element;
  track->run_id = sqlite3_column_int64(row, 0);
  track->track_id = sqlite3_column_int64(row, 1);
  track->name = text_at(row, 2, arena);
  track->host = text_at(row, 3, arena);
  track->process_id = integer_or(row, 4, STORE_NONE);
  track->thread_id = integer_or(row, 5, STORE_NONE);
  track->device_id = integer_or(row, 6, STORE_NONE);
  track->stream_id = integer_or(row, 7, STORE_NONE);
  track->clock = text_at(row, 8, arena);
}

enum status store_tracks(struct store *store, int64_t run_id, struct arena *arena, struct store_track **ret,
                         size_t *ret_count, struct error *err)
{
  static const struct listing rows = {
      "SELECT run_id, track_id, name, host, process_id, thread_id, device_id, stream_id, clock"
      " FROM main.track WHERE run_id = ?1 ORDER BY track_id",
      sizeof **ret, read_track};
  return list(&rows, store, run_id, arena, ret, ret_count, err);
}

static void read_observation(sqlite3_stmt *row, struct arena *arena, void *ret_element)
{
  (void)arena;
  struct store_observation *observation = ret_element;
  observation->observation = sqlite3_column_int64(row, 0);
  observation->span_id = sqlite3_column_int64(row, 1);
  observation->start_ns = sqlite3_column_int64(row, 2);
  observation->duration_ns = sqlite3_column_int64(row, 3);
  observation->warmup = sqlite3_column_int64(row, 4) != 0;
}

enum status store_observations(struct store *store, int64_t run_id, struct arena *arena, struct store_observation **ret,
                               size_t *ret_count, struct error *err)
{
  static const struct listing rows = {"SELECT observation, span_id, start_ns, duration_ns, warmup FROM observation"
                                      " WHERE run_id = ?1 ORDER BY observation",
                                      sizeof **ret, read_observation};
  return list(&rows, store, run_id, arena, ret, ret_count, err);
}

static void read_note(sqlite3_stmt *row, struct arena *arena, void *ret_element)
{
  struct store_note *note = ret_element;
  note->run_id = sqlite3_column_int64(row, 0);
  note->key = text_at(row, 1, arena);
  note->key = note->key != NULL ? note->key : "";
  note->value = text_at(row, 2, arena);
}

enum status store_notes(struct store *store, int64_t run_id, struct arena *arena, struct store_note **ret,
                        size_t *ret_count, struct error *err)
{
  static const struct listing rows = {
      "SELECT run_id, key, value FROM main.note WHERE ?1 < 0 OR run_id IN (0, ?1) ORDER BY rowid", sizeof **ret,
      read_note};
  return list(&rows, store, run_id, arena, ret, ret_count, err);
}
