// SPDX-License-Identifier: Apache-2.0
// Spans as CSV (RFC 4180): columns of SQL's table span, a row per span, in file order. An empty field is NULL in SQL.
#include "base/decimal.h"
#include "report/exports/exports.h"
#include "report/exports/file.h"
#include "report/exports/pieces.h"
#include "report/tables/tables.h"

static const char header[] =
    "run_id,span_id,trace_id,parent_id,model_id,layer_id,level,kind,category,tracer,track_id,name,"
    "start_ns,end_ns,duration_ns,self_ns,correlation_id,basis,depth,is_open\r\n";

struct csv {
  struct export_file file;
  struct store *store;
  struct pieces texts; // by string
  bool is_raw;
  int64_t run_id;
};

static void put_id(struct buf *out, int64_t id)
{
  if (id != 0)
    decimal_int(out, id);
  buf_put(out, ",", 1);
}

static void put_number(struct buf *out, bool is_known, int64_t number)
{
  if (is_known)
    decimal_int(out, number);
  buf_put(out, ",", 1);
}

static void put_word(struct buf *out, const char *word)
{
  buf_text(out, word);
  buf_put(out, ",", 1);
}

static void put_text(struct csv *csv, uint32_t string)
{
  struct buf *out = &csv->file.out;
  struct slice bytes;
  if (pieces_find(&csv->texts, map_number(string), &bytes)) {
    buf_put(out, bytes.data, bytes.length);
    return;
  }
  size_t start = out->length, length = 0;
  const char *text = store_text(csv->store, string, &length);
  csv_field(out, text, length, csv->is_raw);
  buf_put(out, ",", 1);
  if (!out->failed)
    pieces_add(&csv->texts, map_number(string), (struct slice){out->data + start, out->length - start});
}

// `derived` has no columns where the run is not correlated.
static void put_span(struct csv *csv, const struct store_spans *spans, const struct store_derived *derived, size_t row)
{
  struct buf *out = &csv->file.out;
  bool is_open = (spans->flags[row] & STORE_SPAN_OPEN) != 0, has_derived = derived->parent_id != NULL;
  int64_t end_ns;
  if (__builtin_add_overflow(spans->start_ns[row], spans->duration_ns[row], &end_ns))
    end_ns = INT64_MAX;
  put_id(out, csv->run_id);
  put_id(out, spans->span_id[row]);
  put_id(out, spans->trace_id[row]);
  put_id(out, has_derived ? derived->parent_id[row] : 0);
  put_id(out, has_derived ? derived->model_id[row] : 0);
  put_id(out, has_derived ? derived->layer_id[row] : 0);
  put_word(out, level_name(spans->level[row]));
  put_word(out, kind_name(spans->kind[row]));
  put_text(csv, spans->category[row]);
  put_text(csv, spans->tracer[row]);
  put_id(out, spans->track_id[row]);
  put_text(csv, spans->name[row]);
  put_number(out, true, spans->start_ns[row]);
  put_number(out, !is_open, end_ns);
  put_number(out, !is_open, spans->duration_ns[row]);
  put_number(out, !is_open && has_derived, has_derived ? derived->self_ns[row] : 0);
  put_id(out, spans->correlation_id[row]);
  put_word(out, has_derived ? basis_name(derived->basis[row]) : "");
  put_number(out, has_derived, has_derived ? derived->depth[row] : 0);
  buf_text(out, is_open ? "1\r\n" : "0\r\n");
  export_file_flush(&csv->file);
}

static enum status put_spans(void *context, size_t first_row, const struct store_spans *spans,
                             const struct store_derived *derived, struct error *err)
{
  struct csv *csv = context;
  for (size_t row = 0; row < spans->count && csv->file.status == STATUS_OK; row++)
    put_span(csv, spans, derived, row);
  export_file_spans(&csv->file, spans->count);
  return csv->file.status;
}

static enum status put_runs(struct csv *csv, struct error *err)
{
  const uint32_t derived = STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_MODEL_ID) | STORE_BIT(STORE_LAYER_ID) |
                           STORE_BIT(STORE_SELF_NS) | STORE_BIT(STORE_BASIS) | STORE_BIT(STORE_DEPTH);
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  size_t count = 0;
  XSP_TRY(export_file_count_spans(&csv->file, csv->store, err));
  XSP_TRY(store_runs(csv->store, &arena, &runs, &count, err));
  buf_text(&csv->file.out, header);
  for (size_t i = 0; i < count; i++) {
    csv->run_id = runs[i].run_id;
    uint32_t columns = STORE_ALL_BASE | (store_has_derived(csv->store, csv->run_id) ? derived : 0);
    XSP_TRY(store_walk_spans(csv->store, csv->run_id, columns, put_spans, csv, err));
  }
  return STATUS_OK;
}

static enum status write_csv(struct store *store, const char *path, const struct report_export_options *options,
                             struct error *err)
{
  struct csv csv = {.store = store, .is_raw = options->is_raw};
  enum status status = export_file_open(path, &csv.file, err);
  csv.file.watcher = options->watcher;
  if (status == STATUS_OK)
    status = put_runs(&csv, err);
  pieces_done(&csv.texts);
  return export_file_close(&csv.file, status);
}

const struct report_export report_export_csv = {
    .name = "csv",
    .summary = "the spans, one a line",
    .extension = "csv",
    .write = write_csv,
    .has_raw = true,
};
