// SPDX-License-Identifier: Apache-2.0
// Call paths of a file that is imported: numbered while it is read, written when its spans are with the store, since most
// sources say at their end only what encloses what. Called by importers, and by sink.c at the file's end.
#include "base/buf.h"
#include "importers/call_paths.h"
#include "importers/sink_private.h"

#include <stdlib.h>
#include <string.h>

uint32_t import_path(struct import *import, uint32_t caller, enum xsp_frame_kind kind, uint32_t name, uint32_t module)
{
  struct sink *sink = import->sink;
  uint32_t depth = 1 + (caller == 0 ? 0 : sink->paths.items[caller - 1].depth);
  if (depth > XSP_CALL_PATH_FRAMES || (name == 0 && module == 0))
    return 0;
  const struct map_key key = {(uint64_t)caller << 32 | name, (uint64_t)module << 2 | (uint64_t)kind};
  bool is_new;
  uint64_t *number = map_at(&sink->path_of, key, &is_new);
  if (is_new) {
    *vector_add(&sink->paths) = (struct sink_path){caller, name, module, (uint16_t)depth, (uint8_t)kind};
    *number = sink->paths.count;
  }
  return (uint32_t)*number;
}

void import_span_path(struct import *import, int64_t span_id, uint32_t path)
{
  struct sink_run *run = import->sink->run;
  size_t count = run->paths.count;
  if ((size_t)span_id > count) {
    size_t more = (size_t)span_id - count;
    vector_reserve(&run->paths, more);
    memset(run->paths.items + count, 0, more * sizeof *run->paths.items);
    run->paths.count += more;
  }
  run->paths.items[span_id - 1] = path;
}

uint32_t import_context(struct import *import, uint32_t caller, const struct store_frame *frame)
{
  struct store *store = import->sink->store;
  return store_context_id(store, caller, store_frame_id(store, frame));
}

void import_sample(struct import *import, const struct import_sample *sample)
{
  struct sink *sink = import->sink;
  *vector_add(&sink->run->samples) = (struct store_sample){.time_ns = sample->time_ns,
                                                           .duration_ns = sample->duration_ns,
                                                           .track_id = sample->track_id,
                                                           .context_id = sample->path,
                                                           .kind = sample->kind};
  sink->events++;
  sink->kept++;
}

// ---- the file's end --------------------------------------------------------------------------------------------------
// In place. What looks otherwise is a name.
static void split_name(char *text, struct store_frame *frame)
{
  struct call_frame_place place;
  frame->name = text;
  if (!call_frame_place(text, &place))
    return;
  text[place.file_length] = 0;
  frame->file = text;
  frame->line = place.line;
  frame->name = text + place.function_at;
}

static uint32_t write_frame(struct sink *sink, const struct sink_path *path, struct buf *scratch)
{
  struct store_frame frame = {.kind = path->kind};
  size_t length;
  const char *name = import_text(sink->import, path->name, &length);
  buf_clear(scratch);
  buf_put(scratch, name, length);
  buf_put(scratch, "", 1);
  if (scratch->failed)
    return 0;
  if (path->kind != XSP_FRAME_FRAMEWORK)
    split_name(scratch->data, &frame);
  else
    frame.name = scratch->data;
  frame.module = path->module == 0 ? NULL : import_text(sink->import, path->module, &length);
  return store_frame_id(sink->store, &frame);
}

// The store's id of each path.
static uint32_t *write_paths(struct sink *sink)
{
  struct buf scratch SCOPED(buf_done) = {0};
  struct map frames SCOPED(map_done) = {0}; // by name, module and kind
  uint32_t *ids = memory_new(sink->paths.count + 1, sizeof *ids);
  for (size_t i = 0; i < sink->paths.count; i++) {
    const struct sink_path *path = &sink->paths.items[i];
    uint64_t *frame = map_at(&frames, (struct map_key){(uint64_t)path->name << 32 | path->module, path->kind}, NULL);
    if (*frame == 0)
      *frame = write_frame(sink, path, &scratch);
    ids[i + 1] = *frame == 0 ? 0 : store_context_id(sink->store, ids[path->caller], (uint32_t)*frame);
  }
  return ids;
}

// In place of the paths' numbers.
static void replace_numbers(struct sink_run *run, const uint32_t *ids, size_t span_count)
{
  size_t count = run->paths.count;
  vector_reserve(&run->paths, span_count - count);
  memset(run->paths.items + count, 0, (span_count - count) * sizeof *run->paths.items);
  run->paths.count = span_count;
  for (size_t i = 0; i < count; i++)
    run->paths.items[i] = ids[run->paths.items[i]];
}

static enum status write_run(struct sink *sink, struct sink_run *run, const uint32_t *ids, struct error *err)
{
  for (size_t i = 0; i < run->samples.count; i++) {
    struct store_sample *sample = &run->samples.items[i];
    sample->context_id = ids[sample->context_id];
    sample->time_ns += run->shift_ns;
  }
  if (run->samples.count > 0)
    XSP_TRY(store_add_samples(sink->store, run->run.run_id, run->samples.items, run->samples.count, err));
  if (run->paths.count == 0)
    return STATUS_OK;
  replace_numbers(run, ids, run->span_count);
  return store_put_contexts(sink->store, run->run.run_id, run->paths.items, run->paths.count, err);
}

enum status sink_write_paths(struct sink *sink, struct error *err)
{
  uint32_t *ids SCOPED(scoped_free) = write_paths(sink);
  for (size_t i = 0; i < sink->runs.count; i++)
    XSP_TRY(write_run(sink, sink->runs.items[i], ids, err));
  return STATUS_OK;
}
