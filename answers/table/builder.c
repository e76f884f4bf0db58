// SPDX-License-Identifier: Apache-2.0
// Tables that grow in an arena. Called by whoever fills tables, one thread at a time.
#include "table/builder.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// `items` with room for one more element.
static void *grow(struct arena *arena, void *items, size_t count, size_t *capacity, size_t size)
{
  if (count < *capacity)
    return items;
  *capacity = *capacity == 0 ? 16 : *capacity * 2;
  void *larger = arena_alloc_array(arena, *capacity, size);
  if (count > 0)
    memcpy(larger, items, count * size);
  return larger;
}

void table_start(struct table_builder *table, struct arena *arena)
{
  *table = (struct table_builder){.arena = arena};
}

void table_row(struct table_builder *table)
{
  assert(table->cell_count == table->row_count * table->column_count);
  table->row_count++;
}

struct table_column table_column_of(const char *key, const char *of, struct arena *arena)
{
  const struct table_word *word = table_word(key);
  return (struct table_column){key, table_unit(key), table_label(key, of, arena), of, word->rank, word->traits};
}

static size_t next_column(const struct table_builder *table)
{
  return table->cell_count - (table->row_count - 1) * table->column_count;
}

void table_put_column(struct table_builder *table, const struct table_column *column, struct table_cell value)
{
  size_t at = next_column(table);
  if (table->row_count == 1 && at == table->column_count) {
    assert(table->column_count < TABLE_COLUMNS_MOST);
    table->columns =
        grow(table->arena, table->columns, table->column_count, &table->column_capacity, sizeof *table->columns);
    table->columns[table->column_count++] = *column;
  }
  assert(at < table->column_count && strcmp(table->columns[at].key, column->key) == 0);
  table->cells = grow(table->arena, table->cells, table->cell_count, &table->cell_capacity, sizeof *table->cells);
  table->cells[table->cell_count++] = value;
}

static void put(struct table_builder *table, const char *key, const char *of, const char *label, unsigned traits,
                struct table_cell value)
{
  struct table_column column = {.key = key};
  if (next_column(table) == table->column_count)
    column = table_column_of(key, of, table->arena);
  if (label != NULL)
    column.label = label;
  column.traits |= traits;
  table_put_column(table, &column, value);
}

void table_put(struct table_builder *table, const char *key, struct table_cell value)
{
  put(table, key, NULL, NULL, 0, value);
}

void table_put_optional(struct table_builder *table, const char *key, struct table_cell value)
{
  put(table, key, NULL, NULL, TABLE_OPTIONAL, value);
}

void table_put_share(struct table_builder *table, const char *key, const char *of, struct table_cell value)
{
  put(table, key, of, NULL, 0, value);
}

void table_put_as(struct table_builder *table, const char *key, const char *label, struct table_cell value)
{
  put(table, key, NULL, label, 0, value);
}

void table_declared(struct table_builder *table, size_t rows)
{
  table->row_count = table->cell_count = 0;
  size_t cells = rows * table->column_count;
  if (cells > table->cell_capacity) {
    table->cells = arena_alloc_array(table->arena, cells, sizeof *table->cells);
    table->cell_capacity = cells;
  }
}

void table_summary(struct table_builder *table, const char *key, struct table_cell value)
{
  table->summary =
      grow(table->arena, table->summary, table->summary_count, &table->summary_capacity, sizeof *table->summary);
  table->summary[table->summary_count++] = (struct table_entry){key, value};
}

size_t table_note(struct table_builder *table, const char *format, ...)
{
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  for (size_t i = 0; i < table->note_count; i++)
    if (strcmp(table->notes[i], text) == 0)
      return i;
  table->notes =
      grow(table->arena, (void *)table->notes, table->note_count, &table->note_capacity, sizeof *table->notes);
  table->notes[table->note_count] = arena_copy(table->arena, text, strlen(text));
  return table->note_count++;
}

static bool is_empty(const struct table_builder *table, size_t column)
{
  for (size_t i = column; i < table->cell_count; i += table->column_count)
    if (table->cells[i].type != CELL_NULL)
      return false;
  return true;
}

// Moves cells and columns together over those that are left out.
static void drop_empty(const struct table_builder *table, struct table *answer)
{
  bool dropped[TABLE_COLUMNS_MOST] = {false}, is_any = false;
  for (size_t i = 0; i < table->column_count; i++) {
    dropped[i] = (table->columns[i].traits & TABLE_OPTIONAL) && is_empty(table, i);
    is_any |= dropped[i];
  }
  if (!is_any)
    return;
  size_t kept = 0;
  for (size_t i = 0; i < table->cell_count; i++)
    if (!dropped[i % table->column_count])
      table->cells[kept++] = table->cells[i];
  answer->column_count = 0;
  for (size_t i = 0; i < table->column_count; i++)
    if (!dropped[i])
      table->columns[answer->column_count++] = table->columns[i];
}

void table_answer(const struct table_builder *table, struct table *ret_table)
{
  ret_table->columns = table->columns;
  ret_table->column_count = table->column_count;
  ret_table->rows = table->cells;
  ret_table->row_count = table->row_count;
  ret_table->summary = table->summary;
  ret_table->summary_count = table->summary_count;
  ret_table->notes = table->notes;
  ret_table->note_count = table->note_count;
  ret_table->noted = table->noted;
  drop_empty(table, ret_table);
}

// ---- cells ----------------------------------------------------------------------------------------------------------
struct table_cell cell_int(int64_t value)
{
  return (struct table_cell){CELL_INT, {.integer = value}};
}

struct table_cell cell_int_if(bool is_known, int64_t value)
{
  return is_known ? cell_int(value) : (struct table_cell){0};
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

struct table_cell cell_json(const char *value)
{
  return (struct table_cell){CELL_JSON, {.text = value}};
}
