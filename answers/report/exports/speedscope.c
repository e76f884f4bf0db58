// SPDX-License-Identifier: Apache-2.0
// speedscope's file format (https://www.speedscope.app/file-format-schema.json): a profile of begin and end events
// per lane, over one table of names. Its viewer shows them in the order of time, left-heavy and as a sandwich. Spans
// that never ended have no place in the format. A span with a call path is in the frames of it that the spans around it
// are not in. Samples, of instructions and of threads, are sampled profiles of their run.
#include "base/decimal.h"
#include "base/json_write.h"
#include "base/saturate.h"
#include "base/scoped.h"
#include "report/exports/exports.h"
#include "report/exports/stacks.h"

#include <inttypes.h>

#define CONTEXTS_MOST (UINT32_MAX - 3)

struct open_span {             // one that is drawn and has not ended
  uint32_t context_id, frames; // its call path; how many frames were opened around it
};
struct speedscope {
  struct timeline_writer writer;
  struct stacks stacks;
  struct map frames;            // by a context's name: number + 1
  VECTOR(uint32_t) frame_names; // by number
  VECTOR(struct open_span) open;
  VECTOR(uint32_t) opened; // names of the frames around open spans
  bool has_profile, has_event;
};

static uint32_t frame_of(struct speedscope *speedscope, uint32_t name)
{
  bool is_new;
  uint64_t *number = map_at(&speedscope->frames, map_number(name), &is_new);
  if (is_new) {
    *vector_add(&speedscope->frame_names) = name;
    *number = speedscope->frame_names.count;
  }
  return (uint32_t)*number - 1;
}

static void put_event(struct speedscope *speedscope, char type, uint32_t name, int64_t time_ns)
{
  struct timeline_writer *writer = &speedscope->writer;
  struct buf *out = &writer->file.out;
  buf_text(out, speedscope->has_event ? ",{\"type\":\"" : "{\"type\":\"");
  buf_put(out, &type, 1);
  buf_text(out, "\",\"frame\":");
  decimal_unsigned(out, frame_of(speedscope, name));
  buf_text(out, ",\"at\":");
  decimal_unsigned(out, timeline_time(&writer->timeline, &writer->run, time_ns));
  buf_text(out, "}");
  speedscope->has_event = true;
  export_file_flush(&writer->file);
}

// Opens the callers of a path, from below `known` on where the path leads there. Returns how many.
static uint32_t open_callers(struct speedscope *speedscope, uint32_t context_id, uint32_t known, int64_t time_ns)
{
  const struct context_paths *paths = &speedscope->stacks.paths;
  size_t first = speedscope->opened.count;
  uint32_t at = context_id == 0 ? 0 : paths->caller[context_id - 1];
  for (; at != 0 && at != known; at = paths->caller[at - 1])
    *vector_add(&speedscope->opened) = paths->name[at - 1];
  if (at != known) // the spans around this one have other callers: drawn as it ran
    speedscope->opened.count = first;
  uint32_t *names = speedscope->opened.items + first, count = (uint32_t)(speedscope->opened.count - first);
  for (uint32_t i = 0; i < count / 2; i++) { // outermost first
    uint32_t name = names[i];
    names[i] = names[count - 1 - i];
    names[count - 1 - i] = name;
  }
  for (uint32_t i = 0; i < count; i++)
    put_event(speedscope, 'O', names[i], time_ns);
  return count;
}

// The last frame of a span's path has its name, and the file of a function.
static uint32_t name_of(const struct speedscope *speedscope, uint32_t row)
{
  const struct store_spans *spans = &speedscope->writer.run.spans;
  uint32_t context_id = spans->context_id[row];
  return context_id != 0 ? speedscope->stacks.paths.name[context_id - 1] : spans->name[row];
}

static void on_begin(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct speedscope *speedscope = context;
  const struct store_spans *spans = &speedscope->writer.run.spans;
  if (timeline_is_open(&speedscope->writer.run, row))
    return;
  size_t depth = speedscope->open.count;
  uint32_t known = depth == 0 ? 0 : speedscope->open.items[depth - 1].context_id, own = spans->context_id[row];
  uint32_t frames = open_callers(speedscope, own, known, spans->start_ns[row]);
  *vector_add(&speedscope->open) = (struct open_span){own != 0 ? own : known, frames};
  put_event(speedscope, 'O', name_of(speedscope, row), spans->start_ns[row]);
  export_file_spans(&speedscope->writer.file, 1);
}

static void on_end(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct speedscope *speedscope = context;
  int64_t end_ns = timeline_end(&speedscope->writer.run, row);
  put_event(speedscope, 'C', name_of(speedscope, row), end_ns);
  for (uint32_t left = speedscope->open.items[--speedscope->open.count].frames; left > 0; left--)
    put_event(speedscope, 'C', speedscope->opened.items[--speedscope->opened.count], end_ns);
}

static void put_name(struct timeline_writer *writer, const struct timeline_lane *lane)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct json_writer json;
  const char *process = writer->timeline.processes[writer->run.tracks[lane->track].process].name;
  json_start(&json, &writer->file.out);
  json_string(&json, arena_format(&arena, "%s, %s", process, lane->name));
}

static void put_lane(struct speedscope *speedscope, const struct timeline_lane *lane)
{
  struct timeline_writer *writer = &speedscope->writer;
  const struct timeline_run *run = &writer->run;
  struct buf *out = &writer->file.out;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (size_t i = lane->first; i < lane->first + lane->count; i++) {
    uint32_t row = run->order[i];
    if (timeline_is_open(run, row))
      continue;
    first_ns = run->spans.start_ns[row] < first_ns ? run->spans.start_ns[row] : first_ns;
    last_ns = timeline_end(run, row) > last_ns ? timeline_end(run, row) : last_ns;
  }
  if (first_ns > last_ns)
    return;
  buf_text(out, speedscope->has_profile ? ",\n{\"type\":\"evented\",\"name\":" : "{\"type\":\"evented\",\"name\":");
  speedscope->has_profile = true;
  put_name(writer, lane);
  buf_format(out, ",\"unit\":\"nanoseconds\",\"startValue\":%" PRIu64 ",\"endValue\":%" PRIu64 ",\"events\":[",
             timeline_time(&writer->timeline, run, first_ns), timeline_time(&writer->timeline, run, last_ns));
  speedscope->has_event = false;
  const struct timeline_sink sink = {speedscope, on_begin, on_end};
  timeline_walk(run, lane, &sink);
  buf_text(out, "]}");
  export_file_flush(&writer->file);
}

static void begin(struct timeline_writer *writer)
{
  buf_text(&writer->file.out,
           "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"xsp\","
           "\"activeProfileIndex\":0,\"profiles\":[\n");
}

static void put_chain(struct speedscope *speedscope, const struct contexts *contexts, uint32_t id, bool is_next)
{
  struct buf *out = &speedscope->writer.file.out;
  uint32_t chain[STACKS_DEPTH_MOST];
  uint32_t depth = stacks_chain(contexts, id, chain);
  buf_text(out, is_next ? ",[" : "[");
  for (uint32_t i = depth; i > 0; i--)
    buf_format(out, "%s%u", i < depth ? "," : "", frame_of(speedscope, contexts->all.items[chain[i - 1]].name));
  buf_text(out, "]");
  export_file_flush(&speedscope->writer.file);
}

static void put_samples(struct speedscope *speedscope, enum stacks_sampled which)
{
  const struct stacks_sampled_kind *kind = &stacks_sampled_kinds[which];
  struct timeline_writer *writer = &speedscope->writer;
  struct buf *out = &writer->file.out;
  struct contexts contexts SCOPED(contexts_done) = {.most = CONTEXTS_MOST};
  VECTOR(uint32_t) sampled SCOPED(vector_end) = {0};
  int64_t sum = 0;
  stacks_add_weights(&speedscope->stacks, &speedscope->stacks.sampled[which], writer->run.run->run_id, &contexts);
  const struct context *all = contexts.all.items;
  for (uint32_t id = 0; id < contexts.all.count; id++)
    if (all[id].self_ns > 0) {
      *vector_add(&sampled) = id;
      sum = saturate_add(sum, all[id].self_ns);
    }
  if (sampled.count > 0) {
    buf_text(out, speedscope->has_profile ? ",\n" : "");
    buf_format(out, "{\"type\":\"sampled\",\"name\":\"%s, ", kind->title);
    stacks_put_run(writer->run.run, out);
    buf_format(out, "\",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRId64 ",\"samples\":[",
               which == STACKS_INSTRUCTIONS ? "none" : kind->unit, sum);
    for (size_t i = 0; i < sampled.count; i++)
      put_chain(speedscope, &contexts, sampled.items[i], i > 0);
    buf_text(out, "],\"weights\":[");
    for (size_t i = 0; i < sampled.count; i++)
      buf_format(out, "%s%" PRId64, i > 0 ? "," : "", all[sampled.items[i]].self_ns);
    buf_text(out, "]}");
    speedscope->has_profile = true;
  }
}

static void put_run(struct timeline_writer *writer)
{
  for (size_t lane = 0; lane < writer->run.lane_count; lane++)
    put_lane((struct speedscope *)writer, &writer->run.lanes[lane]);
  for (enum stacks_sampled which = 0; which < STACKS_SAMPLED; which++)
    put_samples((struct speedscope *)writer, which);
}

static void put_frame(const struct speedscope *speedscope, struct json_writer *json, uint32_t name)
{
  const struct store_frame *frame = stacks_frame(&speedscope->stacks, name);
  json_object(json);
  if (frame == NULL) {
    json_key(json, "name");
    timeline_json_text(json, speedscope->stacks.store, name);
  } else {
    const char *file = frame->file != NULL ? frame->file : frame->module;
    json_member_string(json, "name", frame->name != NULL ? frame->name : "?");
    if (file != NULL)
      json_member_string(json, "file", file);
    if (frame->line > 0)
      json_member_int(json, "line", frame->line);
  }
  json_object_end(json);
}

static void end(struct timeline_writer *writer)
{
  struct speedscope *speedscope = (struct speedscope *)writer;
  struct buf *out = &writer->file.out;
  struct json_writer json;
  if (!speedscope->has_profile) // its viewer needs one
    buf_text(out, "{\"type\":\"evented\",\"name\":\"nothing that ended\",\"unit\":\"nanoseconds\",\"startValue\":0,"
                  "\"endValue\":0,\"events\":[]}");
  buf_text(out, "],\n\"shared\":{\"frames\":[");
  for (uint32_t i = 0; i < speedscope->frame_names.count; i++) {
    buf_text(out, i > 0 ? "," : "");
    json_start(&json, out);
    put_frame(speedscope, &json, speedscope->frame_names.items[i]);
    export_file_flush(&writer->file);
  }
  buf_text(out, "]}}\n");
}

static void speedscope_done(struct speedscope *speedscope)
{
  stacks_done(&speedscope->stacks);
  map_done(&speedscope->frames);
  vector_done(&speedscope->frame_names);
  vector_done(&speedscope->open);
  vector_done(&speedscope->opened);
}

static enum status write_speedscope(struct store *store, const char *path, const struct report_export_options *options,
                                    struct error *err)
{
  static const struct timeline_parts parts = {
      .begin = begin, .put_run = put_run, .end = end, .columns = STORE_BIT(STORE_CONTEXT_ID)};
  struct speedscope speedscope SCOPED(speedscope_done) = {0};
  XSP_TRY(stacks_open(store, &speedscope.stacks, err));
  XSP_TRY(stacks_load_samples(&speedscope.stacks, err));
  return timeline_write(&speedscope.writer, &parts, store, path, options, err);
}

const struct report_export report_export_speedscope = {
    .name = "speedscope",
    .summary = "one profile a track, for https://www.speedscope.app",
    .extension = "speedscope.json",
    .write = write_speedscope,
};
