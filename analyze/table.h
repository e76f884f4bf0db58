// SPDX-License-Identifier: Apache-2.0
// Building an answer row by row. Private to analyze.
#ifndef XSP_ANALYZE_TABLE_H
#define XSP_ANALYZE_TABLE_H

#include "analyze/analyze.h"

struct table {
  struct arena *arena;
  const struct analyze_column *columns;
  size_t column_count;
  struct cell *rows;
  size_t row_count, row_capacity;
  struct analyze_entry *summary;
  size_t summary_count, summary_capacity;
  const char **notes;
  size_t note_count, note_capacity;
  bool failed; // out of memory; sticky
};

#define COLUMN(key, unit, label)                                                                                       \
  {                                                                                                                    \
    key, unit, label                                                                                                   \
  }
// Columns that every latency row ends with.
#define SPREAD_COLUMNS                                                                                                 \
  COLUMN("n", "", "n"), COLUMN("min_ms", "ms", "min"), COLUMN("max_ms", "ms", "max"), COLUMN("cv_pct", "%", "cv")

void table_start(struct table *table, struct arena *arena);
void table_columns(struct table *table, const struct analyze_column *columns, size_t count); // before the first row
void table_reserve(struct table *table, size_t rows); // where millions are to come: growing would hold twice as many
// A new row of nulls, to be filled; never NULL (a spare row where memory is out). Valid until the next call.
struct cell *table_row(struct table *table);
void table_summary(struct table *table, const char *key, struct cell value);
void table_note(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Takes out a column that is null in every row, such as latency_from where every figure comes from where it should.
void table_drop_empty(struct table *table, const char *key);
// Stable; numbers falling, text rising, null last. False: no such key.
bool table_sort(struct analyze_table *table, const char *key, struct arena *arena);

// What was built becomes part of the answer: columns, rows, summary, notes. The other members stay.
void table_answer(const struct table *table, struct analyze_table *ret_table);

struct cell cell_int(int64_t value);
struct cell cell_real(double value);      // NaN and infinities: null
struct cell cell_number(double value);    // as cell_real; whole numbers become integers
struct cell cell_text(const char *value); // NULL or empty: null
struct cell cell_bool(bool value);
double cell_double(const struct cell *cell); // NaN: null, or no number
// n, min, max, cv of values into four cells (SPREAD_COLUMNS).
void cell_spread(struct cell *cells, const double *values, size_t count);

#endif
