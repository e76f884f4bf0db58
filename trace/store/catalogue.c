// SPDX-License-Identifier: Apache-2.0
// Builds the reader's catalogue from table `chunk`. Everything in that table is hostile until checked: sizes of what is
// allocated here follow the number of rows that the table really has, never a number that is written in it.
#include "base/sorted.h"
#include "base/vector.h"
#include "store/key_list.h"
#include "store/problem.h"
#include "store/reader.h"
#include "store/sqlite_api.h"

#include <stdlib.h>
#include <string.h>

static void free_run(struct run_chunks *run)
{
  for (unsigned s = 0; s < SERIES_COUNT; s++) {
    for (unsigned column = 0; column < STORE_COLUMNS; column++)
      key_list_free(run->series[s].lists[column]);
    free(run->series[s].parts);
  }
}

void store_catalogue_free(struct reader *reader)
{
  while (reader->newest != NULL)
    reader_free_block(reader, reader->newest);
  for (size_t i = 0; i < reader->run_count; i++)
    free_run(&reader->runs[i]);
  free(reader->runs);
  reader->runs = NULL;
  reader->run_count = reader->run_capacity = 0;
  reader->stale_run_id = 0;
  reader->is_loaded = false;
}

static void start_run(struct run_chunks *run, int64_t run_id)
{
  *run = (struct run_chunks){.run_id = run_id};
  for (unsigned s = 0; s < SERIES_COUNT; s++)
    run->series[s].name = (enum series_name)s;
}

static struct run_chunks *add_run(struct reader *reader, int64_t run_id)
{
  if (reader->run_count > 0 && reader->runs[reader->run_count - 1].run_id == run_id)
    return &reader->runs[reader->run_count - 1];
  reader->runs = vector_room(reader->runs, reader->run_count, &reader->run_capacity, 1, sizeof *reader->runs);
  struct run_chunks *run = &reader->runs[reader->run_count++];
  start_run(run, run_id);
  return run;
}

// The part of a row of the table: the last one, or a new one after it. STATUS_OK sets *ret_part.
static enum status add_part(struct reader *reader, struct reader_series *series, int64_t number, int64_t row_count,
                            struct reader_part **ret_part, struct error *err)
{
  struct reader_part *last = series->part_count == 0 ? NULL : &series->parts[series->part_count - 1];
  if (row_count < 1 || row_count > STORE_CHUNK_ROWS)
    return problem_broken(err, reader->path, "a chunk claims %lld rows", (long long)row_count);
  if (last != NULL && number == (int64_t)series->part_count - 1) {
    *ret_part = last;
    if (last->row_count != row_count)
      return problem_broken(err, reader->path, "chunks of one part disagree about their rows");
    return STATUS_OK;
  }
  if (number != (int64_t)series->part_count)
    return problem_broken(err, reader->path, "part %zu of a run's %ss is missing", series->part_count,
                          store_series_kinds[series->name].name);
  series->parts = vector_room(series->parts, series->part_count, &series->part_capacity, 1, sizeof *series->parts);
  *ret_part = &series->parts[series->part_count++];
  **ret_part = (struct reader_part){.first_row = series->row_count, .row_count = (uint32_t)row_count};
  series->row_count += (uint64_t)row_count;
  return STATUS_OK;
}

static bool text_equal(sqlite3_stmt *statement, int column, const char *text)
{
  const unsigned char *value = sqlite3_column_text(statement, column);
  return value != NULL && strcmp((const char *)value, text) == 0;
}

enum catalogue_field { AT_CHUNK_ID, AT_RUN_ID, AT_SERIES, AT_PART, AT_COLUMN, AT_ROW_COUNT, AT_MINIMUM, AT_MAXIMUM };

// `run` NULL: the run that the row names.
static enum status add_row(struct reader *reader, struct run_chunks *run, sqlite3_stmt *row, struct error *err)
{
  if (run == NULL)
    run = add_run(reader, sqlite3_column_int64(row, AT_RUN_ID));
  for (unsigned s = 0; s < SERIES_COUNT; s++) {
    const struct series_kind *kind = &store_series_kinds[s];
    struct reader_series *series = &run->series[s];
    bool is_derived = s == SERIES_TAG && text_equal(row, AT_SERIES, SCHEMA_DERIVED_TAGS);
    if (!is_derived && !text_equal(row, AT_SERIES, kind->name))
      continue;
    struct reader_part *part = NULL;
    int64_t number = sqlite3_column_int64(row, AT_PART);
    if (is_derived && __builtin_add_overflow(number, (int64_t)series->recorded_count, &number))
      number = -1;
    XSP_TRY(add_part(reader, series, number, sqlite3_column_int64(row, AT_ROW_COUNT), &part, err));
    series->recorded_count = is_derived ? series->recorded_count : series->part_count;
    for (unsigned column = 0; column < kind->column_count; column++)
      if (text_equal(row, AT_COLUMN, kind->columns[column].name))
        part->slot[column] =
            (struct reader_slot){sqlite3_column_int64(row, AT_CHUNK_ID), sqlite3_column_int64(row, AT_MINIMUM),
                                 sqlite3_column_int64(row, AT_MAXIMUM), NULL};
  }
  return STATUS_OK; // series and columns of later versions are not ours to judge
}

// Column kind is what correlate made of it, where it did: everything that asks for the kind gets that. The stored one
// is then in the other slot.
static void exchange_kinds(struct reader_series *series)
{
  for (size_t i = 0; i < series->part_count; i++) {
    struct reader_slot *slots = series->parts[i].slot;
    struct reader_slot stored = slots[STORE_KIND];
    slots[STORE_KIND] = slots[STORE_DERIVED_KIND];
    slots[STORE_DERIVED_KIND] = stored;
    for (unsigned column = STORE_KIND; column <= STORE_DERIVED_KIND; column += STORE_DERIVED_KIND - STORE_KIND)
      if (slots[column].block != NULL)
        slots[column].block->owner = &slots[column].block;
  }
}

// An optional column is there for all parts of a correlated run or counts as missing.
static bool settle_optional(struct run_chunks *run, unsigned column)
{
  struct reader_series *series = &run->series[SERIES_SPAN];
  bool has_all = run->has_derived;
  for (size_t i = 0; i < series->part_count; i++)
    has_all &= series->parts[i].slot[column].chunk_id != 0;
  for (size_t i = 0; i < series->part_count && !has_all; i++)
    series->parts[i].slot[column] = (struct reader_slot){0};
  return has_all;
}

static enum status check_run(struct reader *reader, struct run_chunks *run, struct error *err)
{
  run->has_derived = run->series[SERIES_SPAN].part_count > 0;
  for (unsigned s = 0; s < SERIES_COUNT; s++) {
    const struct reader_series *series = &run->series[s];
    const struct series_kind *kind = &store_series_kinds[s];
    for (size_t i = 0; i < series->part_count; i++)
      for (unsigned column = 0; column < kind->column_count; column++) {
        if (series->parts[i].slot[column].chunk_id != 0)
          continue;
        if (kind->columns[column].absent_is_zero)
          continue;
        if (column < kind->base_count)
          return problem_broken(err, reader->path, "column %s of table %s is missing in run %lld",
                                kind->columns[column].name, kind->name, (long long)run->run_id);
        run->has_derived &= s == SERIES_SPAN && (STORE_OPTIONAL & STORE_BIT(column)) != 0;
      }
  }
  if (settle_optional(run, STORE_DERIVED_KIND))
    exchange_kinds(&run->series[SERIES_SPAN]);
  settle_optional(run, STORE_FORWARD_ID);
  return STATUS_OK;
}

// Gives every part of the run a block that points into the overlay and stays pinned.
static void apply_overlay(struct reader *reader, const struct overlay *overlay)
{
  struct run_chunks *run = reader_run(reader, overlay->run_id);
  if (run == NULL || run->series[SERIES_SPAN].row_count != overlay->row_count)
    return; // it does not describe rows that were added since
  struct reader_series *series = &run->series[SERIES_SPAN];
  if (series->part_count > 0 &&
      series->parts[0].slot[STORE_DERIVED_KIND].chunk_id != 0) // the file's, which this one replaces
    exchange_kinds(series);
  for (size_t i = 0; i < series->part_count; i++)
    for (unsigned column = STORE_BASE_COLUMNS; column < STORE_COLUMNS; column++) {
      struct reader_slot *slot = &series->parts[i].slot[column];
      if (overlay->columns[column] == NULL) {
        *slot = (struct reader_slot){0};
        continue;
      }
      struct block *block = memory_new(1, sizeof *block);
      size_t width = chunk_type_size(store_series_kinds[SERIES_SPAN].columns[column].type);
      *slot = (struct reader_slot){-1, INT64_MIN, INT64_MAX, block};
      block->values = (const char *)overlay->columns[column] + series->parts[i].first_row * width;
      block->owner = &slot->block;
      block->pins = 1;
      reader_add_block(reader, block);
    }
  run->has_derived = true;
  if (overlay->columns[STORE_DERIVED_KIND] != NULL)
    exchange_kinds(series);
}

#define CHUNKS "SELECT chunk_id, run_id, series, part, \"column\", row_count, minimum, maximum FROM main.chunk"
#define IN_ORDER " ORDER BY run_id, series, part, \"column\""

// Into `run`, which has the id `run_id`; NULL: into all runs that the rows name.
static enum status read_rows(struct reader *reader, struct run_chunks *run, struct error *err)
{
  sqlite3_stmt **kept = run == NULL ? &reader->rows_statement : &reader->run_rows_statement;
  const char *sql = run == NULL ? CHUNKS IN_ORDER : CHUNKS " WHERE run_id = ?1" IN_ORDER;
  if (*kept == NULL && sqlite3_prepare_v2(reader->db, sql, -1, kept, NULL) != SQLITE_OK)
    return problem_sqlite(err, "cannot read trace", reader->path, reader->db);
  sqlite3_stmt *statement = *kept;
  if (run != NULL)
    sqlite3_bind_int64(statement, 1, run->run_id);
  enum status status = STATUS_OK;
  int code = SQLITE_ROW;
  while (status == STATUS_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
    status = add_row(reader, run, statement, err);
  if (status == STATUS_OK && code != SQLITE_DONE)
    status = problem_sqlite(err, "cannot read trace", reader->path, reader->db);
  sqlite3_reset(statement);
  reader_rest(reader);
  return status;
}

// Cached columns of a run, of which none is pinned.
static void forget_blocks(struct reader *reader, struct run_chunks *run)
{
  for (unsigned s = 0; s < SERIES_COUNT; s++)
    for (size_t i = 0; i < run->series[s].part_count; i++)
      for (unsigned column = 0; column < STORE_COLUMNS; column++)
        if (run->series[s].parts[i].slot[column].block != NULL)
          reader_free_block(reader, run->series[s].parts[i].slot[column].block);
}

enum status store_catalogue_load_run(struct reader *reader, int64_t run_id, struct error *err)
{
  struct run_chunks *known = reader_run(reader, run_id);
  struct run_chunks fresh;
  start_run(&fresh, run_id);
  enum status status = read_rows(reader, &fresh, err);
  if (status == STATUS_OK)
    status = check_run(reader, &fresh, err);
  if (status != STATUS_OK || known == NULL) {
    free_run(&fresh);
    store_catalogue_free(reader);
    return status != STATUS_OK ? status : store_catalogue_load(reader, err);
  }
  forget_blocks(reader, known);
  free_run(known);
  *known = fresh;
  return STATUS_OK;
}

enum status store_catalogue_load(struct reader *reader, struct error *err)
{
  enum status status = read_rows(reader, NULL, err);
  for (size_t i = 0; i < reader->run_count && status == STATUS_OK; i++)
    status = check_run(reader, &reader->runs[i], err);
  for (struct overlay *overlay = reader->overlays; overlay != NULL && status == STATUS_OK; overlay = overlay->next)
    apply_overlay(reader, overlay);
  if (status != STATUS_OK)
    store_catalogue_free(reader);
  return status;
}

size_t reader_largest_part(const struct reader_series *series)
{
  size_t largest = 0;
  for (size_t i = 0; i < series->part_count; i++)
    largest = series->parts[i].row_count > largest ? series->parts[i].row_count : largest;
  return largest;
}

struct reader_part *reader_part_of(const struct reader_series *series, uint64_t row)
{
  size_t guess = row / STORE_CHUNK_ROWS; // right in every file that xsp writes: only the last part is not full
  if (guess < series->part_count && series->parts[guess].first_row <= row &&
      row - series->parts[guess].first_row < series->parts[guess].row_count)
    return &series->parts[guess];
  return &series->parts[PARTITION_POINT(i, 0, series->part_count, series->parts[i].first_row <= row) - 1];
}
