// SPDX-License-Identifier: Apache-2.0
// Draws the table of systems as an image: a row for each model, framework and batch size, a column for each host, coloured by how much
// faster or slower than the first. Called by plots.c.
#include "history/site/site.h"

#include <math.h>

#define NAME_WIDTH 330.0
#define CELL_WIDTH 110.0
#define CELL_HEIGHT 22.0

int history_heat_of(double relative)
{
  return relative > 0 ? (int)round(fmin(fmax(2 * log2(relative), -3), 3)) : 0;
}

static void put_text(struct buf *out, double x, double y, const char *anchor, const char *text)
{
  buf_format(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">", x, y, anchor);
  html_put_short(out, text, 48);
  buf_text(out, "</text>\n");
}

static bool is_relative(const struct table_column *column)
{
  return text_ends_with(column->key, "_relative");
}

static void put_row(const struct table *table, size_t row, double y, struct arena *arena, struct buf *out)
{
  const char *model = table_text_at(table, row, "model"), *framework = table_text_at(table, row, "framework");
  size_t column = 0;
  put_text(out, 8, y + 15, "start",
           arena_format(arena, "%s, %s, batch %.0f", model != NULL ? model : "unknown",
                        framework != NULL ? framework : "unknown", table_double_at(table, row, "batch")));
  for (size_t i = 0; i < table->column_count; i++) {
    double relative = cell_double(&table->rows[row * table->column_count + i]);
    if (!is_relative(&table->columns[i]))
      continue;
    double x = NAME_WIDTH + CELL_WIDTH * (double)column++;
    if (isnan(relative))
      continue;
    int heat = history_heat_of(relative);
    buf_format(out, "<rect class=\"%s%d\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>",
               heat < 0 ? "faster" : "slower", abs(heat), x, y, CELL_WIDTH - 2, CELL_HEIGHT - 2);
    put_text(out, x + CELL_WIDTH / 2, y + 15, "middle", arena_format(arena, "%.3g", relative));
  }
}

void history_heat_put_svg(const struct table *table, struct arena *arena, struct buf *out)
{
  size_t columns = 0;
  for (size_t i = 0; i < table->column_count; i++)
    columns += is_relative(&table->columns[i]);
  if (columns == 0 || table->row_count == 0)
    return;
  size_t first = out->length;
  history_svg_begin(out, NAME_WIDTH + CELL_WIDTH * (double)columns, CELL_HEIGHT * (double)(table->row_count + 2),
                    "Latencies relative to the first host");
  put_text(out, 8, 15, "start", table->note_count > 1 ? table->notes[1] : "");
  for (size_t i = 0, column = 0; i < table->column_count; i++)
    if (is_relative(&table->columns[i])) {
      const char *label = table->columns[i].label;
      put_text(out, NAME_WIDTH + CELL_WIDTH * ((double)column++ + 0.5), 15, "middle",
               arena_format(arena, "%.*s", (int)(strlen(label) - strlen(", relative")), label));
    }
  for (size_t row = 0; row < table->row_count; row++)
    put_row(table, row, CELL_HEIGHT * (double)(row + 1), arena, out);
  history_svg_end(out, first);
}
