// SPDX-License-Identifier: Apache-2.0
// Rows into columns; see columns.h. Called by read.c.
#include "read/columns.h"

#include <string.h>

static void add_column(struct xsp_read_table *table, const char *name)
{
  struct column *column = vector_add(&table->columns);
  column->name = memory_text(name);
}

static void add_value(struct column *column, uint32_t type, int64_t value)
{
  *vector_add(&column->values) = value;
  *vector_add(&column->types) = (uint8_t)type;
  if (type == XSP_READ_NULL)
    column->null_count++;
  else if (column->type != type)
    column->type = column->type == XSP_READ_NULL ? type : XSP_READ_MIXED;
}

static int64_t bits_of(double real)
{
  int64_t bits;
  memcpy(&bits, &real, sizeof bits);
  return bits;
}

// ---- a query ---------------------------------------------------------------------------------------------------------
static enum status add_columns(void *context, const char *const *names, size_t count, struct error *err)
{
  for (size_t i = 0; i < count; i++)
    add_column(context, names[i]);
  return STATUS_OK;
}

static enum status add_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct xsp_read_table *table = context;
  for (size_t i = 0; i < count; i++) {
    const struct store_cell *cell = &cells[i];
    struct column *column = &table->columns.items[i];
    if (cell->type == STORE_INT)
      add_value(column, XSP_READ_INTEGER, cell->integer);
    else if (cell->type == STORE_DOUBLE)
      add_value(column, XSP_READ_REAL, bits_of(cell->real));
    else if (cell->type == STORE_TEXT || cell->type == STORE_BLOB)
      add_value(column, cell->type == STORE_TEXT ? XSP_READ_TEXT : XSP_READ_BLOB,
                interner_at(&table->texts, cell->text != NULL ? cell->text : "", cell->length));
    else
      add_value(column, XSP_READ_NULL, 0);
  }
  table->row_count++;
  return STATUS_OK;
}

enum status columns_query(struct store *store, const char *sql, struct xsp_read_table *table, struct error *err)
{
  const struct store_query_sink sink = {.context = table, .columns = add_columns, .row = add_row};
  return store_query(store, sql, &sink, err);
}

// ---- a table ---------------------------------------------------------------------------------------------------------
void columns_of_table(const struct table *from, struct xsp_read_table *table)
{
  for (size_t i = 0; i < from->column_count; i++)
    add_column(table, from->columns[i].key);
  for (size_t i = 0; i < from->row_count * from->column_count; i++) {
    const struct table_cell *cell = &from->rows[i];
    struct column *column = &table->columns.items[i % from->column_count];
    if (cell->type == CELL_INT || cell->type == CELL_BOOL)
      add_value(column, XSP_READ_INTEGER, cell->type == CELL_INT ? cell->value.integer : cell->value.truth);
    else if (cell->type == CELL_REAL)
      add_value(column, XSP_READ_REAL, bits_of(cell->value.real));
    else if (cell->type == CELL_TEXT)
      add_value(column, XSP_READ_TEXT, interner_at(&table->texts, cell->value.text, strlen(cell->value.text)));
    else
      add_value(column, XSP_READ_NULL, 0);
  }
  table->row_count = from->row_count;
}

// ---- both ------------------------------------------------------------------------------------------------------------
void columns_finish(struct xsp_read_table *table)
{
  uint32_t count = interner_count(&table->texts);
  *vector_add(&table->offsets) = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct slice text = interner_text(&table->texts, i);
    vector_reserve(&table->bytes, text.length);
    if (text.length > 0)
      memcpy(table->bytes.items + table->bytes.count, text.data, text.length);
    table->bytes.count += text.length;
    *vector_add(&table->offsets) = (int64_t)table->bytes.count;
  }
  interner_done(&table->texts);
}

void columns_done(struct xsp_read_table *table)
{
  for (size_t i = 0; i < table->columns.count; i++) {
    free(table->columns.items[i].name);
    vector_done(&table->columns.items[i].values);
    vector_done(&table->columns.items[i].types);
  }
  vector_done(&table->columns);
  vector_done(&table->offsets);
  vector_done(&table->bytes);
  interner_done(&table->texts);
}
