// SPDX-License-Identifier: Apache-2.0
// Counters over time: two tables that are made with their first rows. Called by launch/ while a program runs, and by readers.
#include "store/handle.h"

enum status store_add_counter(struct store *store, int64_t run_id, const struct store_counter *counter,
                              struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(
      writer_execute(store, err,
                     "CREATE TABLE IF NOT EXISTS counter(run_id INTEGER NOT NULL, counter_id INTEGER NOT NULL,"
                     " name TEXT NOT NULL, source TEXT, process_id INTEGER, thread_id INTEGER, device_id INTEGER,"
                     " is_total INTEGER NOT NULL, PRIMARY KEY(run_id, counter_id)) WITHOUT ROWID;"
                     "CREATE TABLE IF NOT EXISTS counter_value(run_id INTEGER NOT NULL, counter_id INTEGER NOT NULL,"
                     " time_ns INTEGER NOT NULL, value REAL NOT NULL)"));
  return store_rows_insert(store, ROWS_COUNTER, run_id, counter, 1, err);
}

enum status store_add_counter_value(struct store *store, int64_t run_id, const struct store_counter_value *value,
                                    struct error *err)
{
  XSP_TRY(writer_check(store, err));
  return store_rows_insert(store, ROWS_COUNTER_VALUE, run_id, value, 1, err);
}

enum status store_counters(struct store *store, int64_t run_id, struct arena *arena, struct store_counter **ret,
                           size_t *ret_count, struct error *err)
{
  *ret = NULL;
  *ret_count = 0;
  return store_has_table(store, "counter") ? store_rows_list(store, ROWS_COUNTER, run_id, arena, ret, ret_count, err)
                                           : STATUS_OK;
}

enum status store_counter_values(struct store *store, int64_t run_id, struct arena *arena,
                                 struct store_counter_value **ret, size_t *ret_count, struct error *err)
{
  *ret = NULL;
  *ret_count = 0;
  return store_has_table(store, "counter_value")
             ? store_rows_list(store, ROWS_COUNTER_VALUE, run_id, arena, ret, ret_count, err)
             : STATUS_OK;
}
