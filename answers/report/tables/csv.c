// SPDX-License-Identifier: Apache-2.0
// A table as CSV (RFC 4180): keys as the header, exact numbers, empty where not measured. Pure.
//
// Texts come from traces. A spreadsheet takes a cell that begins with = + - @ for a formula, and in many locales a
// semicolon begins one; a terminal obeys control characters. Neither gets them unless the caller asks for raw texts.
// Numbers are not texts: a negative one stays.
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

// Of ASCII, and without a place where a spreadsheet could begin a formula. Most texts are.
static bool is_plain(const char *text, size_t length)
{
  for (size_t i = 0; i < length; i++)
    if (text[i] < 0x20 || text[i] >= 0x7f || text[i] == ';')
      return false;
  return length == 0 || memchr("=+-@", text[0], 4) == NULL;
}

// = + - @, or their full-width forms, which some input methods write and spreadsheets take for the same.
static bool begins_formula(const char *text, size_t length)
{
  uint32_t code_point = 0;
  (void)display_decode(text, length, &code_point);
  return (code_point > 0 && code_point < 0x80 && memchr("=+-@", (int)code_point, 4) != NULL) || code_point == 0xff1d ||
         code_point == 0xff0b || code_point == 0xff0d || code_point == 0xff20;
}

// After a semicolon, a quote may be the first that a spreadsheet sees of a cell.
static bool begins_quoted_formula(const char *text, size_t length)
{
  size_t quotes = 0;
  while (quotes < length && text[quotes] == '"')
    quotes++;
  return begins_formula(text + quotes, length - quotes);
}

void csv_field(struct buf *out, const char *text, size_t length, bool is_raw)
{
  if (is_raw || is_plain(text, length)) {
    put_quoted(out, text, length);
    return;
  }
  struct buf harmless SCOPED(buf_done) = {0};
  buf_text(&harmless, begins_formula(text, length) ? "'" : "");
  for (const char *end = text + length, *at = text, *next; at < end; at = next) {
    const char *semicolon = memchr(at, ';', (size_t)(end - at));
    next = semicolon != NULL ? semicolon + 1 : end;
    display_escape(&harmless, at, (size_t)(next - at));
    buf_text(&harmless, semicolon != NULL && begins_quoted_formula(next, (size_t)(end - next)) ? "'" : "");
  }
  put_quoted(out, harmless.data, harmless.length);
  out->failed |= harmless.failed;
}

static void put_cell(struct buf *out, const struct table_cell *cell, bool is_raw)
{
  struct json_writer json;
  bool is_empty = cell->type == CELL_NULL || (cell->type == CELL_REAL && !isfinite(cell->value.real));
  json_start(&json, out);
  if (cell->type == CELL_TEXT || cell->type == CELL_JSON)
    csv_field(out, cell->value.text, strlen(cell->value.text), is_raw);
  else if (!is_empty)
    report_table_cell_json(&json, cell);
}

void report_table_csv(const struct table *table, bool is_raw, struct buf *out)
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
