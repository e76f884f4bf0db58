// SPDX-License-Identifier: Apache-2.0
// A table as CSV (RFC 4180): contract keys as the header, exact numbers, empty where not measured. Pure.
#include "report/display.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void csv_field(struct buf *out, const char *text, size_t length)
{
  bool quoted = false;
  for (size_t i = 0; i < length; i++)
    quoted |= text[i] == '"' || text[i] == ',' || text[i] == '\r' || text[i] == '\n';
  if (quoted)
    buf_text(out, "\"");
  for (size_t i = 0; i < length;) {
    uint32_t code_point = 0;
    size_t size = display_decode(text + i, length - i, &code_point);
    if (size == 0)
      buf_text(out, "\xef\xbf\xbd");
    else if (code_point == '"')
      buf_text(out, "\"\"");
    else
      buf_put(out, text + i, size);
    i += size == 0 ? 1 : size;
  }
  if (quoted)
    buf_text(out, "\"");
}

static void put_double(struct buf *out, double value)
{
  if (!isfinite(value))
    return;
  char text[40];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value)
      break;
  }
  buf_text(out, text);
}

static void put_cell(struct buf *out, const struct table_cell *cell)
{
  switch (cell->type) {
  case CELL_NULL:
    break;
  case CELL_INT:
    buf_format(out, "%" PRId64, cell->value.integer);
    break;
  case CELL_REAL:
    put_double(out, cell->value.real);
    break;
  case CELL_TEXT:
    csv_field(out, cell->value.text, strlen(cell->value.text));
    break;
  case CELL_BOOL:
    buf_text(out, cell->value.truth ? "true" : "false");
    break;
  }
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
