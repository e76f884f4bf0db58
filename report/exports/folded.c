// SPDX-License-Identifier: Apache-2.0
// Folded stacks, as flame graph tools read them: "model;layer;kernel NANOSECONDS", one line a context (stacks.h). Python frames
// are "function (file:line)". Where a file has several runs, the outermost name is the run's level set and batch size: level
// sets are never pooled.
#include "report/exports/exports.h"
#include "report/exports/stacks.h"

#include <inttypes.h>
#include <stdio.h>

#define CONTEXTS_MOST (UINT32_MAX - 3) // their spans take more memory
#define DEPTH_MOST 513                 // names of a line; longer chains are cut at the top

struct folded {
  struct timeline_writer writer;
  struct stacks stacks;
};

// A name as the format can carry it: ';' separates, a line break ends.
static void put_name(struct folded *folded, uint32_t name)
{
  struct buf *out = &folded->writer.file.out;
  size_t from = out->length;
  stacks_put_name(&folded->stacks, name, out);
  for (size_t i = from; i < out->length; i++)
    if (out->data[i] == ';' || out->data[i] == '\n' || out->data[i] == '\r')
      out->data[i] = out->data[i] == ';' ? ':' : ' ';
}

static void put_run_name(struct timeline_writer *writer)
{
  const struct store_run *run = writer->run.run;
  char levels[LEVEL_SET_TEXT_SIZE];
  if (writer->timeline.run_count < 2)
    return;
  level_set_format(run->levels, levels);
  buf_text(&writer->file.out, levels);
  if (run->batch_size != 0)
    buf_format(&writer->file.out, " batch %" PRId64, run->batch_size);
  buf_text(&writer->file.out, ";");
}

static void put_run(struct timeline_writer *writer)
{
  struct folded *folded = (struct folded *)writer;
  struct contexts contexts = {.most = CONTEXTS_MOST};
  stacks_add(&folded->stacks, &writer->run, &contexts);
  const struct context *all = contexts.all.items;
  for (uint32_t i = 0; i < contexts.all.count; i++) {
    uint32_t chain[DEPTH_MOST], depth = 0;
    if (all[i].self_ns == 0)
      continue;
    for (uint32_t at = i; at != CONTEXT_NONE && depth < DEPTH_MOST; at = all[at].parent)
      chain[depth++] = at;
    put_run_name(writer);
    while (depth > 0) {
      put_name(folded, all[chain[--depth]].name);
      buf_text(&writer->file.out, depth > 0 ? ";" : "");
    }
    buf_format(&writer->file.out, " %" PRId64 "\n", all[i].self_ns);
    export_file_flush(&writer->file);
  }
  contexts_done(&contexts);
}

static enum status write_folded(struct store *store, const char *path, struct error *err)
{
  static const struct timeline_parts parts = {NULL, put_run, NULL};
  struct folded folded = {0};
  enum status status = stacks_open(store, &folded.stacks, err);
  if (status == STATUS_OK)
    status = timeline_write(&folded.writer, &parts, store, path, err);
  stacks_done(&folded.stacks);
  return status;
}

const struct report_export report_export_folded = {
    .name = "folded",
    .extension = "folded",
    .write = write_folded,
};
