// SPDX-License-Identifier: Apache-2.0
// The exports otlp and otlp-proto: requests one after the other in a file. Called through report_exports.
#include "report/exports/exports.h"
#include "report/exports/file.h"

static enum status put_into_file(void *context, struct buf *request, size_t span_count, struct error *err)
{
  struct export_file *file = context;
  export_file_put(file, request);
  export_file_spans(file, span_count);
  return file->status;
}

static enum status write_file(struct store *store, const char *path, bool is_json,
                              const struct report_export_options *options, struct error *err)
{
  struct export_file file;
  const struct report_otlp_sink sink = {put_into_file, &file};
  enum status status = export_file_open(path, &file, err);
  file.watcher = options->watcher;
  if (status == STATUS_OK)
    status = export_file_count_spans(&file, store, err);
  if (status == STATUS_OK)
    status = report_otlp_requests(store, is_json, &sink, err);
  return export_file_close(&file, status);
}

static enum status write_json(struct store *store, const char *path, const struct report_export_options *options,
                              struct error *err)
{
  return write_file(store, path, true, options, err);
}

static enum status write_proto(struct store *store, const char *path, const struct report_export_options *options,
                               struct error *err)
{
  return write_file(store, path, false, options, err);
}

const struct report_export report_export_otlp = {
    .name = "otlp",
    .summary = "OpenTelemetry's traces as JSON, one request a line; `xsp import` reads it back",
    .extension = "jsonl",
    .write = write_json,
};
const struct report_export report_export_otlp_proto = {
    .name = "otlp-proto",
    .summary = "the same as protobuf, in less than half the bytes",
    .extension = "pb",
    .write = write_proto,
};
