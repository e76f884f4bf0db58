// SPDX-License-Identifier: Apache-2.0
// The derived columns of a run: written next to its base columns, or laid over them in memory. Called by correlate.
#include "base/memory.h"
#include "store/handle.h"
#include "store/problem.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "cannot correlate trace";

static enum status write_observations(struct store *store, int64_t run_id, const struct store_observation *observations,
                                      size_t count, struct error *err)
{
  XSP_TRY(writer_execute(store, err, "DELETE FROM observation WHERE run_id = %lld", (long long)run_id));
  return store_rows_insert(store, ROWS_OBSERVATION, run_id, observations, count, err);
}

enum status store_put_observations(struct store *store, int64_t run_id, const struct store_observation *observations,
                                   size_t count, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  return write_observations(store, run_id, observations, count, err);
}

static enum status check_row_count(struct store *store, const struct run_chunks *run, size_t count, struct error *err)
{
  uint64_t rows = run == NULL ? 0 : run->series[SERIES_SPAN].row_count;
  if (count == rows)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "cannot store derived columns", store->path, NULL,
                   "%zu rows for a run of %llu spans", count, (unsigned long long)rows);
}

// Derived columns describe all rows of a run or none.
enum status store_drop_derived(struct store *store, int64_t run_id, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  struct pending_run *run = pending_find(store, run_id);
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS && run->has_derived; column++)
    XSP_TRY(writer_execute(store, err, "DELETE FROM chunk WHERE run_id = %lld AND series = 'span' AND \"column\" = %Q",
                           (long long)run_id, store_series_kinds[SERIES_SPAN].columns[column].name));
  run->has_derived = false;
  reader_invalidate_run(&store->reader, run_id);
  return STATUS_OK;
}

// ---- into the file ---------------------------------------------------------------------------------------------------
static enum status write_column(struct store *store, int64_t run_id, const struct reader_series *series,
                                const struct store_derived_source *source, unsigned column, void *values,
                                struct error *err)
{
  for (size_t i = 0; i < series->part_count; i++) {
    const struct reader_part *part = &series->parts[i];
    if (source->has_base && (column == STORE_SELF_NS || column == STORE_OBSERVATION))
      XSP_TRY(reader_part_column(&store->reader, series, part,
                                 column == STORE_SELF_NS ? STORE_DURATION_NS : STORE_START_NS, values, err));
    source->fill(source->context, (enum store_column)column, (size_t)part->first_row, part->row_count, values);
    XSP_TRY(pending_write_column(store, run_id, SERIES_SPAN, (int64_t)i, column, values, part->row_count, err));
  }
  return STATUS_OK;
}

enum status store_put_derived_columns(struct store *store, int64_t run_id, const struct store_derived_source *source,
                                      struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(pending_flush(store, err));
  XSP_TRY(reader_refresh(&store->reader, err));
  const struct run_chunks *run = reader_run(&store->reader, run_id);
  XSP_TRY(check_row_count(store, run, source->count, err));
  int64_t *values = memory_resize(NULL, STORE_CHUNK_ROWS, sizeof *values);
  enum status status = STATUS_OK;
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS && run != NULL; column++)
    if ((source->column_mask & STORE_BIT(column)) != 0 && status == STATUS_OK)
      status = write_column(store, run_id, &run->series[SERIES_SPAN], source, column, values, err);
  free(values);
  pending_find(store, run_id)->has_derived = true; // some, in any case
  reader_invalidate_run(&store->reader, run_id);
  return status;
}

// ---- whole arrays ----------------------------------------------------------------------------------------------------
static const void *derived_column(const struct store_derived *derived, unsigned column)
{
  const void *values;
  const struct store_columns columns = {.derived = *derived};
  memcpy(&values, (const char *)&columns + store_series_kinds[SERIES_SPAN].columns[column].offset, sizeof values);
  return values;
}

static void fill_from_arrays(void *context, enum store_column column, size_t first_row, size_t count, void *ret_values)
{
  const struct store_derived *derived = context;
  size_t width = chunk_type_size(store_series_kinds[SERIES_SPAN].columns[column].type);
  const char *values = derived_column(derived, column);
  if (column != STORE_OBSERVATION)
    memcpy(ret_values, values + first_row * width, count * width);
  for (size_t i = 0; i < count && column == STORE_OBSERVATION; i++)
    ((int64_t *)ret_values)[i] = derived->observation[first_row + i];
}

static struct store_derived_source source_of(const struct store_derived *derived)
{
  uint32_t mask = STORE_ALL_DERIVED;
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS; column++)
    if ((STORE_OPTIONAL & STORE_BIT(column)) != 0 && derived_column(derived, column) == NULL)
      mask &= ~STORE_BIT(column);
  return (struct store_derived_source){derived->count, mask, (void *)(uintptr_t)derived, false, fill_from_arrays};
}

enum status store_put_derived(struct store *store, int64_t run_id, const struct store_derived *derived,
                              const struct store_observation *observations, size_t observation_count, struct error *err)
{
  const struct store_derived_source source = source_of(derived);
  XSP_TRY(writer_check(store, err));
  XSP_TRY(store_drop_derived(store, run_id, err));
  XSP_TRY(store_put_derived_columns(store, run_id, &source, err));
  return store_put_observations(store, run_id, observations, observation_count, err);
}

// ---- in memory -------------------------------------------------------------------------------------------------------
static void fill_overlay(struct overlay *overlay, const struct store_derived *derived)
{
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS; column++) {
    if (derived_column(derived, column) == NULL)
      continue;
    size_t width = chunk_type_size(store_series_kinds[SERIES_SPAN].columns[column].type);
    overlay->columns[column] = memory_resize(NULL, derived->count, width);
    fill_from_arrays((void *)(uintptr_t)derived, (enum store_column)column, 0, derived->count,
                     overlay->columns[column]);
  }
}

enum status store_overlay_derived(struct store *store, int64_t run_id, const struct store_derived *derived,
                                  const struct store_observation *observations, size_t observation_count,
                                  struct error *err)
{
  XSP_TRY(reader_refresh(&store->reader, err));
  XSP_TRY(check_row_count(store, reader_run(&store->reader, run_id), derived->count, err));
  struct overlay *overlay = memory_new(1, sizeof *overlay);
  fill_overlay(overlay, derived);
  overlay->run_id = run_id;
  overlay->row_count = derived->count;
  XSP_TRY(reader_add_overlay(&store->reader, overlay, err));
  // A temporary table hides the file's: name resolution prefers temp.
  if (sqlite3_exec(store->db, "CREATE TEMP TABLE IF NOT EXISTS observation AS SELECT * FROM main.observation", NULL,
                   NULL, NULL) != SQLITE_OK)
    return problem_sqlite(err, what, store->path, store->db);
  return write_observations(store, run_id, observations, observation_count, err);
}
