// SPDX-License-Identifier: Apache-2.0
// A typed table: columns, rows, a summary, notes. analyze/ and programs/ fill tables (answers/table/builder.h), report/ prints
// them. Nothing in this room knows what the figures mean.
#ifndef XSP_TABLE_TABLE_H
#define XSP_TABLE_TABLE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cell_type { CELL_NULL = 0, CELL_INT, CELL_REAL, CELL_TEXT, CELL_BOOL, CELL_JSON }; // JSON: arrays, objects
struct table_cell {
  enum cell_type type;
  union {
    int64_t integer;
    double real;
    const char *text; // also of CELL_JSON: one well-formed value
    bool truth;
  } value; // text lives in the table's arena
};
struct table_column {
  const char *key;   // part of the contract: "latency_ms"
  const char *unit;  // "ms", "bytes", "%", "1/s", ""
  const char *label; // for people: "latency"
  const char *of;    // what a share is of: "model"; NULL: not said
  int rank;          // of its word (answers/table/words.h), as its traits
  unsigned traits;
};
struct table_entry { // of the summary
  const char *key;
  struct table_cell value;
};
enum table_noted {       // what a note says, so that a column of one value need not
  TABLE_NOTED_SETS = 1,  // the runs that figures come from
  TABLE_NOTED_ROOFS = 2, // the roofs of single precision
};
struct table {
  const char *id, *title;
  // The runs that the figures come from.
  int64_t batch_size; // 0: several or unknown (null)
  const char *levels; // NULL: several
  const int64_t *run_ids;
  size_t run_count;
  int64_t observations;
  const char *statistic;  // "trimmed:0.2"
  const char *experiment; // name; NULL: the only one in the file
  const struct table_column *columns;
  size_t column_count;
  const struct table_cell *rows; // row_count * column_count, row-major
  size_t row_count;
  bool rows_are_unlike; // of several models or machines: for people, small figures next to large ones keep three digits
  const struct table_entry *summary;
  size_t summary_count;
  const char *const *notes;
  size_t note_count;
  unsigned noted;              // bits of enum table_noted
  const char *const *left_out; // files that broke while they were read, "PATH: why"; also noted
  size_t left_out_count;
  // The first experiment that lacks what is asked, so has no table: "NAME is left out: why"; also noted.
  const char *lacking;
};

// The value as a number; NaN: null, or not a number.
double cell_double(const struct table_cell *cell);
// The value of a row in the column `key`, null where there is no such column: its text (NULL: none), and as a number.
const struct table_cell *table_cell_at(const struct table *table, size_t row, const char *key);
const char *table_text_at(const struct table *table, size_t row, const char *key);
double table_double_at(const struct table *table, size_t row, const char *key);
// Appends to the notes; the text is not copied.
void table_append_note(struct table *table, const char *note, struct arena *arena);
// Stable; numbers falling, text rising, null last. `name` is a key, else a label, in any case, that only one column has.
// False: no such column.
bool table_sort(struct table *table, const char *name, struct arena *arena);
// The same; STATUS_USE where there is no such column: the error has those that there are.
enum status table_sort_by(struct table *table, const char *name, struct arena *arena, struct error *err) MUST_CHECK;

#endif
