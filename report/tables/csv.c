// SPDX-License-Identifier: Apache-2.0
// A table as CSV (RFC 4180): keys as the header, exact numbers, empty where not measured. Pure.
#include "report/tables/tables.h"

#include <math.h>
#include <string.h>

void csv_field(struct buf *out, const char *text, size_t length)
{
  bool is_quoted = false;
  for (size_t i = 0; i < length; i++)
    is_quoted |= text[i] == '"' || text[i] == ',' || text[i] == '\r' || text[i] == '\n';
  buf_text(out, is_quoted ? "\"" : "");
  for (const char *end = text + length, *at = text, *quote; at < end; at = quote + 1) {
    quote = memchr(at, '"', (size_t)(end - at));
    quote = quote != NULL ? quote : end;
    buf_utf8(out, at, (size_t)(quote - at));
    buf_text(out, quote < end ? "\"\"" : "");
  }
  buf_text(out, is_quoted ? "\"" : "");
}

static void put_cell(struct buf *out, const struct table_cell *cell)
{
  struct json_writer json;
  bool is_empty = cell->type == CELL_NULL || (cell->type == CELL_REAL && !isfinite(cell->value.real));
  json_start(&json, out);
  if (cell->type == CELL_TEXT)
    csv_field(out, cell->value.text, strlen(cell->value.text));
  else if (!is_empty)
    table_cell_json(&json, cell);
}

void table_csv(const struct table *table, struct buf *out)
{
  for (size_t column = 0; column < table->column_count; column++) {
    buf_text(out, column > 0 ? "," : "");
    csv_field(out, table->columns[column].key, strlen(table->columns[column].key));
  }
  buf_text(out, "\r\n");
  for (size_t row = 0; row < table->row_count; row++) {
    for (size_t column = 0; column < table->column_count; column++) {
      buf_text(out, column > 0 ? "," : "");
      put_cell(out, &table->rows[row * table->column_count + column]);
    }
    buf_text(out, "\r\n");
  }
}
