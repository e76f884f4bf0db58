// SPDX-License-Identifier: Apache-2.0
// Folded stacks, as flame graph tools read them: "model;layer;kernel NANOSECONDS", one line a context. A context's
// time is its spans' time without that of spans nested in them on their track (timeline_nest). Executions count in full, launches not
// at all (their time is their execution's). Where a file has several runs, the outermost name is the run's level set
// and batch size: level sets are never pooled.
#include "report/exports/exports.h"
#include "report/exports/timeline.h"

#include <inttypes.h>
#include <stdio.h>

#define CONTEXTS_MOST (UINT32_MAX - 3) // their spans take more memory
#define DEPTH_MOST 513                 // names of a line; longer chains are cut at the top

// By row; changes `parent` to that of contexts. Spans of tracks with a clock of their own are in no lane: their times
// cannot be added to the others'.
static int64_t *own_times(const struct timeline_run *run, uint32_t *parent, struct arena *arena)
{
  int64_t *own_ns = arena_alloc_array(arena, run->spans.count, sizeof *own_ns);
  for (size_t lane = 0; lane < run->lane_count; lane++)
    for (size_t i = run->lanes[lane].first; i < run->lanes[lane].first + run->lanes[lane].count; i++)
      own_ns[run->order[i]] = run->derived.self_ns[run->order[i]];
  timeline_nest(run, parent, own_ns);
  for (uint32_t row = 0; row < run->spans.count; row++) {
    uint8_t kind = run->derived.kind != NULL ? run->derived.kind[row] : run->spans.kind[row];
    if (kind == XSP_KIND_LAUNCH || timeline_is_open(run, row) || own_ns[row] < 0)
      own_ns[row] = 0;
  }
  return own_ns;
}

static void fold(const struct timeline_run *run, struct contexts *contexts)
{
  struct arena arena = {0};
  const uint32_t *by_id = timeline_order_by_id(run, &arena);
  uint32_t *parent = arena_alloc_array(&arena, run->spans.count, sizeof *parent);
  for (size_t i = 0; i < run->spans.count; i++)
    parent[i] = timeline_row_of(run, by_id, run->derived.parent_id[i]);
  const int64_t *own_ns = own_times(run, parent, &arena);
  const struct context_spans spans = {run->spans.count, parent, run->spans.name, NULL, run->spans.start_ns, own_ns};
  contexts_add(contexts, &spans);
  arena_done(&arena);
}

// A name as the format can carry it: ';' separates, a line break ends.
static void put_name(struct timeline_writer *writer, uint32_t name)
{
  struct buf *out = &writer->file.out;
  size_t length = 0, from = out->length;
  const char *text = store_text(writer->timeline.store, name, &length);
  buf_utf8(out, text, length);
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
  struct contexts contexts = {.most = CONTEXTS_MOST};
  fold(&writer->run, &contexts);
  const struct context *all = contexts.all.items;
  for (uint32_t i = 0; i < contexts.all.count; i++) {
    uint32_t chain[DEPTH_MOST], depth = 0;
    if (all[i].self_ns == 0)
      continue;
    for (uint32_t at = i; at != CONTEXT_NONE && depth < DEPTH_MOST; at = all[at].parent)
      chain[depth++] = at;
    put_run_name(writer);
    while (depth > 0) {
      put_name(writer, all[chain[--depth]].name);
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
  struct timeline_writer writer = {0};
  return timeline_write(&writer, &parts, store, path, err);
}

const struct report_export report_export_folded = {
    .name = "folded",
    .extension = "folded",
    .write = write_folded,
};
