// SPDX-License-Identifier: Apache-2.0
// Typed reading of columns into the caller's arena, one column or one part at a time where a run is large. Called by every
// stage after the store.
#include "base/memory.h"
#include "store/handle.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "cannot read trace";

static bool has_column(const struct reader_series *series, unsigned column)
{
  return series->part_count > 0 && series->parts[0].slot[column].chunk_id != 0;
}

enum status store_find_run(struct store *store, int64_t run_id, struct run_chunks **ret_run, struct error *err)
{
  *ret_run = NULL;
  if (store->is_writing && pending_is_dirty(store)) // rows handed over are rows that can be read
    XSP_TRY(pending_flush(store, err));
  XSP_TRY(reader_refresh(&store->reader, err));
  *ret_run = reader_run(&store->reader, run_id);
  return STATUS_OK;
}

// The run's spans; *ret_series is NULL where it has none. Derived columns of the mask must be there.
static enum status find_spans(struct store *store, int64_t run_id, uint32_t *column_mask,
                              struct reader_series **ret_series, struct error *err)
{
  struct run_chunks *run;
  *ret_series = NULL;
  XSP_TRY(store_find_run(store, run_id, &run, err));
  if (run == NULL || run->series[SERIES_SPAN].part_count == 0)
    return STATUS_OK;
  if (!run->has_derived && (*column_mask & STORE_ALL_DERIVED) != 0)
    return error_set(err, STATUS_USE, what, store->path, NULL, "run %lld is not correlated", (long long)run_id);
  *ret_series = &run->series[SERIES_SPAN];
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS; column++)
    if ((STORE_OPTIONAL & STORE_BIT(column)) != 0 && !has_column(*ret_series, column))
      *column_mask &= ~STORE_BIT(column);
  return STATUS_OK;
}

// The pointer to a column's values in struct store_columns.
static void *array_of(struct store_columns *columns, unsigned column)
{
  return (char *)columns + store_series_kinds[SERIES_SPAN].columns[column].offset;
}

// The stored column that answers for `column`.
static unsigned column_for(const struct reader_series *series, unsigned column, uint32_t column_mask)
{
  bool is_derived = has_column(series, STORE_DERIVED_KIND); // then its slot has the stored kind, see catalogue.c
  if (column == STORE_DERIVED_KIND)
    return STORE_KIND;
  return column == STORE_KIND && is_derived && (column_mask & STORE_KIND_AS_STORED) ? STORE_DERIVED_KIND : column;
}

static bool is_zero(const struct reader_series *series, unsigned column)
{
  bool is_all = true;
  for (size_t i = 0; i < series->part_count; i++)
    is_all &= series->parts[i].slot[column].minimum == 0 && series->parts[i].slot[column].maximum == 0;
  return is_all;
}

enum status store_extremes(struct store *store, int64_t run_id, enum store_column column, int64_t *ret_least,
                           int64_t *ret_most, struct error *err)
{
  struct run_chunks *run;
  *ret_least = *ret_most = 0;
  XSP_TRY(store_find_run(store, run_id, &run, err));
  const struct reader_series *series = run != NULL ? &run->series[SERIES_SPAN] : NULL;
  for (size_t i = 0; series != NULL && i < series->part_count; i++) {
    const struct reader_slot *slot = &series->parts[i].slot[column];
    *ret_least = i == 0 || slot->minimum < *ret_least ? slot->minimum : *ret_least;
    *ret_most = i == 0 || slot->maximum > *ret_most ? slot->maximum : *ret_most;
  }
  return STATUS_OK;
}

// Of the columns of the mask those that need an array; sets spans->first_id.
static uint32_t leave_out(struct store *store, const struct reader_series *series, uint32_t column_mask,
                          struct store_spans *spans)
{
  static const unsigned may_be_zero[] = {STORE_RECORDED_PARENT_ID, STORE_CORRELATION_ID, STORE_FLAGS, STORE_CONTEXT_ID};
  if ((column_mask & STORE_LEAN) == 0)
    return column_mask;
  for (size_t i = 0; i < sizeof may_be_zero / sizeof may_be_zero[0]; i++)
    if (is_zero(series, may_be_zero[i]))
      column_mask &= ~STORE_BIT(may_be_zero[i]);
  int64_t last;
  if ((column_mask & STORE_BIT(STORE_SPAN_ID)) != 0 &&
      reader_is_counting(&store->reader, series, STORE_SPAN_ID, &spans->first_id) &&
      !__builtin_add_overflow(spans->first_id, (int64_t)series->row_count, &last))
    column_mask &= ~STORE_BIT(STORE_SPAN_ID);
  else
    spans->first_id = 0;
  return column_mask;
}

// Observations are stored wide. `ret_narrow` may be where `wide` is.
static void narrow(const int64_t *wide, uint32_t count, int32_t *ret_narrow)
{
  for (uint32_t i = 0; i < count; i++)
    ret_narrow[i] = (int32_t)wide[i]; // checked on decode
}

static enum status load_observations(struct store *store, const struct reader_series *series, int32_t *ret_observations,
                                     struct error *err)
{
  int64_t *wide SCOPED(scoped_free) = memory_resize(NULL, STORE_CHUNK_ROWS, sizeof *wide);
  for (size_t i = 0; i < series->part_count; i++) {
    const struct reader_part *part = &series->parts[i];
    XSP_TRY(reader_part_column(&store->reader, series, part, STORE_OBSERVATION, wide, err));
    narrow(wide, part->row_count, ret_observations + part->first_row);
  }
  return STATUS_OK;
}

static enum status load_columns(struct store *store, const struct reader_series *series, uint32_t column_mask,
                                struct arena *arena, struct store_columns *columns, struct error *err)
{
  for (unsigned column = 0; column < STORE_COLUMNS; column++) {
    if ((column_mask & STORE_BIT(column)) == 0)
      continue;
    bool is_observation = column == STORE_OBSERVATION;
    size_t width =
        is_observation ? sizeof(int32_t) : chunk_type_size(store_series_kinds[SERIES_SPAN].columns[column].type);
    XSP_TRY(reader_check_memory(&store->reader, series, column, series->row_count, width, err));
    void *array = arena_alloc_array(arena, series->row_count + 1, width);
    XSP_TRY(is_observation ? load_observations(store, series, array, err)
                           : reader_column(&store->reader, series, column_for(series, column, column_mask), true, array,
                                           err)); // the arena's memory is zeroed
    memcpy(array_of(columns, column), &array, sizeof array);
  }
  return STATUS_OK;
}

enum status store_load_spans(struct store *store, int64_t run_id, uint32_t column_mask, struct arena *arena,
                             struct store_spans *ret_spans, struct error *err)
{
  static struct reader_series none = {.name = SERIES_SPAN};
  struct reader_series *series;
  *ret_spans = (struct store_spans){0};
  column_mask &= ~STORE_ALL_DERIVED;
  XSP_TRY(find_spans(store, run_id, &column_mask, &series, err));
  series = series != NULL ? series : &none;
  struct store_columns columns = {.spans.count = (size_t)series->row_count};
  column_mask = leave_out(store, series, column_mask, &columns.spans);
  XSP_TRY(load_columns(store, series, column_mask, arena, &columns, err));
  *ret_spans = columns.spans;
  return STATUS_OK;
}

bool store_has_derived(struct store *store, int64_t run_id)
{
  struct run_chunks *run;
  if (store_find_run(store, run_id, &run, NULL) != STATUS_OK)
    return false;
  return run == NULL || run->has_derived || run->series[SERIES_SPAN].part_count == 0; // without spans it lacks nothing
}

enum status store_load_derived_columns(struct store *store, int64_t run_id, uint32_t column_mask, struct arena *arena,
                                       struct store_derived *ret_derived, struct error *err)
{
  struct reader_series *series;
  *ret_derived = (struct store_derived){0};
  column_mask &= STORE_ALL_DERIVED;
  XSP_TRY(find_spans(store, run_id, &column_mask, &series, err));
  if (series == NULL)
    return STATUS_OK;
  struct store_columns columns = {.derived.count = (size_t)series->row_count};
  XSP_TRY(load_columns(store, series, column_mask, arena, &columns, err));
  *ret_derived = columns.derived;
  return STATUS_OK;
}

enum status store_load_derived(struct store *store, int64_t run_id, struct arena *arena,
                               struct store_derived *ret_derived, struct error *err)
{
  return store_load_derived_columns(store, run_id, STORE_ALL_DERIVED, arena, ret_derived, err);
}

// ---- part by part ----------------------------------------------------------------------------------------------------
// Reads the columns of the mask that have a buffer.
static enum status read_part(struct store *store, const struct reader_series *series, const struct reader_part *part,
                             uint32_t column_mask, void *const *buffers, struct store_columns *ret_columns,
                             struct error *err)
{
  *ret_columns = (struct store_columns){.spans.count = part->row_count, .derived.count = part->row_count};
  for (unsigned column = 0; column < STORE_COLUMNS; column++) {
    if (buffers[column] == NULL)
      continue;
    XSP_TRY(reader_part_column(&store->reader, series, part, column_for(series, column, column_mask), buffers[column],
                               err));
    if (column == STORE_OBSERVATION)
      narrow(buffers[column], part->row_count, buffers[column]);
    memcpy(array_of(ret_columns, column), &buffers[column], sizeof buffers[column]);
  }
  return STATUS_OK;
}

enum status store_walk_spans_from(struct store *store, int64_t run_id, uint32_t column_mask, size_t first, size_t end,
                                  store_visit *visit, void *context, struct error *err)
{
  struct reader_series *series;
  struct arena arena SCOPED(arena_done) = {0};
  void *buffers[STORE_COLUMNS] = {0};
  XSP_TRY(find_spans(store, run_id, &column_mask, &series, err));
  for (unsigned column = 0; column < STORE_COLUMNS && series != NULL; column++)
    if ((column_mask & STORE_BIT(column)) != 0)
      buffers[column] = arena_alloc_array(&arena, reader_largest_part(series),
                                          chunk_type_size(store_series_kinds[SERIES_SPAN].columns[column].type));
  for (size_t i = 0; series != NULL && i < series->part_count; i++) {
    const struct reader_part *part = &series->parts[i];
    struct store_columns columns;
    if (part->first_row >= end || part->first_row + part->row_count <= first)
      continue;
    XSP_TRY(read_part(store, series, part, column_mask, buffers, &columns, err));
    XSP_TRY(visit(context, (size_t)part->first_row, &columns.spans, &columns.derived, err));
  }
  return STATUS_OK;
}

enum status store_walk_spans(struct store *store, int64_t run_id, uint32_t column_mask, store_visit *visit,
                             void *context, struct error *err)
{
  return store_walk_spans_from(store, run_id, column_mask, 0, SIZE_MAX, visit, context, err);
}
