// SPDX-License-Identifier: Apache-2.0
// A table as Markdown (GitHub's tables), for issues and reports. Figures as in the terminal, nothing cut.
#include "report/display.h"
#include "report/tables/tables.h"

#include <string.h>

// Escapes characters that are markup inside a cell.
static void markdown_text(struct buf *out, const char *text)
{
  struct buf plain SCOPED(buf_done) = {0};
  display_escape(&plain, text, strlen(text));
  for (size_t i = 0; i < plain.length; i++) {
    if (strchr("\\|`*<>[]", plain.data[i]) != NULL)
      buf_text(out, "\\");
    buf_put(out, &plain.data[i], 1);
  }
}

static void put_row(const struct table *table, const struct column_look *looks, const struct table_cell *row,
                    struct buf *out)
{
  struct buf text SCOPED(buf_done) = {0};
  for (size_t column = 0; column < table->column_count; column++) {
    if (!looks[column].is_shown)
      continue;
    buf_clear(&text);
    report_figure_put(&text, &row[column], &looks[column].style);
    buf_text(out, "| ");
    markdown_text(out, text.data != NULL ? text.data : "");
    buf_text(out, " ");
  }
  buf_text(out, "|\n");
}

static void put_grid(const struct table *table, const struct column_look *looks, struct buf *out)
{
  for (size_t column = 0; column < table->column_count; column++)
    if (looks[column].is_shown) {
      buf_text(out, "| ");
      markdown_text(out, table->columns[column].label);
      if (looks[column].style.unit[0] != 0)
        buf_format(out, " (%s)", looks[column].style.unit);
      buf_text(out, " ");
    }
  buf_text(out, "|\n");
  for (size_t column = 0; column < table->column_count; column++)
    if (looks[column].is_shown)
      buf_text(out, looks[column].is_numeric ? "| ---: " : "| --- ");
  buf_text(out, "|\n");
  for (size_t row = 0; row < table->row_count; row++)
    put_row(table, looks, &table->rows[row * table->column_count], out);
}

void report_table_markdown(const struct table *table, struct buf *out)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct column_look *looks = arena_alloc_array(&arena, table->column_count + 1, sizeof *looks);
  for (size_t column = 0; column < table->column_count; column++)
    looks[column] = report_column_look(table, column);
  struct buf text SCOPED(buf_done) = {0};
  report_table_context(table, &text);
  if (table->title != NULL)
    buf_format(out, "### %s %s\n\n", table->id, table->title);
  if (table->title != NULL && text.length > 0) {
    markdown_text(out, text.data);
    buf_text(out, "\n\n");
  }
  if (table->row_count > 0)
    put_grid(table, looks, out);
  else
    buf_text(out, "(no rows)\n");
  buf_text(out, table->summary_count > 0 ? "\n" : "");
  for (size_t i = 0; i < table->summary_count; i++) {
    buf_clear(&text);
    buf_format(&text, "%s: ", table_label(table->summary[i].key, NULL, &arena));
    summary_value(table, i, &text);
    buf_text(out, "- ");
    markdown_text(out, text.data);
    buf_text(out, "\n");
  }
  for (size_t i = 0; i < table->note_count; i++) {
    buf_text(out, i == 0 ? "\n> " : ">\n> ");
    markdown_text(out, table->notes[i]);
    buf_text(out, "\n");
  }
}
