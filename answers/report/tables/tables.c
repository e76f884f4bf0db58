// SPDX-License-Identifier: Apache-2.0
// Front door of the tables: chooses the form; helpers that text and Markdown share. Called by programs.
#include "report/tables/tables.h"

#include "report/display.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool report_format_from_name(const char *text, enum report_format *ret_format)
{
  static const char *const names[] = {
      [REPORT_TEXT] = "text", [REPORT_MARKDOWN] = "markdown", [REPORT_CSV] = "csv", [REPORT_JSON] = "json"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i], text) == 0) {
      *ret_format = (enum report_format)i;
      return true;
    }
  return false;
}

void report_tables(const struct table *tables, size_t count, enum report_format format, bool as_array, unsigned width,
                   struct buf *out)
{
  if (format == REPORT_JSON) {
    report_table_json(tables, count, as_array, out);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      buf_text(out, report_format_is_csv(format) ? "\r\n" : "\n");
    if (report_format_is_csv(format)) {
      report_table_csv(&tables[i], format == REPORT_CSV_RAW, out);
      continue;
    }
    if (format == REPORT_TEXT && tables[i].id != NULL && strcmp(tables[i].id, "findings") == 0) {
      report_findings_text(&tables[i], width, out);
      continue;
    }
    struct arena arena SCOPED(arena_done) = {0};
    struct table table;
    report_table_for_people(&tables[i], &arena, &table);
    if (format == REPORT_TEXT)
      report_table_text(&table, width, out);
    else
      report_table_markdown(&table, out);
  }
}

// The larger of `largest` and the cell's absolute value.
static double larger(double largest, const struct table_cell *cell)
{
  double value = fabs(cell_double(cell));
  return isfinite(value) && value > largest ? value : largest;
}

// The largest absolute value of a column, for its unit.
static double column_largest(const struct table *table, size_t index)
{
  double largest = 0;
  for (size_t row = 0; row < table->row_count; row++)
    largest = larger(largest, &table->rows[row * table->column_count + index]);
  return largest;
}

// Columns of one unit are scaled alike, so that they can be compared.
static double unit_largest(const struct table *table, size_t index)
{
  double largest = 0;
  for (size_t column = 0; column < table->column_count; column++)
    if (strcmp(table->columns[column].unit, table->columns[index].unit) == 0)
      largest = fmax(largest, column_largest(table, column));
  return largest;
}

struct column_look report_column_look(const struct table *table, size_t index)
{
  struct column_look look = {.is_numeric = true, .is_shown = table->id == NULL};
  bool only_integers = true;
  for (size_t row = 0; row < table->row_count; row++) {
    const struct table_cell *cell = &table->rows[row * table->column_count + index];
    if (cell->type == CELL_TEXT || cell->type == CELL_BOOL)
      look.is_numeric = false;
    if (cell->type == CELL_REAL)
      only_integers = false;
    if (cell->type == CELL_TEXT || cell->type == CELL_INT || (cell->type == CELL_REAL && isfinite(cell->value.real)) ||
        (cell->type == CELL_BOOL && cell->value.truth))
      look.is_shown = true;
  }
  const char *unit = table->columns[index].unit;
  bool has_unit = unit != NULL && unit[0] != 0;
  look.style =
      report_figure_style(unit, has_unit ? unit_largest(table, index) : column_largest(table, index), only_integers);
  report_figure_style_refine(&look.style, column_largest(table, index));
  if (!look.is_numeric && !has_unit)
    look.style.decimals = FIGURE_AS_IT_IS;
  look.style.keeps_digits = table->rows_are_unlike;
  return look;
}

void report_table_context(const struct table *table, struct buf *out)
{
  size_t start = out->length;
  if (table->experiment != NULL) {
    display_escape(out, table->experiment, strlen(table->experiment));
    buf_text(out, ", ");
  }
  if (table->batch_size != 0)
    buf_format(out, "batch %" PRId64 ", ", table->batch_size);
  if (table->levels != NULL && table->levels[0] != 0)
    buf_format(out, "levels %s, ", table->levels);
  if (table->observations > 0)
    buf_format(out, "%" PRId64 " observation%s, ", table->observations, table->observations == 1 ? "" : "s");
  if (table->statistic != NULL)
    buf_format(out, "statistic %s, ", table->statistic);
  if (out->length >= start + 2 && !out->failed) {
    out->length -= 2;
    out->data[out->length] = 0;
  }
}

// The largest value of those summary entries that share `unit`.
static double summary_largest(const struct table *table, const char *unit)
{
  double largest = 0;
  for (size_t i = 0; i < table->summary_count; i++)
    if (strcmp(table_unit(table->summary[i].key), unit) == 0)
      largest = larger(largest, &table->summary[i].value);
  return largest;
}

void summary_value(const struct table *table, size_t index, struct buf *out)
{
  const struct table_entry *entry = &table->summary[index];
  if (entry->value.type == CELL_TEXT) {
    display_escape(out, entry->value.value.text, strlen(entry->value.value.text));
    return;
  }
  if (entry->value.type == CELL_BOOL) {
    buf_text(out, entry->value.value.truth ? "yes" : "no");
    return;
  }
  double value = fabs(cell_double(&entry->value));
  const char *unit = table_unit(entry->key);
  double largest = unit[0] != 0 ? summary_largest(table, unit) : isfinite(value) ? value : 0;
  struct figure_style style = report_figure_style(unit, largest, entry->value.type == CELL_INT);
  if (isfinite(value))
    report_figure_style_refine(&style, value);
  report_figure_put(out, &entry->value, &style);
  if (isfinite(value) && style.unit[0] != 0)
    buf_format(out, " %s", style.unit);
}
