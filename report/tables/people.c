// SPDX-License-Identifier: Apache-2.0
// What a table leaves out for people: the middle of kernel names, the spread of a single observation, types that repeat
// names, and what is the same in every row. Called before text and Markdown are made; exact outputs do not come here.
#include "report/kernel_names.h"
#include "report/tables/tables.h"

#include <string.h>

#define NOTE "kernel names are shortened: --format csv and json, and xsp sql, have them in full"

static size_t find_column(const struct table *table, const char *key)
{
  size_t at = 0;
  while (at < table->column_count && strcmp(table->columns[at].key, key) != 0)
    at++;
  return at;
}

static bool add_note(struct table *table, struct arena *arena, const char *note)
{
  const char **notes = arena_alloc_array(arena, table->note_count + 1, sizeof *notes);
  if (notes == NULL)
    return false;
  for (size_t i = 0; i < table->note_count; i++)
    notes[i] = table->notes[i];
  notes[table->note_count++] = note;
  table->notes = notes;
  return true;
}

static bool has_note(const struct table *table, const char *part)
{
  for (size_t i = 0; i < table->note_count; i++)
    if (strstr(table->notes[i], part) != NULL)
      return true;
  return false;
}

static bool shorten_names(struct table *table, struct table_cell *rows, struct arena *arena)
{
  size_t column = find_column(table, "kernel_name");
  if (column == table->column_count || table->row_count == 0)
    return true;
  const char **names = arena_alloc_array(arena, table->row_count, sizeof *names);
  const char **briefs = arena_alloc_array(arena, table->row_count, sizeof *briefs);
  if (names == NULL || briefs == NULL)
    return false;
  for (size_t i = 0; i < table->row_count; i++) {
    const struct table_cell *cell = &rows[i * table->column_count + column];
    names[i] = cell->type == CELL_TEXT ? cell->value.text : NULL;
  }
  kernel_names_short(names, table->row_count, arena, briefs);
  bool any_shorter = false;
  for (size_t i = 0; i < table->row_count; i++) {
    if (briefs[i] == NULL)
      continue;
    any_shorter |= strcmp(names[i], briefs[i]) != 0;
    rows[i * table->column_count + column].value.text = briefs[i];
  }
  return !any_shorter || add_note(table, arena, NOTE);
}

static void empty_column(struct table *table, struct table_cell *rows, const char *key)
{
  size_t column = find_column(table, key);
  for (size_t i = 0; i < table->row_count && column < table->column_count; i++)
    rows[i * table->column_count + column] = (struct table_cell){0};
}

// Of one observation there are no extremes: what they would repeat is the latency itself.
static void empty_spread(struct table *table, struct table_cell *rows)
{
  static const char *const keys[] = {"n", "min_ms", "max_ms", "cv_pct"};
  size_t count = find_column(table, "n");
  for (size_t i = 0; i < table->row_count && count < table->column_count; i++) {
    const struct table_cell *n = &rows[i * table->column_count + count];
    if (n->type != CELL_INT || n->value.integer > 1)
      return;
  }
  for (size_t k = 0; k < sizeof keys / sizeof keys[0] && count < table->column_count; k++)
    empty_column(table, rows, keys[k]); // an empty column is not shown
}

// Operators of some frameworks are their own type.
static void empty_repeated_types(struct table *table, struct table_cell *rows)
{
  size_t name = find_column(table, "layer_name");
  size_t type = find_column(table, "layer_type");
  if (name == table->column_count || type == table->column_count)
    return;
  for (size_t i = 0; i < table->row_count; i++) {
    const struct table_cell *row = &rows[i * table->column_count];
    if (row[type].type == CELL_TEXT &&
        (row[name].type != CELL_TEXT || strcmp(row[name].value.text, row[type].value.text) != 0))
      return;
  }
  empty_column(table, rows, "layer_type");
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
static const struct table_cell *common_cell(const struct table *table, const struct table_cell *rows, const char *key)
{
  size_t column = find_column(table, key);
  if (column == table->column_count || table->row_count == 0 || rows[column].type == CELL_NULL)
    return NULL;
  for (size_t i = 1; i < table->row_count; i++)
    if (!are_equal(&rows[column], &rows[i * table->column_count + column]))
      return NULL;
  return &rows[column];
}

static bool is_text(const struct table_cell *cell, const char *text)
{
  return cell != NULL && cell->type == CELL_TEXT && strcmp(cell->value.text, text) == 0;
}

// What a note says already: the runs, the roofs of single precision.
static void empty_what_is_said(struct table *table, struct table_cell *rows)
{
  static const char *const roofs[] = {"peak_flops_per_s", "memory_bandwidth_bytes_per_s", "ideal_arithmetic_intensity"};
  const struct table_cell *precision = common_cell(table, rows, "precision");
  size_t column = find_column(table, "precision");
  bool is_single = is_text(precision, "single");
  bool is_unknown = true; // of all points: the roofs are then those of single
  for (size_t i = 0; i < table->row_count && column < table->column_count; i++)
    is_unknown &= rows[i * table->column_count + column].type == CELL_NULL;
  if (common_cell(table, rows, "latency_from") != NULL && has_note(table, "come from runs at"))
    empty_column(table, rows, "latency_from");
  empty_column(table, rows, "model_latency_from"); // a note says it
  empty_column(table, rows, "layer_latency_from");
  if (!has_note(table, ": single precision "))
    return;
  for (size_t k = 0; k < sizeof roofs / sizeof roofs[0] && (is_single || is_unknown); k++)
    if (common_cell(table, rows, roofs[k]) != NULL)
      empty_column(table, rows, roofs[k]);
  if (is_single)
    empty_column(table, rows, "precision");
  if (is_text(common_cell(table, rows, "analytic_precision"), "single"))
    empty_column(table, rows, "analytic_precision");
}

// What is the same in every row and need not stand in each: said once, in a note.
static bool say_once(struct table *table, struct table_cell *rows, struct arena *arena)
{
  static const char *const keys[] = {"system",
                                     "framework",
                                     "precision",
                                     "analytic_precision",
                                     "peak_flops_per_s",
                                     "memory_bandwidth_bytes_per_s",
                                     "ideal_arithmetic_intensity"};
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  for (size_t k = 0; k < sizeof keys / sizeof keys[0] && table->row_count > 1; k++) {
    const struct table_cell *cell = common_cell(table, rows, keys[k]);
    if (cell == NULL)
      continue;
    size_t column = find_column(table, keys[k]);
    struct column_look look = column_look(table, column);
    buf_format(&text, "%s%s ", text.length > 0 ? ", " : "in every row: ", table->columns[column].label);
    figure_put(&text, cell, &look.style);
    buf_format(&text, "%s%s", look.style.unit[0] != 0 ? " " : "", look.style.unit);
    empty_column(table, rows, keys[k]);
  }
  bool is_good = !text.failed;
  if (text.length > 0 && is_good) {
    const char *note = arena_copy(arena, text.data, text.length);
    is_good = note != NULL && add_note(table, arena, note);
  }
  buf_done(&text);
  return is_good;
}

// What few files have, and is said only where it is there.
static bool is_missing_extra(const struct table_entry *entry)
{
  static const char *const keys[] = {"cold_batch",  "cold_count",     "cold_median_ms",       "cold_min_ms",
                                     "cold_max_ms", "load_median_ms", "cold_start_median_ms", "load_ms"};
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
    if (entry->value.type == CELL_NULL && strcmp(entry->key, keys[k]) == 0)
      return true;
  return false;
}

// A12 tells three of its stages under two names each: scripts may use either, people read one.
static bool drop_entries(struct table *table, struct arena *arena)
{
  static const char *const keys[] = {"dram_read_stage", "dram_write_stage", "dram_stage"};
  struct table_entry *summary = arena_alloc_array(arena, table->summary_count + 1, sizeof *summary);
  size_t kept = 0;
  if (summary == NULL)
    return false;
  for (size_t i = 0; i < table->summary_count; i++) {
    bool is_short = false;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
      is_short |= strcmp(table->summary[i].key, keys[k]) == 0;
    if (!is_short && !is_missing_extra(&table->summary[i]))
      summary[kept++] = table->summary[i];
  }
  table->summary = summary;
  table->summary_count = kept;
  return true;
}

bool table_for_people(const struct table *table, struct arena *arena, struct table *ret_table)
{
  *ret_table = *table;
  if (table->id == NULL) // a grid of SQL: as it was asked for
    return true;
  struct table_cell *rows = arena_alloc_array(arena, table->row_count * table->column_count + 1, sizeof *rows);
  if (rows == NULL)
    return false;
  if (table->row_count > 0)
    memcpy(rows, table->rows, table->row_count * table->column_count * sizeof *rows);
  ret_table->rows = rows;
  empty_spread(ret_table, rows);
  empty_repeated_types(ret_table, rows);
  empty_what_is_said(ret_table, rows);
  return drop_entries(ret_table, arena) && say_once(ret_table, rows, arena) && shorten_names(ret_table, rows, arena);
}
