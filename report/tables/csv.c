// SPDX-License-Identifier: Apache-2.0
// A table as CSV (RFC 4180): keys as the header, exact numbers, empty where not measured. Pure.
//
// Texts come from traces. A spreadsheet takes a cell that begins with = + - @ for a formula, a terminal obeys control
// characters: neither reaches them unless the caller asks for raw texts. Numbers are not texts: a negative one stays.
#include "report/tables/tables.h"

#include "report/display.h"

#include <math.h>
#include <string.h>

static void put_quoted(struct buf *out, const char *text, size_t length)
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

// C0, DEL, and C1 as UTF-8.
static bool has_control(const char *text, size_t length)
{
  const unsigned char *bytes = (const unsigned char *)text;
  for (size_t i = 0; i < length; i++)
    if (bytes[i] < 0x20 || bytes[i] == 0x7f || (bytes[i] == 0xc2 && i + 1 < length && bytes[i + 1] < 0xa0))
      return true;
  return false;
}

void csv_field(struct buf *out, const char *text, size_t length, bool is_raw)
{
  bool is_formula = length > 0 && memchr("=+-@", text[0], 4) != NULL;
  if (is_raw || (!is_formula && !has_control(text, length))) {
    put_quoted(out, text, length);
    return;
  }
  struct buf harmless = {0};
  buf_text(&harmless, is_formula ? "'" : "");
  display_escape(&harmless, text, length);
  put_quoted(out, harmless.data, harmless.length);
  out->failed |= harmless.failed;
  buf_done(&harmless);
}

static void put_cell(struct buf *out, const struct table_cell *cell, bool is_raw)
{
  struct json_writer json;
  bool is_empty = cell->type == CELL_NULL || (cell->type == CELL_REAL && !isfinite(cell->value.real));
  json_start(&json, out);
  if (cell->type == CELL_TEXT)
    csv_field(out, cell->value.text, strlen(cell->value.text), is_raw);
  else if (!is_empty)
    table_cell_json(&json, cell);
}

void table_csv(const struct table *table, bool is_raw, struct buf *out)
{
  for (size_t column = 0; column < table->column_count; column++) {
    buf_text(out, column > 0 ? "," : "");
    csv_field(out, table->columns[column].key, strlen(table->columns[column].key), is_raw);
  }
  buf_text(out, "\r\n");
  for (size_t row = 0; row < table->row_count; row++) {
    for (size_t column = 0; column < table->column_count; column++) {
      buf_text(out, column > 0 ? "," : "");
      put_cell(out, &table->rows[row * table->column_count + column], is_raw);
    }
    buf_text(out, "\r\n");
  }
}
