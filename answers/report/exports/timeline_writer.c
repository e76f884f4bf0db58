// SPDX-License-Identifier: Apache-2.0
// Writes a timeline with an export's functions. Memory is bounded by the largest run. Called by the exports.
#include "report/exports/timeline.h"

#define READ_BACK                                                                                                      \
  (STORE_BIT(STORE_TRACER) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_CORRELATION_ID) | STORE_BIT(STORE_DEPTH))

static enum status put_all(struct timeline_writer *writer, const struct timeline_parts *parts, struct error *err)
{
  if (parts->begin != NULL)
    parts->begin(writer);
  int64_t number = 0;
  const uint32_t columns = parts->columns | (parts->is_read_back ? READ_BACK : 0);
  for (size_t i = 0; i < writer->timeline.run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    XSP_TRY(timeline_load(&writer->timeline, i, columns, &arena, &writer->run, err));
    writer->run.number = number;
    number += (int64_t)writer->run.spans.count;
    if (parts->is_read_back)
      XSP_TRY(timeline_find_links(&writer->run, parts->are_all_threads, &arena, err));
    if (parts->has_tags || parts->is_read_back)
      XSP_TRY(timeline_load_tags(&writer->timeline, &arena, &writer->run, err));
    parts->put_run(writer);
    XSP_TRY(writer->file.status);
  }
  if (parts->end != NULL)
    parts->end(writer);
  return STATUS_OK;
}

enum status timeline_write(struct timeline_writer *writer, const struct timeline_parts *parts, struct store *store,
                           const char *path, const struct report_export_options *options, struct error *err)
{
  enum status status = timeline_open(store, &writer->timeline, err);
  if (status == STATUS_OK) {
    status = export_file_open(path, &writer->file, err);
    writer->file.watcher = options->watcher;
    for (size_t i = 0; i < writer->timeline.run_count; i++)
      writer->file.all_spans += writer->timeline.run_facts[i].span_count;
    if (status == STATUS_OK)
      status = put_all(writer, parts, err);
    status = export_file_close(&writer->file, status);
  }
  timeline_done(&writer->timeline);
  return status;
}
