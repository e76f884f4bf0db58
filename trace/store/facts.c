// SPDX-License-Identifier: Apache-2.0
// Rows of the plain tables, one function a table: what experiments, runs, tracks and the like are. Called by every writer and
// reader; rows.c moves the rows.
#include "store/handle.h"

#include <string.h>

// ---- into the file ---------------------------------------------------------------------------------------------------
static enum status add(struct store *store, enum row_table table, int64_t key, const void *rows, size_t count,
                       struct error *err)
{
  XSP_TRY(writer_check(store, err));
  return store_rows_insert(store, table, key, rows, count, err);
}

enum status store_add_experiment(struct store *store, const struct store_experiment *experiment, struct error *err)
{
  return add(store, ROWS_EXPERIMENT, 0, experiment, 1, err);
}

enum status store_add_system(struct store *store, const struct store_system_value *values, size_t count,
                             int64_t *ret_system_id, struct error *err)
{
  *ret_system_id = store->next_system_id++;
  return add(store, ROWS_SYSTEM, *ret_system_id, values, count, err);
}

enum status store_add_workload(struct store *store, int64_t experiment_id, const struct store_system_value *values,
                               size_t count, struct error *err)
{
  return add(store, ROWS_WORKLOAD, experiment_id, values, count, err);
}

enum status store_add_evaluation(struct store *store, int64_t experiment_id, const struct store_system_value *values,
                                 size_t count, struct error *err)
{
  return add(store, ROWS_EVALUATION, experiment_id, values, count, err);
}

enum status store_add_output(struct store *store, int64_t experiment_id, const struct store_output *output,
                             struct error *err)
{
  return add(store, ROWS_OUTPUT, experiment_id, output, 1, err);
}

enum status store_add_run(struct store *store, const struct store_run *run, struct error *err)
{
  return add(store, ROWS_RUN, 0, run, 1, err);
}

enum status store_add_track(struct store *store, const struct store_track *track, struct error *err)
{
  struct store_track row = *track;
  if (row.rank.world_size < 1)
    row.rank = (struct store_rank){STORE_NONE, STORE_NONE, STORE_NONE};
  else if (row.rank.local_rank < 0)
    row.rank.local_rank = STORE_NONE;
  return add(store, ROWS_TRACK, 0, &row, 1, err);
}

enum status store_add_log(struct store *store, int64_t run_id, int64_t span_id, int64_t time_ns, const char *message,
                          size_t length, struct error *err)
{
  const struct store_log log = {span_id, time_ns, {message, length}};
  if (store->fold != NULL)
    return writer_check(store, err);
  return add(store, ROWS_LOG, run_id, &log, 1, err);
}

enum status store_add_note(struct store *store, int64_t run_id, const char *key, const char *value, struct error *err)
{
  const struct store_note note = {run_id, key, value};
  return add(store, ROWS_NOTE, 0, &note, 1, err);
}

enum status store_put_note(struct store *store, int64_t run_id, const char *key, const char *value, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(writer_execute(store, err, "DELETE FROM note WHERE run_id = %lld AND key = %Q", (long long)run_id, key));
  return value == NULL ? STATUS_OK : store_add_note(store, run_id, key, value, err);
}

// ---- out of the file -------------------------------------------------------------------------------------------------
enum status store_experiments(struct store *store, struct arena *arena, struct store_experiment **ret,
                              size_t *ret_count, struct error *err)
{
  return store_rows_list(store, ROWS_EXPERIMENT, 0, arena, ret, ret_count, err);
}

enum status store_runs(struct store *store, struct arena *arena, struct store_run **ret, size_t *ret_count,
                       struct error *err)
{
  return store_rows_list(store, ROWS_RUN, 0, arena, ret, ret_count, err);
}

// Defines `function`, which lists a table's rows of one run, system or experiment.
#define LIST(function, row, table)                                                                                     \
  enum status function(struct store *store, int64_t key, struct arena *arena, struct row **ret, size_t *ret_count,     \
                       struct error *err)                                                                              \
  {                                                                                                                    \
    return store_rows_list(store, table, key, arena, ret, ret_count, err);                                             \
  }
LIST(store_system, store_system_value, ROWS_SYSTEM)
LIST(store_workload, store_system_value, ROWS_WORKLOAD)
LIST(store_evaluation, store_system_value, ROWS_EVALUATION)
LIST(store_tracks, store_track, ROWS_TRACK)
LIST(store_observations, store_observation, ROWS_OBSERVATION)
LIST(store_notes, store_note, key < 0 ? ROWS_NOTE_OF_ALL : ROWS_NOTE)
LIST(store_logs, store_log, ROWS_LOG)
LIST(store_traces, store_trace, ROWS_TRACE)

enum status store_outputs(struct store *store, int64_t experiment_id, int64_t first, struct arena *arena,
                          struct store_output **ret, size_t *ret_count, struct error *err)
{
  return store_rows_list_from(store, ROWS_OUTPUT, experiment_id, (size_t)first, 256, arena, ret, ret_count, err);
}

enum status store_logs_from(struct store *store, int64_t run_id, size_t first, size_t end, struct arena *arena,
                            struct store_log **ret, size_t *ret_count, struct error *err)
{
  return store_rows_list_from(store, ROWS_LOG_FROM, run_id, first, end, arena, ret, ret_count, err);
}
