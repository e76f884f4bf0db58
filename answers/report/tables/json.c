// SPDX-License-Identifier: Apache-2.0
// Tables as JSON, in the form of docs/analyses.md. Exact numbers; null where not measured. Pure.
#include "report/tables/tables.h"

#include <string.h>

void report_table_cell_json(struct json_writer *json, const struct table_cell *cell)
{
  switch (cell->type) {
  case CELL_NULL:
    json_null(json);
    break;
  case CELL_INT:
    json_int(json, cell->value.integer);
    break;
  case CELL_REAL:
    json_double(json, cell->value.real);
    break;
  case CELL_TEXT:
    json_string(json, cell->value.text);
    break;
  case CELL_BOOL:
    json_bool(json, cell->value.truth);
    break;
  case CELL_JSON:
    json_written(json, cell->value.text);
    break;
  }
}

static void put_summary_columns(struct json_writer *json, const struct table *table)
{
  struct arena arena SCOPED(arena_done) = {0};
  json_member_array(json, "summary_columns");
  for (size_t i = 0; i < table->summary_count; i++) {
    json_object(json);
    json_member_string(json, "key", table->summary[i].key);
    json_member_string(json, "unit", table_unit(table->summary[i].key));
    json_member_string(json, "label", table_label(table->summary[i].key, NULL, &arena));
    json_object_end(json);
  }
  json_array_end(json);
}

static void put_run_set(struct json_writer *json, const struct table *table)
{
  json_member_object(json, "run_set");
  json_member_int_or_null(json, "batch_size", table->batch_size);
  json_member_string(json, "levels", table->levels);
  json_member_ints(json, "run_ids", table->run_ids, table->run_count);
  json_member_int(json, "observations", table->observations);
  json_object_end(json);
}

void report_table_put_columns_json(struct json_writer *json, const struct table *table)
{
  json_member_array(json, "columns");
  for (size_t column = 0; column < table->column_count; column++) {
    json_object(json);
    json_member_string(json, "key", table->columns[column].key);
    json_member_string(json, "unit", table->columns[column].unit);
    json_member_string(json, "label", table->columns[column].label);
    json_member_int(json, "rank", table->columns[column].rank);
    if (table->columns[column].of != NULL)
      json_member_string(json, "of", table->columns[column].of);
    if (table->columns[column].traits & TABLE_DETAILS)
      json_member_bool(json, "detail", true);
    json_object_end(json);
  }
  json_array_end(json);
}

void report_table_put_rows_json(struct json_writer *json, const char *key, const struct table *table)
{
  json_member_array(json, key);
  for (size_t row = 0; row < table->row_count; row++) {
    json_object(json);
    for (size_t column = 0; column < table->column_count; column++) {
      json_key(json, table->columns[column].key);
      report_table_cell_json(json, &table->rows[row * table->column_count + column]);
    }
    json_object_end(json);
  }
  json_array_end(json);
}

void report_table_put_summary_json(struct json_writer *json, const struct table *table)
{
  for (size_t i = 0; i < table->summary_count; i++) {
    json_key(json, table->summary[i].key);
    report_table_cell_json(json, &table->summary[i].value);
  }
}

void report_table_put_notes_json(struct json_writer *json, const struct table *table)
{
  json_member_array(json, "notes");
  for (size_t i = 0; i < table->note_count; i++)
    json_string(json, table->notes[i]);
  json_array_end(json);
}

// What programs ask findings for first, without the columns around it.
static void put_first(struct json_writer *json, const struct table *table)
{
  static const char *const keys[] = {"cause", "covered_pct"};
  report_table_put_rows_json(json, "findings", table);
  for (size_t key = 0; key < sizeof keys / sizeof keys[0]; key++)
    for (size_t i = 0; i < table->summary_count; i++)
      if (strcmp(table->summary[i].key, keys[key]) == 0) {
        json_key(json, keys[key]);
        report_table_cell_json(json, &table->summary[i].value);
      }
}

void report_table_put_json(struct json_writer *json, const struct table *table)
{
  json_object(json);
  json_member_string(json, "analysis", table->id);
  json_member_string(json, "title", table->title);
  json_member_string(json, "experiment", table->experiment);
  put_run_set(json, table);
  json_member_string(json, "statistic", table->statistic);
  report_table_put_columns_json(json, table);
  report_table_put_rows_json(json, "rows", table);
  json_member_object(json, "summary");
  report_table_put_summary_json(json, table);
  json_object_end(json);
  put_summary_columns(json, table);
  report_table_put_notes_json(json, table);
  if (table->id != NULL && strcmp(table->id, "findings") == 0)
    put_first(json, table);
  json_object_end(json);
}

void report_table_json(const struct table *tables, size_t count, bool as_array, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  bool in_array = as_array || count != 1;
  if (in_array)
    json_array(&json);
  for (size_t i = 0; i < count; i++)
    report_table_put_json(&json, &tables[i]);
  if (in_array)
    json_array_end(&json);
  buf_text(out, "\n");
}
