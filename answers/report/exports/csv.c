// SPDX-License-Identifier: Apache-2.0
// Spans as CSV (RFC 4180): the columns of table span, a row per span, in file order. Empty: does not apply.
#include "base/decimal.h"
#include "report/exports/exports.h"
#include "report/exports/file.h"
#include "report/tables/tables.h"

#include <string.h>

struct csv {
  struct export_file file;
  bool is_raw;
};

static enum status put_columns(void *context, const char *const *names, size_t count, struct error *err)
{
  struct csv *csv = context;
  struct export_file *file = &csv->file;
  for (size_t i = 0; i < count; i++) {
    buf_text(&file->out, i > 0 ? "," : "");
    csv_field(&file->out, names[i], strlen(names[i]), csv->is_raw);
  }
  buf_text(&file->out, "\r\n");
  return STATUS_OK;
}

static enum status put_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct csv *csv = context;
  struct export_file *file = &csv->file;
  for (size_t i = 0; i < count; i++) {
    buf_text(&file->out, i > 0 ? "," : "");
    if (cells[i].type == STORE_INT)
      decimal_int(&file->out, cells[i].integer);
    else if (cells[i].type == STORE_DOUBLE)
      buf_format(&file->out, "%.17g", cells[i].real);
    else if (cells[i].type == STORE_TEXT || cells[i].type == STORE_BLOB)
      csv_field(&file->out, cells[i].text, cells[i].length, csv->is_raw);
  }
  buf_text(&file->out, "\r\n");
  export_file_flush(file);
  export_file_spans(file, 1);
  return file->status;
}

static enum status write_csv(struct store *store, const char *path, const struct report_export_options *options,
                             struct error *err)
{
  struct csv csv = {.is_raw = options->is_raw};
  const struct store_query_sink sink = {.context = &csv, .columns = put_columns, .row = put_row};
  enum status status = export_file_open(path, &csv.file, err);
  csv.file.watcher = options->watcher;
  if (status == STATUS_OK)
    status = export_file_count_spans(&csv.file, store, err);
  if (status == STATUS_OK)
    status = store_query(store,
                         "select run_id, span_id, trace_id, parent_id, model_id, layer_id, level, kind, "
                         "category, tracer, track_id, name, start_ns, end_ns, duration_ns, self_ns, "
                         "correlation_id, basis, depth, is_open from span",
                         &sink, err);
  return export_file_close(&csv.file, status);
}

const struct report_export report_export_csv = {
    .name = "csv",
    .summary = "the spans, one a line",
    .extension = "csv",
    .write = write_csv,
    .has_raw = true,
};
