// SPDX-License-Identifier: Apache-2.0
// Findings as people read them in a terminal: a block for each instead of a row of many columns. Called by tables.c.
#include "report/display.h"
#include "report/tables/tables.h"

#include <math.h>
#include <string.h>

#define INDENT 16 // of a block's lines: "F12  medium     "

static const char *text_of(const struct table *table, size_t row, const char *key)
{
  const char *text = table_text_at(table, row, key);
  return text != NULL ? text : "";
}

static void put_line(const char *label, const char *text, unsigned width, struct buf *out)
{
  if (text == NULL || text[0] == 0)
    return;
  buf_format(out, "%*s%-6s", INDENT, "", label);
  display_wrap(out, text, INDENT + 6, INDENT + 6, width);
}

static void put_gain(const struct table *table, size_t row, unsigned width, struct buf *out)
{
  struct buf line SCOPED(buf_done) = {0};
  double ms = table_double_at(table, row, "saving_ms"), pct = table_double_at(table, row, "saving_pct");
  struct figure_style style = report_figure_style("ms", ms, false);
  if (isnan(ms))
    return;
  buf_text(&line, "at most ");
  report_figure_put(&line, table_cell_at(table, row, "saving_ms"), &style);
  buf_format(&line, " %s", style.unit);
  if (!isnan(pct))
    buf_format(&line, " (%.3g %%)", pct);
  const char *basis = text_of(table, row, "saving_basis");
  buf_format(&line, "%s%s", basis[0] != 0 ? ": " : "", basis);
  put_line("gain", line.data, width, out);
}

static void put_place(const struct table *table, size_t row, unsigned width, struct buf *out)
{
  struct buf line SCOPED(buf_done) = {0};
  double number = table_double_at(table, row, "line");
  buf_text(&line, text_of(table, row, "file"));
  if (!isnan(number))
    buf_format(&line, ":%.0f", number);
  put_line("at", line.data, width, out);
}

static void put_block(const struct table *table, size_t row, unsigned width, struct buf *out)
{
  struct buf rule SCOPED(buf_done) = {0}, head = {0};
  buf_format(&head, "%-4s %-*s", text_of(table, row, "id"), INDENT - 6, text_of(table, row, "severity"));
  display_escape(out, head.data, head.length); // a finding of the user's own has any name
  buf_text(out, " ");
  buf_done(&head);
  display_wrap(out, text_of(table, row, "title"), INDENT, INDENT, width);
  put_place(table, row, width, out);
  put_gain(table, row, width, out);
  put_line("try", text_of(table, row, "advice"), width, out);
  const char *threshold = text_of(table, row, "threshold"), *confidence = text_of(table, row, "confidence");
  buf_format(&rule, "%s%s%s%s", threshold, threshold[0] != 0 && confidence[0] != 0 ? ", " : "",
             confidence[0] != 0 ? "confidence " : "", confidence);
  put_line("rule", rule.data, width, out);
}

void report_findings_text(const struct table *table, unsigned width, struct buf *out)
{
  struct buf context SCOPED(buf_done) = {0};
  report_table_context(table, &context);
  buf_text(out, "findings\n");
  if (context.length > 0)
    display_wrap(out, context.data, 0, 0, width);
  for (size_t row = 0; row < table->row_count; row++) {
    buf_text(out, "\n");
    put_block(table, row, width, out);
  }
  if (table->row_count == 0)
    buf_text(out, "\nno findings at these thresholds\n");
  buf_text(out, table->note_count > 0 ? "\n" : "");
  for (size_t i = 0; i < table->note_count; i++) {
    buf_text(out, "note: ");
    display_wrap(out, table->notes[i], 6, 6, width);
  }
}

// "F2 medium  zero_grad runs 161 kernels …: at most 7.810 ms (4.44 %)"
void report_findings(const struct table *tables, size_t count, const char *path, struct buf *out)
{
  size_t rows = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t row = 0; row < tables[i].row_count; row++) {
      struct buf line SCOPED(buf_done) = {0};
      double pct = table_double_at(&tables[i], row, "saving_pct");
      buf_format(&line, "%-3s %-6s  %s", text_of(&tables[i], row, "id"), text_of(&tables[i], row, "severity"),
                 text_of(&tables[i], row, "title"));
      if (!isnan(pct))
        buf_format(&line, ": at most %.3g %%", pct);
      buf_text(out, rows++ == 0 ? "\nfindings  " : "          ");
      display_escape(out, line.data, line.length);
      buf_text(out, "\n");
    }
  if (rows == 0)
    return;
  buf_text(out, "          more, and what to try: xsp analyze findings ");
  display_escape(out, path, strlen(path));
  buf_text(out, "\n");
}
