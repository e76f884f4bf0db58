// SPDX-License-Identifier: Apache-2.0
// Sorts tables and reads their cells.
#include "table/table.h"

#include "base/nearest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

double cell_double(const struct table_cell *cell)
{
  return cell->type == CELL_REAL ? cell->value.real : cell->type == CELL_INT ? (double)cell->value.integer : NAN;
}

const struct table_cell *table_cell_at(const struct table *table, size_t row, const char *key)
{
  static const struct table_cell null_cell = {0};
  for (size_t column = 0; column < table->column_count; column++)
    if (strcmp(table->columns[column].key, key) == 0)
      return &table->rows[row * table->column_count + column];
  return &null_cell;
}

const char *table_text_at(const struct table *table, size_t row, const char *key)
{
  const struct table_cell *cell = table_cell_at(table, row, key);
  return cell->type == CELL_TEXT ? cell->value.text : NULL;
}

double table_double_at(const struct table *table, size_t row, const char *key)
{
  return cell_double(table_cell_at(table, row, key));
}

void table_append_note(struct table *table, const char *note, struct arena *arena)
{
  const char **notes = arena_alloc_array(arena, table->note_count + 1, sizeof *notes);
  for (size_t i = 0; i < table->note_count; i++)
    notes[i] = table->notes[i];
  notes[table->note_count++] = note;
  table->notes = notes;
}

struct sort_item {
  const struct table_cell *cells;
  struct table_cell value;
  size_t row;
};

static bool has_text(const struct table_cell *cell)
{
  return cell->type == CELL_TEXT || cell->type == CELL_JSON;
}

static double number_of(const struct table_cell *cell)
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
    bool is_text = has_text(&a->value);
    if (is_text != has_text(&b->value))
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

static bool find_column(const struct table *table, const char *name, size_t *ret_column)
{
  size_t labelled = 0;
  for (size_t i = 0; i < table->column_count; i++) {
    if (strcmp(table->columns[i].key, name) == 0) {
      *ret_column = i;
      return true;
    }
    if (strcasecmp(table->columns[i].label, name) == 0 && labelled++ == 0)
      *ret_column = i;
  }
  return labelled == 1;
}

bool table_sort(struct table *table, const char *name, struct arena *arena)
{
  size_t column = 0;
  if (!find_column(table, name, &column))
    return false;
  struct sort_item *items = arena_alloc_array(arena, table->row_count + 1, sizeof *items);
  struct table_cell *rows = arena_alloc_array(arena, table->row_count * table->column_count + 1, sizeof *rows);
  for (size_t i = 0; i < table->row_count; i++) {
    const struct table_cell *cells = table->rows + i * table->column_count;
    items[i] = (struct sort_item){cells, cells[column], i};
  }
  qsort(items, table->row_count, sizeof *items, compare_items);
  for (size_t i = 0; i < table->row_count; i++)
    memcpy(rows + i * table->column_count, items[i].cells, table->column_count * sizeof *rows);
  table->rows = rows;
  return true;
}

enum status table_sort_by(struct table *table, const char *name, struct arena *arena, struct error *err)
{
  if (table_sort(table, name, arena))
    return STATUS_OK;
  char known[256] = "";
  struct nearest nearest;
  nearest_start(&nearest, name);
  for (size_t i = 0; i < table->column_count; i++) {
    nearest_offer(&nearest, table->columns[i].key);
    size_t length = strlen(known);
    snprintf(known + length, sizeof known - length, "%s%s", i > 0 ? ", " : "", table->columns[i].key);
  }
  char advice[96];
  nearest_advice(&nearest, "--sort ", "--sort with one of these", advice, sizeof advice);
  return error_set(err, STATUS_USE, "cannot sort by this key", name, advice, "%s has %s", table->id, known);
}
