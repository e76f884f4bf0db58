// SPDX-License-Identifier: Apache-2.0
// Typed reading of columns into the caller's arena, one column or one part at a time where a run is large. Called by every
// stage after the store.
#include "store/problem.h"
#include "store/store_private.h"

#include <string.h>

static const char what[] = "cannot read trace";

static enum status alloc_column(struct store *store, const struct series *series, unsigned column, struct arena *arena,
                                void *ret_array, struct error *err)
{
  size_t width = chunk_type_size(series_kinds[series->name].columns[column].type);
  XSP_TRY(reader_check_memory(&store->reader, series, column, series->row_count, width, err));
  void *array = arena_alloc_array(arena, series->row_count + 1, width);
  memcpy(ret_array, &array, sizeof array);
  return STATUS_OK;
}

static enum status load_column(struct store *store, const struct series *series, unsigned column, struct arena *arena,
                               void *ret_array, struct error *err)
{
  XSP_TRY(alloc_column(store, series, column, arena, ret_array, err));
  void *array;
  memcpy(&array, ret_array, sizeof array);
  return reader_column(&store->reader, series, column, true, array, err); // the arena's memory is zeroed
}

enum status store_find_series(struct store *store, int64_t run_id, enum series_name name, struct series **ret_series,
                              bool *ret_has_derived, struct error *err)
{
  *ret_series = NULL;
  *ret_has_derived = false;
  if (store->is_writing && pending_is_dirty(store)) // rows handed over are rows that can be read
    XSP_TRY(pending_flush(store, err));
  XSP_TRY(reader_refresh(&store->reader, err));
  struct run_chunks *run = reader_run(&store->reader, run_id);
  if (run == NULL || run->series[name].part_count == 0)
    return STATUS_OK;
  *ret_series = &run->series[name];
  *ret_has_derived = run->has_derived;
  return STATUS_OK;
}

static bool has_column(const struct series *series, unsigned column)
{
  return series->part_count > 0 && series->parts[0].slot[column].chunk_id != 0;
}

// The member of struct store_spans or struct store_derived that points at the column's values.
static void *array_of(void *columns, unsigned column)
{
  return (char *)columns + series_kinds[SERIES_SPAN].columns[column].offset;
}

// The stored column that answers for `column`.
static unsigned column_for(const struct series *series, unsigned column, uint32_t column_mask)
{
  bool is_derived = has_column(series, STORE_DERIVED_KIND); // then its slot has the stored kind, see catalogue.c
  if (column == STORE_DERIVED_KIND)
    return STORE_KIND;
  return column == STORE_KIND && is_derived && (column_mask & STORE_KIND_AS_STORED) ? STORE_DERIVED_KIND : column;
}

static bool is_zero(const struct series *series, unsigned column)
{
  bool is_all = true;
  for (size_t i = 0; i < series->part_count; i++)
    is_all &= series->parts[i].slot[column].minimum == 0 && series->parts[i].slot[column].maximum == 0;
  return is_all;
}

// Of the columns of the mask those that need an array; sets spans->first_id.
static uint32_t leave_out(struct store *store, const struct series *series, uint32_t column_mask,
                          struct store_spans *spans)
{
  static const unsigned may_be_zero[] = {STORE_RECORDED_PARENT_ID, STORE_CORRELATION_ID, STORE_FLAGS};
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

enum status store_load_spans(struct store *store, int64_t run_id, uint32_t column_mask, struct arena *arena,
                             struct store_spans *ret_spans, struct error *err)
{
  *ret_spans = (struct store_spans){0};
  struct series *series;
  bool has_derived;
  XSP_TRY(store_find_series(store, run_id, SERIES_SPAN, &series, &has_derived, err));
  static struct series none = {.name = SERIES_SPAN};
  series = series != NULL ? series : &none;
  struct store_spans spans = {.count = (size_t)series->row_count};
  column_mask = leave_out(store, series, column_mask, &spans);
  for (unsigned column = 0; column < STORE_BASE_COLUMNS; column++)
    if ((column_mask & STORE_BIT(column)) != 0)
      XSP_TRY(
          load_column(store, series, column_for(series, column, column_mask), arena, array_of(&spans, column), err));
  *ret_spans = spans;
  return STATUS_OK;
}

// ---- part by part ----------------------------------------------------------------------------------------------------
struct walk {
  struct store *store;
  const struct series *series;
  uint32_t column_mask;
  void *buffers[STORE_COLUMNS]; // of a part's rows, in `arena`
  int32_t *observation;
  struct arena arena;
};

static void set_up_walk(struct walk *walk)
{
  for (unsigned column = 0; column < STORE_COLUMNS; column++) {
    if ((walk->column_mask & STORE_BIT(column)) == 0)
      continue;
    size_t width = chunk_type_size(series_kinds[SERIES_SPAN].columns[column].type);
    walk->buffers[column] = arena_alloc_array(&walk->arena, STORE_CHUNK_ROWS, width);
  }
  walk->observation = arena_alloc_array(&walk->arena, STORE_CHUNK_ROWS, sizeof *walk->observation);
}

static enum status read_part(struct walk *walk, const struct part *part, struct store_spans *ret_spans,
                             struct store_derived *ret_derived, struct error *err)
{
  *ret_spans = (struct store_spans){.count = part->row_count};
  *ret_derived = (struct store_derived){.count = part->row_count};
  for (unsigned column = 0; column < STORE_COLUMNS; column++) {
    void *buffer = walk->buffers[column];
    if (buffer == NULL)
      continue;
    XSP_TRY(reader_part_column(&walk->store->reader, walk->series, part,
                               column_for(walk->series, column, walk->column_mask), buffer, err));
    if (column == STORE_OBSERVATION) {
      for (uint32_t i = 0; i < part->row_count; i++)
        walk->observation[i] = (int32_t)((const int64_t *)buffer)[i]; // checked on decode
      buffer = walk->observation;
    }
    void *columns = column < STORE_BASE_COLUMNS ? (void *)ret_spans : ret_derived;
    memcpy(array_of(columns, column), &buffer, sizeof buffer);
  }
  return STATUS_OK;
}

enum status store_walk_spans(struct store *store, int64_t run_id, uint32_t column_mask, store_visit *visit,
                             void *context, struct error *err)
{
  struct series *series;
  bool has_derived;
  struct walk walk = {.store = store, .column_mask = column_mask};
  XSP_TRY(store_find_series(store, run_id, SERIES_SPAN, &series, &has_derived, err));
  if (series == NULL)
    return STATUS_OK;
  if (!has_derived && (column_mask & STORE_ALL_DERIVED) != 0)
    return error_set(err, STATUS_USE, what, store->path, NULL, "run %lld is not correlated", (long long)run_id);
  if (!has_column(series, STORE_DERIVED_KIND))
    walk.column_mask &= ~STORE_BIT(STORE_DERIVED_KIND);
  walk.series = series;
  set_up_walk(&walk);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < series->part_count && status == STATUS_OK; i++) {
    struct store_spans spans;
    struct store_derived derived;
    status = read_part(&walk, &series->parts[i], &spans, &derived, err);
    if (status == STATUS_OK)
      status = visit(context, (size_t)series->parts[i].first_row, &spans, &derived, err);
  }
  arena_done(&walk.arena);
  return status;
}

// ---- derived columns -------------------------------------------------------------------------------------------------
bool store_has_derived(struct store *store, int64_t run_id)
{
  struct series *series;
  bool has_derived;
  if (store_find_series(store, run_id, SERIES_SPAN, &series, &has_derived, NULL) != STATUS_OK)
    return false;
  return series == NULL || has_derived; // a run without spans lacks nothing
}

// Observations are stored wide, and part by part made narrow.
static enum status load_observations(struct store *store, const struct series *series, struct arena *arena,
                                     int32_t **ret_observation, struct error *err)
{
  struct arena temporary = {0};
  int32_t *narrow = arena_alloc_array(arena, series->row_count + 1, sizeof *narrow);
  int64_t *wide = arena_alloc_array(&temporary, STORE_CHUNK_ROWS, sizeof *wide);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < series->part_count && status == STATUS_OK; i++) {
    const struct part *part = &series->parts[i];
    status = reader_part_column(&store->reader, series, part, STORE_OBSERVATION, wide, err);
    for (uint32_t k = 0; k < part->row_count && status == STATUS_OK; k++)
      narrow[part->first_row + k] = (int32_t)wide[k]; // checked on decode
  }
  arena_done(&temporary);
  *ret_observation = narrow;
  return status;
}

enum status store_load_derived_columns(struct store *store, int64_t run_id, uint32_t column_mask, struct arena *arena,
                                       struct store_derived *ret_derived, struct error *err)
{
  *ret_derived = (struct store_derived){0};
  struct series *series;
  bool has_derived;
  XSP_TRY(store_find_series(store, run_id, SERIES_SPAN, &series, &has_derived, err));
  if (series == NULL)
    return STATUS_OK;
  if (!has_derived)
    return error_set(err, STATUS_USE, what, store->path, NULL, "run %lld is not correlated", (long long)run_id);
  struct store_derived derived = {.count = (size_t)series->row_count};
  if (!has_column(series, STORE_DERIVED_KIND))
    column_mask &= ~STORE_BIT(STORE_DERIVED_KIND);
  for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS; column++)
    if ((column_mask & STORE_BIT(column)) != 0 && column != STORE_OBSERVATION)
      XSP_TRY(
          load_column(store, series, column_for(series, column, column_mask), arena, array_of(&derived, column), err));
  if ((column_mask & STORE_BIT(STORE_OBSERVATION)) != 0)
    XSP_TRY(load_observations(store, series, arena, &derived.observation, err));
  *ret_derived = derived;
  return STATUS_OK;
}

enum status store_load_derived(struct store *store, int64_t run_id, struct arena *arena,
                               struct store_derived *ret_derived, struct error *err)
{
  return store_load_derived_columns(store, run_id, STORE_ALL_DERIVED, arena, ret_derived, err);
}
