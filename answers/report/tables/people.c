// SPDX-License-Identifier: Apache-2.0
// What a table leaves out for people: the middle of kernel names, the spread of a single observation, types that repeat
// names, and what is the same in every row. Called for text and Markdown; exact outputs do not come here.
#include "base/slice.h"
#include "report/kernel_names.h"
#include "report/tables/tables.h"

#include <string.h>

#define NOTE "kernel names are shortened: --format csv and json, and xsp sql, have them in full"

struct people {
  struct table *table;
  struct table_cell *rows; // the table's
  struct arena *arena;
};

static size_t find_column(const struct table *table, const char *key)
{
  size_t at = 0;
  while (at < table->column_count && strcmp(table->columns[at].key, key) != 0)
    at++;
  return at;
}

static struct table_cell *cell_at(const struct people *people, size_t row, size_t column)
{
  return &people->rows[row * people->table->column_count + column];
}

// An empty column is not shown.
static void empty_column(const struct people *people, size_t column)
{
  for (size_t row = 0; row < people->table->row_count; row++)
    *cell_at(people, row, column) = (struct table_cell){0};
}

static void empty_columns(const struct people *people, unsigned traits)
{
  for (size_t column = 0; column < people->table->column_count; column++)
    if (people->table->columns[column].traits & traits)
      empty_column(people, column);
}

static void shorten_names(const struct people *people)
{
  size_t count = people->table->row_count, column = find_column(people->table, "kernel_name");
  if (column == people->table->column_count)
    return;
  const char **names = arena_alloc_array(people->arena, count, sizeof *names);
  const char **briefs = arena_alloc_array(people->arena, count, sizeof *briefs);
  for (size_t row = 0; row < count; row++)
    if (cell_at(people, row, column)->type == CELL_TEXT)
      names[row] = cell_at(people, row, column)->value.text;
  page_kernel_names_short(names, count, people->arena, briefs);
  bool any_shorter = false;
  for (size_t row = 0; row < count; row++) {
    if (briefs[row] == NULL)
      continue;
    any_shorter |= strcmp(names[row], briefs[row]) != 0;
    cell_at(people, row, column)->value.text = briefs[row];
  }
  if (any_shorter)
    table_append_note(people->table, NOTE, people->arena);
}

// The extremes of a single observation repeat the latency.
static void empty_spread(const struct people *people)
{
  size_t count = find_column(people->table, "n");
  if (count == people->table->column_count)
    return;
  for (size_t row = 0; row < people->table->row_count; row++) {
    const struct table_cell *n = cell_at(people, row, count);
    if (n->type != CELL_INT || n->value.integer > 1)
      return;
  }
  empty_columns(people, TABLE_SPREAD);
}

// Where nothing is absent from any observation, these repeat the latency and the number of observations.
static void empty_presence(const struct people *people)
{
  size_t present = find_column(people->table, "present"), partial = find_column(people->table, "partial");
  bool is_any_partial = false;
  for (size_t row = 0; row < people->table->row_count && partial < people->table->column_count; row++)
    is_any_partial |= cell_at(people, row, partial)->type == CELL_BOOL;
  if (present == people->table->column_count || is_any_partial)
    return;
  empty_columns(people, TABLE_PRESENCE);
}

// Operators of some frameworks are their own type.
static void empty_repeated_types(const struct people *people)
{
  const struct table *table = people->table;
  size_t name = find_column(table, "layer_name"), type = find_column(table, "layer_type");
  if (name == table->column_count || type == table->column_count)
    return;
  for (size_t row = 0; row < table->row_count; row++) {
    const struct table_cell *named = cell_at(people, row, name), *typed = cell_at(people, row, type);
    if (typed->type == CELL_TEXT && (named->type != CELL_TEXT || strcmp(named->value.text, typed->value.text) != 0))
      return;
  }
  empty_column(people, type);
}

// ---- what is the same in every row -----------------------------------------------------------------------------------
static bool are_equal(const struct table_cell *a, const struct table_cell *b)
{
  if (a->type != b->type)
    return false;
  switch (a->type) {
  case CELL_INT:
    return a->value.integer == b->value.integer;
  case CELL_REAL:
    return a->value.real == b->value.real;
  case CELL_TEXT:
    return strcmp(a->value.text, b->value.text) == 0;
  case CELL_BOOL:
    return a->value.truth == b->value.truth;
  default:
    return true;
  }
}

// The cell that all rows have in this column; NULL where they differ or have none.
static const struct table_cell *common_cell(const struct people *people, size_t column)
{
  if (column == people->table->column_count || people->table->row_count == 0 ||
      cell_at(people, 0, column)->type == CELL_NULL)
    return NULL;
  for (size_t row = 1; row < people->table->row_count; row++)
    if (!are_equal(cell_at(people, 0, column), cell_at(people, row, column)))
      return NULL;
  return cell_at(people, 0, column);
}

static bool is_single(const struct people *people, size_t column)
{
  const struct table_cell *cell = common_cell(people, column);
  return cell != NULL && cell->type == CELL_TEXT && strcmp(cell->value.text, "single") == 0;
}

// Where figures come from. The runs of the rows' own latency may differ, and then no note has them.
static void empty_origins(const struct people *people)
{
  const struct table *table = people->table;
  for (size_t column = 0; column < table->column_count; column++) {
    const struct table_column *about = &table->columns[column];
    bool is_of_rows = strcmp(about->key, "latency_from") == 0;
    bool may_differ = is_of_rows || strcmp(about->key, "latency_basis") == 0;
    bool is_noted = common_cell(people, column) != NULL && (!is_of_rows || (table->noted & TABLE_NOTED_SETS));
    if ((about->traits & TABLE_ORIGIN) && (!may_differ || is_noted))
      empty_column(people, column);
  }
}

// Columns that repeat the note about the roofs of single precision.
static void empty_roofs(const struct people *people)
{
  const struct table *table = people->table;
  size_t precision = find_column(table, "precision"), analytic = find_column(table, "analytic_precision");
  bool are_single = is_single(people, precision);
  bool are_unknown = true; // the roofs are then those of single precision
  for (size_t row = 0; row < table->row_count && precision < table->column_count; row++)
    are_unknown &= cell_at(people, row, precision)->type == CELL_NULL;
  if (!(table->noted & TABLE_NOTED_ROOFS))
    return;
  for (size_t column = 0; column < table->column_count && (are_single || are_unknown); column++)
    if ((table->columns[column].traits & TABLE_ROOF) && common_cell(people, column) != NULL)
      empty_column(people, column);
  if (are_single)
    empty_column(people, precision);
  if (is_single(people, analytic))
    empty_column(people, analytic);
}

// Moves what is the same in every row to a note.
static void note_once(const struct people *people)
{
  struct buf text SCOPED(buf_done) = {0};
  for (size_t column = 0; column < people->table->column_count && people->table->row_count > 1; column++) {
    const struct table_cell *cell = common_cell(people, column);
    if (cell == NULL || !(people->table->columns[column].traits & TABLE_ONCE))
      continue;
    struct column_look look = report_column_look(people->table, column);
    buf_format(&text, "%s%s ", text.length > 0 ? ", " : "in every row: ", people->table->columns[column].label);
    report_figure_put(&text, cell, &look.style);
    buf_format(&text, "%s%s", look.style.unit[0] != 0 ? " " : "", look.style.unit);
    empty_column(people, column);
  }
  if (text.length > 0)
    table_append_note(people->table, arena_copy(people->arena, text.data, text.length), people->arena);
}

// Of the summary: what people read under another key, in a note, or have no figure of.
static bool is_dropped(const struct table_entry *entry)
{
  unsigned traits = table_word(entry->key)->traits;
  bool is_null = entry->value.type == CELL_NULL;
  return entry->value.type == CELL_JSON || (traits & (TABLE_TWICE | TABLE_ORIGIN)) ||
         (is_null && (traits & TABLE_IF_MEASURED));
}

static void drop_entries(const struct people *people)
{
  struct table *table = people->table;
  struct table_entry *summary = arena_alloc_array(people->arena, table->summary_count, sizeof *summary);
  size_t kept = 0;
  for (size_t i = 0; i < table->summary_count; i++)
    if (!is_dropped(&table->summary[i]))
      summary[kept++] = table->summary[i];
  table->summary = summary;
  table->summary_count = kept;
}

void report_table_for_people(const struct table *table, struct arena *arena, struct table *ret_table)
{
  *ret_table = *table;
  if (table->id == NULL) // a grid of SQL: as it was asked for
    return;
  size_t count = table->row_count * table->column_count;
  struct people people = {ret_table, arena_alloc_array(arena, count, sizeof *people.rows), arena};
  if (count > 0)
    memcpy(people.rows, table->rows, count * sizeof *people.rows);
  ret_table->rows = people.rows;
  empty_spread(&people);
  empty_presence(&people);
  empty_repeated_types(&people);
  empty_origins(&people);
  empty_roofs(&people);
  drop_entries(&people);
  note_once(&people);
  shorten_names(&people);
}
