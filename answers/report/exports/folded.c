// SPDX-License-Identifier: Apache-2.0
// Folded stacks, as flame graph tools read them: "model;layer;kernel NANOSECONDS", one line a context (stacks.h). Python frames
// are "function (file:line)". With a metric the weights are its exclusive sums. Where a file has several runs,
// the outermost name is the run's level set and batch size.
#include "report/exports/exports.h"
#include "report/exports/stacks.h"

#include <inttypes.h>

struct folded {
  struct timeline_writer writer;
  struct stacks stacks;
  const char *metric; // NULL: own time
};

static void put_run_name(struct timeline_writer *writer)
{
  if (writer->timeline.run_count < 2)
    return;
  stacks_put_run(writer->run.run, &writer->file.out);
  buf_text(&writer->file.out, ";");
}

static void put_run(struct timeline_writer *writer)
{
  struct folded *folded = (struct folded *)writer;
  struct contexts contexts SCOPED(contexts_done) = {.most = STACKS_CONTEXTS_MOST};
  if (folded->metric != NULL)
    stacks_add_weights(&folded->stacks, &folded->stacks.metric, writer->run.run->run_id, &contexts);
  else
    stacks_add(&folded->stacks, &writer->run, &contexts, NULL);
  const struct context *all = contexts.all.items;
  for (uint32_t i = 0; i < contexts.all.count; i++) {
    if (all[i].self_ns == 0)
      continue;
    put_run_name(writer);
    stacks_put_folded(&folded->stacks, &contexts, i, &writer->file.out);
    buf_format(&writer->file.out, " %" PRId64 "\n", all[i].self_ns);
    export_file_flush(&writer->file);
  }
}

static enum status load_metric(struct folded *folded, struct error *err)
{
  XSP_TRY(stacks_load_metric(&folded->stacks, folded->metric, err));
  if (folded->stacks.metric.rows.count > 0)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "cannot export", folded->metric,
                   "xsp sql FILE \"select distinct metric from context_metric\"", "no call path adds to this metric");
}

static enum status write_folded(struct store *store, const char *path, const struct report_export_options *options,
                                struct error *err)
{
  static const struct timeline_parts parts = {.put_run = put_run, .columns = STACKS_COLUMNS};
  struct folded folded = {.metric = options->metric};
  enum status status = stacks_open(store, &folded.stacks, err);
  if (status == STATUS_OK && options->metric != NULL)
    status = load_metric(&folded, err);
  if (status == STATUS_OK)
    status = timeline_write(&folded.writer, &parts, store, path, options, err);
  stacks_done(&folded.stacks);
  return status;
}

const struct report_export report_export_folded = {
    .name = "folded",
    .summary = "own time by context, one a line, for flame graph tools",
    .extension = "folded",
    .write = write_folded,
    .has_metric = true,
};
