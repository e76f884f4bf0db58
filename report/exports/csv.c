// SPDX-License-Identifier: Apache-2.0
// Spans as CSV (RFC 4180): the columns of table span, one row a span, in file order. Empty: does not apply.
#include "report/exports/exports.h"
#include "report/exports/file.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES ((size_t)1 << 18)

struct csv {
  struct export_file file;
  struct buf out;
};

static enum status put_columns(void *context, const char *const *names, size_t count, struct error *err)
{
  struct csv *csv = context;
  for (size_t i = 0; i < count; i++) {
    buf_text(&csv->out, i > 0 ? "," : "");
    csv_field(&csv->out, names[i], strlen(names[i]));
  }
  buf_text(&csv->out, "\r\n");
  return STATUS_OK;
}

static enum status put_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct csv *csv = context;
  for (size_t i = 0; i < count; i++) {
    buf_text(&csv->out, i > 0 ? "," : "");
    if (cells[i].type == STORE_INT)
      buf_format(&csv->out, "%" PRId64, cells[i].integer);
    else if (cells[i].type == STORE_DOUBLE)
      buf_format(&csv->out, "%.17g", cells[i].real);
    else if (cells[i].type == STORE_TEXT || cells[i].type == STORE_BLOB)
      csv_field(&csv->out, cells[i].text, cells[i].length);
  }
  buf_text(&csv->out, "\r\n");
  return csv->out.length < FLUSH_BYTES ? STATUS_OK : export_file_flush_buf(&csv->file, &csv->out, err);
}

static enum status write_csv(struct store *store, const char *path, struct error *err)
{
  struct csv csv;
  XSP_TRY(export_file_open(path, &csv.file, err));
  buf_init(&csv.out, BUF_MAXIMUM_DEFAULT);
  const struct store_query_sink sink = {&csv, put_columns, put_row};
  enum status status = store_query(store,
                                   "select run_id, span_id, trace_id, parent_id, model_id, layer_id, level, kind, "
                                   "category, tracer, track_id, name, start_ns, end_ns, duration_ns, self_ns, "
                                   "correlation_id, basis, depth, is_open from span",
                                   &sink, err);
  if (status == STATUS_OK)
    status = export_file_flush_buf(&csv.file, &csv.out, err);
  if (status == STATUS_OK)
    status = export_file_close(&csv.file, err);
  export_file_abandon(&csv.file);
  buf_done(&csv.out);
  return status;
}

const struct report_export report_export_csv = {
    .name = "csv",
    .summary = "spans as comma-separated values (RFC 4180), the columns of table span",
    .extension = "csv",
    .write = write_csv,
};
