// SPDX-License-Identifier: Apache-2.0
// Tables of models over frameworks or hosts: a cell is the figure of the latest record of its row and column, of latencies with the
// fewest levels. Called by tables.c.
#include "history/tables.h"

#include "base/interner.h"
#include "base/sorted.h"

#include <inttypes.h>
#include <math.h>

#define COLUMNS_MOST 30

static const struct cross {
  const char *rows[4];    // facts that the records of a row have in common
  bool has_batch;         // and the batch size
  const char *column;     // the fact that columns differ in
  const char *figures[7]; // of a column; records without any of them are left out
  bool is_relative;       // to the figure of the first column
} crosses[] = {
    [HISTORY_ACCURACY] = {{"model", "model_version", "data_set"},
                          false,
                          "framework",
                          {"top1_pct", "top5_pct", "map_pct", "mask_map_pct", "miou_pct", "exact_pct"},
                          false},
    [HISTORY_LATENCY] = {{"model", "model_version", "host"}, true, "framework", {"latency_ms"}, false},
    [HISTORY_SYSTEMS] = {{"model", "model_version", "framework"}, true, "host", {"latency_ms"}, true},
};

struct crossing {
  const struct cross *of;
  const struct history *history;
  struct interner rows, columns;
  size_t *row_of, *column_of;          // of each record; SIZE_MAX: it is in none
  const struct history_record **cells; // row-major; NULL: none
  size_t *row_order, *column_order;
  size_t row_count, column_count;
};

// ---- rows and columns ------------------------------------------------------------------------------------------------
static const char *name_of(const struct history_record *record, const char *fact)
{
  const char *name = history_fact(record, fact);
  return name != NULL ? name : "unknown";
}

static void put_row_key(const struct cross *cross, const struct history_record *record, struct buf *key)
{
  buf_clear(key);
  for (size_t i = 0; cross->rows[i] != NULL; i++)
    buf_format(key, "%s\n", name_of(record, cross->rows[i]));
  if (cross->has_batch)
    buf_format(key, "%020" PRId64, record->batch); // sorts as a number
}

ROWS_SORTED_BY(compare_slices, size_t, struct interner,
               strcmp(interner_text(of, (uint32_t)a).data, interner_text(of, (uint32_t)b).data))

static size_t *sorted(struct interner *texts, struct arena *arena)
{
  size_t count = interner_count(texts), *order = arena_alloc_array(arena, count + 1, sizeof *order);
  for (size_t i = 0; i < count; i++)
    order[i] = i;
  qsort_r(order, count, sizeof *order, compare_slices, texts);
  return order;
}

static bool has_figure(const struct cross *cross, const struct history_record *record)
{
  for (size_t i = 0; cross->figures[i] != NULL; i++)
    if (!isnan(history_number(record, cross->figures[i])))
      return true;
  return false;
}

// The later one, but of latencies that with fewer levels.
static const struct history_record *better_of(const struct cross *cross, const struct history_record *cell,
                                              const struct history_record *later)
{
  bool is_of_latencies = cross->has_batch;
  return cell != NULL && is_of_latencies && history_level_count(cell) < history_level_count(later) ? cell : later;
}

static void place_records(struct crossing *crossing, struct arena *arena)
{
  const struct history *history = crossing->history;
  struct buf key = {0};
  crossing->row_of = arena_alloc_array(arena, history->records.count + 1, sizeof *crossing->row_of);
  crossing->column_of = arena_alloc_array(arena, history->records.count + 1, sizeof *crossing->column_of);
  for (size_t i = 0; i < history->records.count; i++) {
    const struct history_record *record = &history->records.items[i];
    const char *column = name_of(record, crossing->of->column);
    crossing->row_of[i] = SIZE_MAX;
    if (!has_figure(crossing->of, record))
      continue;
    put_row_key(crossing->of, record, &key);
    crossing->row_of[i] = interner_at(&crossing->rows, key.data, key.length);
    crossing->column_of[i] = interner_at(&crossing->columns, column, strlen(column));
  }
  buf_done(&key);
  crossing->row_count = interner_count(&crossing->rows);
  crossing->column_count = interner_count(&crossing->columns);
  crossing->row_order = sorted(&crossing->rows, arena);
  crossing->column_order = sorted(&crossing->columns, arena);
  crossing->cells =
      arena_alloc_array(arena, crossing->row_count * crossing->column_count + 1, sizeof(struct history_record *));
  for (size_t i = 0; i < history->records.count; i++) // in order of time
    if (crossing->row_of[i] != SIZE_MAX) {
      const struct history_record **cell =
          &crossing->cells[crossing->row_of[i] * crossing->column_count + crossing->column_of[i]];
      *cell = better_of(crossing->of, *cell, &history->records.items[i]);
    }
}

// The column that others are relative to becomes the first.
static enum status choose_base(struct crossing *crossing, const char *base, struct error *err)
{
  size_t *order = crossing->column_order, at = 0;
  if (base == NULL)
    return STATUS_OK;
  while (at < crossing->column_count && strcmp(interner_text(&crossing->columns, (uint32_t)order[at]).data, base) != 0)
    at++;
  if (at == crossing->column_count)
    return error_set(err, STATUS_USE, "wrong use", "--base", "the host's name, as xsp history prints it",
                     "no evaluation is of the host '%s'", base);
  size_t chosen = order[at];
  memmove(order + 1, order, at * sizeof *order);
  order[0] = chosen;
  return STATUS_OK;
}

// ---- cells -----------------------------------------------------------------------------------------------------------
static void put_cells(const struct crossing *crossing, size_t row, struct table_builder *table)
{
  const struct cross *of = crossing->of;
  const struct history_record *const *cells = &crossing->cells[row * crossing->column_count];
  const struct history_record *base = cells[crossing->column_order[0]];
  for (size_t i = 0; i < crossing->column_count && i < COLUMNS_MOST; i++) {
    const struct history_record *cell = cells[crossing->column_order[i]];
    const char *name = interner_text(&crossing->columns, (uint32_t)crossing->column_order[i]).data;
    name = arena_format(table->arena, "%.200s", name);
    for (size_t k = 0; of->figures[k] != NULL; k++) {
      const char *key = arena_format(table->arena, "%s_%s", name, of->figures[k]);
      const char *label = of->figures[1] == NULL ? name
                                                 : arena_format(table->arena, "%s %s", name,
                                                                table_label(of->figures[k], NULL, table->arena));
      table_put_column(table,
                       &(struct table_column){
                           .key = key, .unit = table_unit(key), .label = label, .traits = k > 0 ? TABLE_OPTIONAL : 0},
                       cell_real(cell != NULL ? history_number(cell, of->figures[k]) : NAN));
    }
    if (of->is_relative && i > 0)
      table_put_as(table, arena_format(table->arena, "%s_relative", name),
                   arena_format(table->arena, "%s, relative", name),
                   cell_real(cell != NULL && base != NULL
                                 ? history_number(cell, of->figures[0]) / history_number(base, of->figures[0])
                                 : NAN));
  }
}

static void note_levels(const struct crossing *crossing, struct table_builder *table)
{
  size_t deep = 0;
  for (size_t i = 0; crossing->of->has_batch && i < crossing->row_count * crossing->column_count; i++)
    deep += crossing->cells[i] != NULL && history_level_count(crossing->cells[i]) > 1;
  if (deep > 0)
    table_note(table, "%zu latencies were measured with more levels than M alone: their overhead is included", deep);
}

static const char *checksum_of(const struct history_record *record)
{
  const struct store_system_value *figure =
      record != NULL ? figures_find(record->figures, record->figure_count, "data_checksum") : NULL;
  return figure != NULL ? figure->text : NULL;
}

// Accuracies of one name of a data set: its pictures may have changed, or only some were evaluated.
static void note_data(const struct crossing *crossing, struct table_builder *table)
{
  size_t unlike = 0;
  for (size_t row = 0; !crossing->of->has_batch && row < crossing->row_count; row++) {
    const char *first = NULL;
    bool is_unlike = false;
    for (size_t i = 0; i < crossing->column_count; i++) {
      const char *checksum = checksum_of(crossing->cells[row * crossing->column_count + i]);
      is_unlike |= first != NULL && checksum != NULL && strcmp(first, checksum) != 0;
      first = first != NULL ? first : checksum;
    }
    unlike += is_unlike;
  }
  if (unlike > 0)
    table_note(table,
               "%zu rows have accuracies over other inputs of the same name: xsp history --json has inputs and "
               "data_checksum of each evaluation",
               unlike);
}

static void put_rows(const struct crossing *crossing, struct table_builder *table)
{
  const struct cross *of = crossing->of;
  for (size_t i = 0; i < crossing->row_count; i++) {
    size_t row = crossing->row_order[i], column = 0;
    while (crossing->cells[row * crossing->column_count + column] == NULL)
      column++;
    const struct history_record *any = crossing->cells[row * crossing->column_count + column];
    table_row(table);
    for (size_t k = 0; of->rows[k] != NULL; k++)
      table_put_optional(table, of->rows[k], cell_text(history_fact(any, of->rows[k])));
    if (of->has_batch)
      table_put(table, "batch", cell_int_if(any->batch > 0, any->batch));
    put_cells(crossing, row, table);
  }
  table_note(table, of->has_batch
                        ? "a figure is that of the latest measurement with the fewest levels in its row and column"
                        : "a figure is that of the latest evaluation in its row and column");
  if (of->is_relative && crossing->column_count > 0)
    table_note(table, "relative to %.100s",
               interner_text(&crossing->columns, (uint32_t)crossing->column_order[0]).data);
  if (crossing->column_count > COLUMNS_MOST)
    table_note(table, "%zu further columns are left out", crossing->column_count - COLUMNS_MOST);
  note_levels(crossing, table);
  note_data(crossing, table);
}

enum status cross_table(const struct history *history, enum history_table_kind kind,
                        const struct history_request *request, struct table_builder *table, struct error *err)
{
  struct crossing crossing = {.of = &crosses[kind], .history = history};
  place_records(&crossing, table->arena);
  enum status status = choose_base(&crossing, crossing.of->is_relative ? request->base : NULL, err);
  if (status == STATUS_OK)
    put_rows(&crossing, table);
  interner_done(&crossing.rows);
  interner_done(&crossing.columns);
  return status;
}
