// SPDX-License-Identifier: Apache-2.0
// The four forms of a table. Inside this room only; the front door is report_tables.
#ifndef XSP_REPORT_TABLES_TABLES_H
#define XSP_REPORT_TABLES_TABLES_H

#include "base/json_write.h"
#include "report/report.h"
#include "report/tables/figure.h"
#include "table/words.h"

void report_table_text(const struct table *table, unsigned width, struct buf *out);
void report_findings_text(const struct table *table, unsigned width, struct buf *out); // of the analysis `findings`
void report_table_markdown(const struct table *table, struct buf *out);
void report_table_csv(const struct table *table, bool is_raw, struct buf *out);
void report_table_cell_json(struct json_writer *json, const struct table_cell *cell); // exact; null where not measured
void report_table_put_json(struct json_writer *json, const struct table *table);
// Members of an object: the array `key` of rows, "columns", each entry of the summary, "notes".
void report_table_put_rows_json(struct json_writer *json, const char *key, const struct table *table);
void report_table_put_columns_json(struct json_writer *json, const struct table *table);
void report_table_put_summary_json(struct json_writer *json, const struct table *table);
void report_table_put_notes_json(struct json_writer *json, const struct table *table);
void report_table_json(const struct table *tables, size_t count, bool as_array, struct buf *out);

// The verdict of a comparison in one sentence, with its figures.
void report_comparison_sentence(const struct compare_answer *answer, struct buf *out);

// ---- shared by text and Markdown -------------------------------------------------------------------------------------
// The table as people read it, in `arena`: kernel names in short form, no spread of a single observation.
void report_table_for_people(const struct table *table, struct arena *arena, struct table *ret_table);
struct column_look {
  struct figure_style style;
  bool is_shown;   // false: nothing was measured in any row
  bool is_numeric; // right-aligned
};
// Looks at all cells of column `index`.
struct column_look report_column_look(const struct table *table, size_t index);
// "resnet50, batch 4, M/L, 10 observations, trimmed:0.2"
void report_table_context(const struct table *table, struct buf *out);
// Appends the value of summary entry `index` and its unit.
void summary_value(const struct table *table, size_t index, struct buf *out);
// Appends `text` as CSV (RFC 4180): quoted where needed; invalid UTF-8 becomes U+FFFD. Unless `is_raw`, a text that begins
// with = + - @ gets a ' in front of it, and one with control characters is escaped as in terminals.
void csv_field(struct buf *out, const char *text, size_t length, bool is_raw);

#endif
