// SPDX-License-Identifier: Apache-2.0
// Tables that grow in an arena. Called by whoever fills tables, one thread at a time.
#include "table/builder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MOST 64
static struct table_cell spare[COLUMNS_MOST]; // written to and never read: rows for which there was no memory

void table_start(struct table_builder *table, struct arena *arena)
{
  *table = (struct table_builder){.arena = arena};
}

void table_columns(struct table_builder *table, const struct table_column *columns, size_t count)
{
  table->columns = columns;
  table->column_count = count;
}

// Room for one more element; keeps `*items` where memory is out.
static bool grow(struct table_builder *table, void **items, size_t count, size_t *capacity, size_t size)
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

void table_reserve(struct table_builder *table, size_t rows)
{
  if (rows <= table->row_capacity || rows > SIZE_MAX / table->column_count)
    return;
  struct table_cell *memory = arena_alloc_array(table->arena, rows * table->column_count, sizeof *memory);
  if (memory == NULL)
    return; // growing says so
  if (table->row_count > 0)
    memcpy(memory, table->rows, table->row_count * table->column_count * sizeof *memory);
  table->rows = memory;
  table->row_capacity = rows;
}

struct table_cell *table_row(struct table_builder *table)
{
  void *rows = table->rows;
  if (!grow(table, &rows, table->row_count, &table->row_capacity, table->column_count * sizeof *table->rows))
    return spare;
  table->rows = rows;
  return table->rows + table->row_count++ * table->column_count;
}

void table_summary(struct table_builder *table, const char *key, struct table_cell value)
{
  void *summary = table->summary;
  if (!grow(table, &summary, table->summary_count, &table->summary_capacity, sizeof *table->summary))
    return;
  table->summary = summary;
  table->summary[table->summary_count++] = (struct table_entry){key, value};
}

void table_note(struct table_builder *table, const char *format, ...)
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

void table_drop_empty(struct table_builder *table, const char *key)
{
  size_t at = 0;
  while (at < table->column_count && strcmp(table->columns[at].key, key) != 0)
    at++;
  if (at == table->column_count)
    return;
  for (size_t row = 0; row < table->row_count; row++)
    if (table->rows[row * table->column_count + at].type != CELL_NULL)
      return;
  struct table_column *columns = arena_alloc_array(table->arena, table->column_count, sizeof *columns);
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

// ---- cells -----------------------------------------------------------------------------------------------------------
struct table_cell cell_int(int64_t value)
{
  return (struct table_cell){CELL_INT, {.integer = value}};
}

struct table_cell cell_real(double value)
{
  return isfinite(value) ? (struct table_cell){CELL_REAL, {.real = value}} : (struct table_cell){0};
}

struct table_cell cell_number(double value)
{
  if (fabs(value) < 9007199254740992.0 && value == floor(value))
    return cell_int((int64_t)value);
  return cell_real(value);
}

struct table_cell cell_text(const char *value)
{
  return value != NULL && value[0] != 0 ? (struct table_cell){CELL_TEXT, {.text = value}} : (struct table_cell){0};
}

struct table_cell cell_bool(bool value)
{
  return (struct table_cell){CELL_BOOL, {.truth = value}};
}

void table_answer(const struct table_builder *table, struct table *ret_table)
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
