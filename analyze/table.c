// SPDX-License-Identifier: Apache-2.0
// Tables that grow in an arena. Called by every analysis; knows nothing of what the figures mean.
#include "analyze/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST 64
static struct cell spare[COLUMNS_MOST]; // written to and never read: rows for which there was no memory

void table_start(struct table *table, struct arena *arena)
{
  *table = (struct table){.arena = arena};
}

void table_columns(struct table *table, const struct analyze_column *columns, size_t count)
{
  table->columns = columns;
  table->column_count = count;
}

// Room for one more element; keeps `*items` where memory is out.
static bool grow(struct table *table, void **items, size_t count, size_t *capacity, size_t size)
{
  if (count < *capacity)
    return true;
  size_t larger = *capacity == 0 ? 16 : *capacity * 2;
  void *memory = arena_alloc_array(table->arena, larger, size);
  if (memory == NULL) {
    table->failed = true;
    return false;
  }
  if (count > 0)
    memcpy(memory, *items, count * size);
  *items = memory;
  *capacity = larger;
  return true;
}

void table_reserve(struct table *table, size_t rows)
{
  if (rows <= table->row_capacity || rows > SIZE_MAX / table->column_count)
    return;
  struct cell *memory = arena_alloc_array(table->arena, rows * table->column_count, sizeof *memory);
  if (memory == NULL)
    return; // growing says so
  if (table->row_count > 0)
    memcpy(memory, table->rows, table->row_count * table->column_count * sizeof *memory);
  table->rows = memory;
  table->row_capacity = rows;
}

struct cell *table_row(struct table *table)
{
  void *rows = table->rows;
  if (!grow(table, &rows, table->row_count, &table->row_capacity, table->column_count * sizeof *table->rows))
    return spare;
  table->rows = rows;
  return table->rows + table->row_count++ * table->column_count;
}

void table_summary(struct table *table, const char *key, struct cell value)
{
  void *summary = table->summary;
  if (!grow(table, &summary, table->summary_count, &table->summary_capacity, sizeof *table->summary))
    return;
  table->summary = summary;
  table->summary[table->summary_count++] = (struct analyze_entry){key, value};
}

void table_note(struct table *table, const char *format, ...)
{
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  for (size_t i = 0; i < table->note_count; i++)
    if (strcmp(table->notes[i], text) == 0)
      return;
  void *notes = (void *)table->notes;
  char *copy = arena_copy(table->arena, text, strlen(text));
  if (copy == NULL || !grow(table, &notes, table->note_count, &table->note_capacity, sizeof *table->notes)) {
    table->failed = true;
    return;
  }
  table->notes = notes;
  table->notes[table->note_count++] = copy;
}

void table_drop_empty(struct table *table, const char *key)
{
  size_t at = 0;
  while (at < table->column_count && strcmp(table->columns[at].key, key) != 0)
    at++;
  if (at == table->column_count)
    return;
  for (size_t row = 0; row < table->row_count; row++)
    if (table->rows[row * table->column_count + at].type != CELL_NULL)
      return;
  struct analyze_column *columns = arena_alloc_array(table->arena, table->column_count, sizeof *columns);
  if (columns == NULL) {
    table->failed = true;
    return;
  }
  size_t kept = 0;
  for (size_t i = 0; i < table->column_count; i++)
    if (i != at)
      columns[kept++] = table->columns[i];
  size_t out = 0;
  for (size_t i = 0; i < table->row_count * table->column_count; i++)
    if (i % table->column_count != at)
      table->rows[out++] = table->rows[i];
  table->columns = columns;
  table->column_count = kept;
  table->row_capacity = table->row_count; // rows are narrower now: no appending in place
}

// ---- sorting ---------------------------------------------------------------------------------------------------------
struct sort_item {
  const struct cell *cells;
  struct cell value;
  size_t row;
};

static double number_of(const struct cell *cell)
{
  switch (cell->type) {
  case CELL_INT:
    return (double)cell->value.integer;
  case CELL_BOOL:
    return cell->value.truth;
  default:
    return cell->value.real;
  }
}

static int compare_items(const void *left, const void *right)
{
  const struct sort_item *a = left;
  const struct sort_item *b = right;
  int order = (a->value.type == CELL_NULL) - (b->value.type == CELL_NULL);
  if (order == 0 && a->value.type != CELL_NULL) {
    bool is_text = a->value.type == CELL_TEXT;
    if (is_text != (b->value.type == CELL_TEXT))
      order = is_text ? 1 : -1;
    else if (is_text)
      order = strcmp(a->value.value.text, b->value.value.text);
    else
      order = (number_of(&a->value) < number_of(&b->value)) - (number_of(&a->value) > number_of(&b->value));
  }
  if (order == 0)
    order = a->row < b->row ? -1 : 1;
  return order;
}

bool table_sort(struct analyze_table *table, const char *key, struct arena *arena)
{
  size_t column = 0;
  while (column < table->column_count && strcmp(table->columns[column].key, key) != 0)
    column++;
  if (column == table->column_count)
    return false;
  struct sort_item *items = arena_alloc_array(arena, table->row_count + 1, sizeof *items);
  struct cell *rows = arena_alloc_array(arena, table->row_count * table->column_count + 1, sizeof *rows);
  if (items == NULL || rows == NULL)
    return true; // out of memory leaves the order as it is
  for (size_t i = 0; i < table->row_count; i++) {
    const struct cell *cells = table->rows + i * table->column_count;
    items[i] = (struct sort_item){cells, cells[column], i};
  }
  qsort(items, table->row_count, sizeof *items, compare_items);
  for (size_t i = 0; i < table->row_count; i++)
    memcpy(rows + i * table->column_count, items[i].cells, table->column_count * sizeof *rows);
  table->rows = rows;
  return true;
}

// ---- cells -----------------------------------------------------------------------------------------------------------
struct cell cell_int(int64_t value)
{
  return (struct cell){CELL_INT, {.integer = value}};
}

struct cell cell_real(double value)
{
  return isfinite(value) ? (struct cell){CELL_REAL, {.real = value}} : (struct cell){0};
}

struct cell cell_number(double value)
{
  if (fabs(value) < 9007199254740992.0 && value == floor(value))
    return cell_int((int64_t)value);
  return cell_real(value);
}

struct cell cell_text(const char *value)
{
  return value != NULL && value[0] != 0 ? (struct cell){CELL_TEXT, {.text = value}} : (struct cell){0};
}

struct cell cell_bool(bool value)
{
  return (struct cell){CELL_BOOL, {.truth = value}};
}

double cell_double(const struct cell *cell)
{
  return cell->type == CELL_REAL ? cell->value.real : cell->type == CELL_INT ? (double)cell->value.integer : NAN;
}

void cell_spread(struct cell *cells, const double *values, size_t count)
{
  double least = NAN;
  double most = NAN;
  for (size_t i = 0; i < count; i++) {
    least = i == 0 || values[i] < least ? values[i] : least;
    most = i == 0 || values[i] > most ? values[i] : most;
  }
  cells[0] = cell_int((int64_t)count);
  cells[1] = cell_real(least);
  cells[2] = cell_real(most);
  cells[3] = cell_real(statistic_cv_pct(values, count));
}

void table_answer(const struct table *table, struct analyze_table *ret_table)
{
  ret_table->columns = table->columns;
  ret_table->column_count = table->column_count;
  ret_table->rows = table->rows;
  ret_table->row_count = table->row_count;
  ret_table->summary = table->summary;
  ret_table->summary_count = table->summary_count;
  ret_table->notes = table->notes;
  ret_table->note_count = table->note_count;
}
