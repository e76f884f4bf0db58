// SPDX-License-Identifier: Apache-2.0
// Builds a table row by row in an arena.
#ifndef XSP_TABLE_BUILDER_H
#define XSP_TABLE_BUILDER_H

#include "table/table.h"

struct table_builder {
  struct arena *arena;
  const struct table_column *columns;
  size_t column_count;
  struct table_cell *rows;
  size_t row_count, row_capacity;
  struct table_entry *summary;
  size_t summary_count, summary_capacity;
  const char **notes;
  size_t note_count, note_capacity;
  bool failed; // out of memory; sticky
};

#define COLUMN(key, unit, label)                                                                                       \
  {                                                                                                                    \
    key, unit, label                                                                                                   \
  }
void table_start(struct table_builder *table, struct arena *arena);
void table_columns(struct table_builder *table, const struct table_column *columns,
                   size_t count); // before the first row
void table_reserve(struct table_builder *table,
                   size_t rows); // where millions are to come: growing would hold twice as many
// A new row of nulls, to be filled; never NULL (a spare row where memory is out). Valid until the next call.
struct table_cell *table_row(struct table_builder *table);
void table_summary(struct table_builder *table, const char *key, struct table_cell value);
void table_note(struct table_builder *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Takes out a column that is null in every row, such as latency_from where every figure comes from where it should.
void table_drop_empty(struct table_builder *table, const char *key);
// What was built becomes part of the answer: columns, rows, summary, notes. The other members stay.
void table_answer(const struct table_builder *table, struct table *ret_table);

struct table_cell cell_int(int64_t value);
struct table_cell cell_real(double value);      // NaN and infinities: null
struct table_cell cell_number(double value);    // as cell_real; whole numbers become integers
struct table_cell cell_text(const char *value); // NULL or empty: null
struct table_cell cell_bool(bool value);

#endif
