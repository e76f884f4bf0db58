// SPDX-License-Identifier: Apache-2.0
// What a table leaves out for people: the middle of kernel names, the spread of a single observation, types that repeat
// names, and what notes say of every row. Called before text and Markdown are made; exact outputs do not come here.
#include "report/kernel_names.h"
#include "report/tables.h"

#include <string.h>

#define NOTE "kernel names are shortened: --format csv and json, and xsp sql, have them in full"

static size_t find_column(const struct analyze_table *table, const char *key)
{
  size_t at = 0;
  while (at < table->column_count && strcmp(table->columns[at].key, key) != 0)
    at++;
  return at;
}

static bool add_note(struct analyze_table *table, struct arena *arena)
{
  const char **notes = arena_alloc_array(arena, table->note_count + 1, sizeof *notes);
  if (notes == NULL)
    return false;
  for (size_t i = 0; i < table->note_count; i++)
    notes[i] = table->notes[i];
  notes[table->note_count++] = NOTE;
  table->notes = notes;
  return true;
}

static bool shorten_names(struct analyze_table *table, struct cell *rows, struct arena *arena)
{
  size_t column = find_column(table, "kernel_name");
  if (column == table->column_count || table->row_count == 0)
    return true;
  const char **names = arena_alloc_array(arena, table->row_count, sizeof *names);
  const char **briefs = arena_alloc_array(arena, table->row_count, sizeof *briefs);
  if (names == NULL || briefs == NULL)
    return false;
  for (size_t i = 0; i < table->row_count; i++) {
    const struct cell *cell = &rows[i * table->column_count + column];
    names[i] = cell->type == CELL_TEXT ? cell->value.text : NULL;
  }
  if (!kernel_names_short(names, table->row_count, arena, briefs))
    return false;
  bool any_shorter = false;
  for (size_t i = 0; i < table->row_count; i++) {
    if (briefs[i] == NULL)
      continue;
    any_shorter |= strcmp(names[i], briefs[i]) != 0;
    rows[i * table->column_count + column].value.text = briefs[i];
  }
  return !any_shorter || add_note(table, arena);
}

static void empty_column(struct analyze_table *table, struct cell *rows, const char *key)
{
  size_t column = find_column(table, key);
  for (size_t i = 0; i < table->row_count && column < table->column_count; i++)
    rows[i * table->column_count + column] = (struct cell){0};
}

// Of one observation there are no extremes: what they would repeat is the latency itself.
static void empty_spread(struct analyze_table *table, struct cell *rows)
{
  static const char *const keys[] = {"n", "min_ms", "max_ms", "cv_pct"};
  size_t count = find_column(table, "n");
  for (size_t i = 0; i < table->row_count && count < table->column_count; i++) {
    const struct cell *n = &rows[i * table->column_count + count];
    if (n->type != CELL_INT || n->value.integer > 1)
      return;
  }
  for (size_t k = 0; k < sizeof keys / sizeof keys[0] && count < table->column_count; k++)
    empty_column(table, rows, keys[k]); // an empty column is not shown
}

// Operators of some frameworks are their own type.
static void empty_repeated_types(struct analyze_table *table, struct cell *rows)
{
  size_t name = find_column(table, "layer_name");
  size_t type = find_column(table, "layer_type");
  if (name == table->column_count || type == table->column_count)
    return;
  for (size_t i = 0; i < table->row_count; i++) {
    const struct cell *row = &rows[i * table->column_count];
    if (row[type].type == CELL_TEXT &&
        (row[name].type != CELL_TEXT || strcmp(row[name].value.text, row[type].value.text) != 0))
      return;
  }
  empty_column(table, rows, "layer_type");
}

bool table_for_people(const struct analyze_table *table, struct arena *arena, struct analyze_table *ret_table)
{
  *ret_table = *table;
  if (table->id == NULL) // a grid of SQL: as it was asked for
    return true;
  struct cell *rows = arena_alloc_array(arena, table->row_count * table->column_count + 1, sizeof *rows);
  if (rows == NULL)
    return false;
  if (table->row_count > 0)
    memcpy(rows, table->rows, table->row_count * table->column_count * sizeof *rows);
  ret_table->rows = rows;
  empty_spread(ret_table, rows);
  empty_repeated_types(ret_table, rows);
  empty_column(ret_table, rows, "model_latency_from"); // a note says it
  empty_column(ret_table, rows, "layer_latency_from");
  return shorten_names(ret_table, rows, arena);
}
