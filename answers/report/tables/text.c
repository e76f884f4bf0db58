// SPDX-License-Identifier: Apache-2.0
// A table for the terminal: title, context, aligned columns with their units, summary, notes. Fits the width: long
// names are cut in the middle, then the least informative columns are left out, and the last line lists them.
#include "base/slice.h"
#include "report/display.h"
#include "report/tables/tables.h"

#include <string.h>

#define COLUMN_GAP 2u
#define NAME_WIDEST 64u // columns of a name in a terminal, even where there is room
#define NAME_WIDEST_UNLIMITED 200u
#define NAME_LEAST 20u   // names are cut to this before columns are left out
#define KERNEL_LEAST 40u // kernels' names differ anywhere
#define NAME_LAST 8u     // and to this when no further column can be left out

struct layout {
  const struct table *table;
  struct column_look *looks;
  const char **labels, **units; // by column
  const char **cells;           // row-major, escaped text as shown
  size_t *content;              // natural width of each column's cells and headers
  size_t *columns_wide;         // width in force
  size_t width;                 // of the terminal; 0: unlimited
};

static size_t columns_of(const char *text)
{
  return display_columns(text, strlen(text));
}

static void lay_cells(struct layout *layout, struct arena *arena)
{
  const struct table *table = layout->table;
  struct buf raw SCOPED(buf_done) = {0}, escaped SCOPED(buf_done) = {0};
  for (size_t column = 0; column < table->column_count; column++) {
    const struct column_look look = layout->looks[column] = report_column_look(table, column);
    layout->labels[column] = table->columns[column].label;
    layout->units[column] = look.style.unit;
    size_t widest = columns_of(layout->labels[column]), unit = columns_of(layout->units[column]);
    widest = unit > widest ? unit : widest;
    for (size_t row = 0; row < table->row_count; row++) {
      size_t cell = row * table->column_count + column;
      buf_clear(&raw);
      buf_clear(&escaped);
      report_figure_put(&raw, &table->rows[cell], &look.style);
      display_escape(&escaped, raw.data, raw.length);
      layout->cells[cell] = arena_copy(arena, escaped.data, escaped.length);
      size_t columns = columns_of(layout->cells[cell]);
      widest = columns > widest ? columns : widest;
    }
    size_t most = layout->width != 0 ? NAME_WIDEST : NAME_WIDEST_UNLIMITED;
    layout->content[column] = !look.is_numeric && widest > most ? most : widest;
  }
}

static size_t total_width(const struct layout *layout)
{
  size_t total = 0;
  for (size_t column = 0; column < layout->table->column_count; column++)
    if (layout->looks[column].is_shown)
      total += layout->columns_wide[column] + COLUMN_GAP;
  return total > 0 ? total - COLUMN_GAP : 0;
}

static size_t least_width(const struct layout *layout, size_t column, size_t least)
{
  const struct table_column *about = &layout->table->columns[column];
  if (about->traits & TABLE_FIXED_WORDS)
    return layout->content[column];
  return strcmp(about->key, "kernel_name") == 0 && least > NAME_LAST ? KERNEL_LEAST : least;
}

// Narrows the widest name column, one by one, until the table fits or all names are at the `least` width.
static bool fit_names(struct layout *layout, size_t least)
{
  size_t count = layout->table->column_count;
  memcpy(layout->columns_wide, layout->content, count * sizeof *layout->columns_wide);
  if (layout->width == 0)
    return true;
  while (total_width(layout) > layout->width) {
    size_t widest = count;
    for (size_t column = 0; column < count; column++) {
      bool may_shrink = layout->looks[column].is_shown && !layout->looks[column].is_numeric &&
                        layout->columns_wide[column] > least_width(layout, column, least);
      if (may_shrink && (widest == count || layout->columns_wide[column] > layout->columns_wide[widest]))
        widest = column;
    }
    if (widest == count)
      return false;
    layout->columns_wide[widest]--;
  }
  return true;
}

// Leaves out the column of the highest rank; appends its label to `left_out`. False where none is left to leave out.
static bool leave_one_out(struct layout *layout, struct buf *left_out)
{
  const struct table_column *columns = layout->table->columns;
  size_t count = layout->table->column_count, least = count;
  for (size_t column = 0; column < count; column++)
    if (layout->looks[column].is_shown && columns[column].rank > (least < count ? columns[least].rank : 0))
      least = column;
  if (least == count)
    return false;
  layout->looks[least].is_shown = false;
  buf_format(left_out, "%s%s", left_out->length > 0 ? ", " : "", columns[least].label);
  return true;
}

static void put_cell(const struct layout *layout, size_t column, const char *text, struct buf *out)
{
  size_t wide = layout->columns_wide[column];
  struct buf cut SCOPED(buf_done) = {0};
  display_cut(&cut, text, strlen(text), wide);
  size_t columns = display_columns(cut.data, cut.length);
  size_t padding = columns < wide ? wide - columns : 0;
  if (layout->looks[column].is_numeric)
    buf_format(out, "%*s", (int)padding, "");
  buf_put(out, cut.data, cut.length);
  if (!layout->looks[column].is_numeric)
    buf_format(out, "%*s", (int)padding, "");
  buf_format(out, "%*s", (int)COLUMN_GAP, "");
}

static void trim_line(struct buf *out)
{
  while (!out->failed && out->length > 0 && out->data[out->length - 1] == ' ')
    out->data[--out->length] = 0;
  buf_text(out, "\n");
}

static void put_line(const struct layout *layout, const char *const *texts, struct buf *out)
{
  for (size_t column = 0; column < layout->table->column_count; column++)
    if (layout->looks[column].is_shown)
      put_cell(layout, column, texts[column], out);
  trim_line(out);
}

static void put_grid(const struct layout *layout, struct buf *out)
{
  const struct table *table = layout->table;
  bool has_units = false;
  for (size_t column = 0; column < table->column_count; column++)
    has_units |= layout->looks[column].is_shown && layout->units[column][0] != 0;
  put_line(layout, layout->labels, out);
  if (has_units)
    put_line(layout, layout->units, out);
  for (size_t i = total_width(layout); i > 0; i--)
    buf_text(out, "─");
  buf_text(out, "\n");
  for (size_t row = 0; row < table->row_count; row++)
    put_line(layout, layout->cells + row * table->column_count, out);
}

static void put_summary(const struct table *table, struct arena *arena, struct buf *out)
{
  struct buf text SCOPED(buf_done) = {0};
  const char **labels = arena_alloc_array(arena, table->summary_count, sizeof *labels);
  size_t label_wide = 0, value_wide = 0;
  for (size_t i = 0; i < table->summary_count; i++) {
    labels[i] = table_label(table->summary[i].key, NULL, arena);
    label_wide = strlen(labels[i]) > label_wide ? strlen(labels[i]) : label_wide;
    if (table->summary[i].value.type == CELL_TEXT)
      continue;
    buf_clear(&text);
    summary_value(table, i, &text);
    size_t number = strcspn(text.data, " ");
    value_wide = number > value_wide ? number : value_wide;
  }
  buf_text(out, table->summary_count > 0 ? "\n" : "");
  for (size_t i = 0; i < table->summary_count; i++) {
    buf_format(out, "%-*s  ", (int)label_wide, labels[i]);
    buf_clear(&text);
    summary_value(table, i, &text);
    size_t number = text.length > 0 ? strcspn(text.data, " ") : 0;
    if (table->summary[i].value.type != CELL_TEXT && number < value_wide)
      buf_format(out, "%*s", (int)(value_wide - number), "");
    if (text.length > 0)
      buf_put(out, text.data, text.length);
    trim_line(out);
  }
}

static void put_notes(const struct layout *layout, const struct buf *left_out, struct buf *out)
{
  const struct table *table = layout->table;
  buf_text(out, table->note_count > 0 || left_out->length > 0 ? "\n" : "");
  for (size_t i = 0; i < table->note_count; i++) {
    buf_text(out, "note: ");
    display_wrap(out, table->notes[i], 6, 6, layout->width);
  }
  if (left_out->length == 0)
    return;
  struct buf text SCOPED(buf_done) = {0};
  buf_format(&text, "left out for the terminal's width: %s (a wider one, or --format csv, shows all)", left_out->data);
  buf_text(out, "note: ");
  display_wrap(out, text.data, 6, 6, layout->width);
}

static void put_title(const struct layout *layout, struct buf *out)
{
  if (layout->table->title == NULL)
    return;
  struct buf context SCOPED(buf_done) = {0};
  buf_format(out, "%s  %s\n", layout->table->id, layout->table->title);
  report_table_context(layout->table, &context);
  if (context.length > 0)
    display_wrap(out, context.data, 0, 0, layout->width);
  buf_text(out, "\n");
}

void report_table_text(const struct table *table, unsigned width, struct buf *out)
{
  struct arena arena SCOPED(arena_done) = {0};
  size_t columns = table->column_count;
  struct layout layout = {
      .table = table,
      .looks = arena_alloc_array(&arena, columns, sizeof *layout.looks),
      .labels = arena_alloc_array(&arena, columns, sizeof *layout.labels),
      .units = arena_alloc_array(&arena, columns, sizeof *layout.units),
      .cells = arena_alloc_array(&arena, table->row_count * columns, sizeof *layout.cells),
      .content = arena_alloc_array(&arena, columns, sizeof *layout.content),
      .columns_wide = arena_alloc_array(&arena, columns, sizeof *layout.columns_wide),
      .width = width,
  };
  struct buf left_out SCOPED(buf_done) = {0};
  lay_cells(&layout, &arena);
  bool fits = fit_names(&layout, NAME_LEAST);
  while (!fits && leave_one_out(&layout, &left_out))
    fits = fit_names(&layout, NAME_LEAST);
  if (!fits)
    (void)fit_names(&layout, NAME_LAST); // the terminal wraps lines that are still too long
  put_title(&layout, out);
  if (table->row_count > 0)
    put_grid(&layout, out);
  else
    buf_text(out, "(no rows)\n");
  put_summary(table, &arena, out);
  put_notes(&layout, &left_out, out);
}
