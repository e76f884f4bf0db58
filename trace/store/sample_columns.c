// SPDX-License-Identifier: Apache-2.0
// Typed reading of samples, all of them or one part at a time. Called by every stage after the store.
#include "store/handle.h"

#include <string.h>

// NULL: the run has none.
static enum status find_samples(struct store *store, int64_t run_id, const struct reader_series **ret_series,
                                struct error *err)
{
  struct run_chunks *run;
  *ret_series = NULL;
  XSP_TRY(store_find_run(store, run_id, &run, err));
  if (run != NULL && run->series[SERIES_SAMPLE].part_count > 0)
    *ret_series = &run->series[SERIES_SAMPLE];
  return STATUS_OK;
}

enum status store_count_samples(struct store *store, int64_t run_id, size_t *ret_count, struct error *err)
{
  const struct reader_series *series;
  *ret_count = 0;
  XSP_TRY(find_samples(store, run_id, &series, err));
  *ret_count = series == NULL ? 0 : (size_t)series->row_count;
  return STATUS_OK;
}

// Room for `count` rows in all columns.
static void make_room(struct arena *arena, size_t count, void **columns, struct store_samples *ret_samples)
{
  for (unsigned column = 0; column < SAMPLE_COLUMNS; column++) {
    const struct column_kind *kind = &store_series_kinds[SERIES_SAMPLE].columns[column];
    columns[column] = arena_alloc_array(arena, count + 1, chunk_type_size(kind->type));
    memcpy((char *)ret_samples + kind->offset, &columns[column], sizeof columns[column]);
  }
}

enum status store_load_samples(struct store *store, int64_t run_id, struct arena *arena,
                               struct store_samples *ret_samples, struct error *err)
{
  const struct reader_series *series;
  void *columns[SAMPLE_COLUMNS];
  *ret_samples = (struct store_samples){0};
  XSP_TRY(find_samples(store, run_id, &series, err));
  size_t count = series == NULL ? 0 : (size_t)series->row_count;
  if (count > 0)
    XSP_TRY(reader_check_memory(&store->reader, series, SAMPLE_TIME_NS, count, sizeof(struct store_sample), err));
  make_room(arena, count, columns, ret_samples);
  for (unsigned column = 0; column < SAMPLE_COLUMNS && count > 0; column++)
    XSP_TRY(reader_column(&store->reader, series, column, false, columns[column], err));
  ret_samples->count = count;
  return STATUS_OK;
}

enum status store_walk_samples(struct store *store, int64_t run_id, store_visit_samples *visit, void *context,
                               struct error *err)
{
  const struct reader_series *series;
  XSP_TRY(find_samples(store, run_id, &series, err));
  if (series == NULL)
    return STATUS_OK;
  struct arena arena SCOPED(arena_done) = {0};
  struct store_samples samples = {0};
  void *columns[SAMPLE_COLUMNS];
  make_room(&arena, reader_largest_part(series), columns, &samples);
  for (size_t i = 0; i < series->part_count; i++) {
    samples.count = series->parts[i].row_count;
    for (unsigned column = 0; column < SAMPLE_COLUMNS; column++)
      XSP_TRY(reader_part_column(&store->reader, series, &series->parts[i], column, columns[column], err));
    XSP_TRY(visit(context, &samples, err));
  }
  return STATUS_OK;
}
