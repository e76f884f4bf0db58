// SPDX-License-Identifier: Apache-2.0
// Builds a table row by row in an arena: one line declares a column and sets its value.
//
//   static void put_row(struct table_builder *table, const struct item *item)
//   {
//     table_row(table);
//     table_put(table, "layer_name", cell_text(item->name));
//     table_put(table, "latency_ms", cell_real(item->latency_ms));
//   }
//
// A column's label, unit, rank and traits come from its key (answers/table/words.h). The first row declares the columns; every
// further row puts the same ones in the same order. A table that may stay empty declares its columns with a row of an empty
// item, which table_declared takes back.
#ifndef XSP_TABLE_BUILDER_H
#define XSP_TABLE_BUILDER_H

#include "table/table.h"
#include "table/words.h"

#include <stdbool.h>

#define TABLE_COLUMNS_MOST 256
struct table_builder {
  struct arena *arena;
  struct table_column *columns;
  size_t column_count, column_capacity;
  struct table_cell *cells; // row-major
  size_t cell_count, cell_capacity;
  size_t row_count;
  struct table_entry *summary;
  size_t summary_count, summary_capacity;
  const char **notes;
  size_t note_count, note_capacity;
  unsigned noted; // bits of enum table_noted, for whoever adds such a note
};

// As table_put has it for `key`; the label is in `arena`.
struct table_column table_column_of(const char *key, const char *of, struct arena *arena);
void table_start(struct table_builder *table, struct arena *arena);
void table_row(struct table_builder *table); // begins a row
void table_put(struct table_builder *table, const char *key, struct table_cell value);
// The column is left out of the answer if it is null in every row: TABLE_OPTIONAL.
void table_put_optional(struct table_builder *table, const char *key, struct table_cell value);
// A share, in per cent, of what `of` names: "model", "layers".
void table_put_share(struct table_builder *table, const char *key, const char *of, struct table_cell value);
// Where the key means something else in this table than in others.
void table_put_as(struct table_builder *table, const char *key, const char *label, struct table_cell value);
// Where the key is not ours, as a metric's: `column` is copied, its texts are not.
void table_put_column(struct table_builder *table, const struct table_column *column, struct table_cell value);
// Takes back the only row; its columns stay. `rows`: how many will follow, if known (growing would hold twice as many).
void table_declared(struct table_builder *table, size_t rows);
void table_summary(struct table_builder *table, const char *key, struct table_cell value);
// Adds a note unless there is an equal one. Returns its place.
size_t table_note(struct table_builder *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Fills columns, rows, summary and notes of the answer; its other members stay.
void table_answer(const struct table_builder *table, struct table *ret_table);

struct table_cell cell_int(int64_t value);
struct table_cell cell_int_if(bool is_known, int64_t value); // else null
struct table_cell cell_real(double value);                   // NaN and infinities: null
struct table_cell cell_number(double value);                 // as cell_real; whole numbers become integers
struct table_cell cell_text(const char *value);              // NULL or empty: null
struct table_cell cell_bool(bool value);
struct table_cell cell_json(const char *value); // one well-formed value, for programs: not in text and Markdown

#endif
