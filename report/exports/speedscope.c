// SPDX-License-Identifier: Apache-2.0
// speedscope's file format (https://www.speedscope.app/file-format-schema.json): a profile of begin and end events
// per lane, over one table of names. Its viewer shows them in the order of time, left-heavy and as a sandwich. Spans
// that never ended have no place in the format.
#include "base/json_write.h"
#include "report/exports/exports.h"
#include "report/exports/timeline.h"

#include <inttypes.h>

struct speedscope {
  struct timeline_writer writer;
  uint32_t *frames;               // by string id of the store: number + 1; 0: not used yet
  VECTOR(uint32_t) frame_strings; // by number
  bool has_profile, has_event;
};

static uint32_t frame_of(struct speedscope *speedscope, uint32_t string)
{
  if (speedscope->frames[string] == 0) {
    *vector_add(&speedscope->frame_strings) = string;
    speedscope->frames[string] = (uint32_t)speedscope->frame_strings.count;
  }
  return speedscope->frames[string] - 1;
}

static void put_event(struct speedscope *speedscope, char type, uint32_t row, int64_t time_ns)
{
  struct timeline_writer *writer = &speedscope->writer;
  buf_format(&writer->file.out, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%" PRIu64 "}", speedscope->has_event ? "," : "",
             type, frame_of(speedscope, writer->run.spans.name[row]),
             timeline_time(&writer->timeline, &writer->run, time_ns));
  speedscope->has_event = true;
  export_file_flush(&writer->file);
}

static void on_begin(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct speedscope *speedscope = context;
  if (!timeline_is_open(&speedscope->writer.run, row))
    put_event(speedscope, 'O', row, speedscope->writer.run.spans.start_ns[row]);
}

static void on_end(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct speedscope *speedscope = context;
  put_event(speedscope, 'C', row, timeline_end(&speedscope->writer.run, row));
}

static void put_name(struct timeline_writer *writer, const struct timeline_lane *lane)
{
  struct arena arena = {0};
  struct json_writer json;
  const char *process = writer->timeline.processes[writer->run.tracks[lane->track].process].name;
  json_start(&json, &writer->file.out);
  json_string(&json, arena_format(&arena, "%s, %s", process, lane->name));
  arena_done(&arena);
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
  struct speedscope *speedscope = (struct speedscope *)writer;
  speedscope->frames = memory_new((size_t)store_string_count(writer->timeline.store) + 1, sizeof *speedscope->frames);
  buf_text(&writer->file.out,
           "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"xsp\","
           "\"activeProfileIndex\":0,\"profiles\":[\n");
}

static void put_run(struct timeline_writer *writer)
{
  for (size_t lane = 0; lane < writer->run.lane_count; lane++)
    put_lane((struct speedscope *)writer, &writer->run.lanes[lane]);
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
  for (uint32_t i = 0; i < speedscope->frame_strings.count; i++) {
    buf_text(out, i > 0 ? ",{\"name\":" : "{\"name\":");
    json_start(&json, out);
    timeline_json_text(&json, writer->timeline.store, speedscope->frame_strings.items[i]);
    buf_text(out, "}");
    export_file_flush(&writer->file);
  }
  buf_text(out, "]}}\n");
}

static enum status write_speedscope(struct store *store, const char *path, struct error *err)
{
  static const struct timeline_parts parts = {begin, put_run, end};
  struct speedscope speedscope = {0};
  enum status status = timeline_write(&speedscope.writer, &parts, store, path, err);
  free(speedscope.frames);
  vector_done(&speedscope.frame_strings);
  return status;
}

const struct report_export report_export_speedscope = {
    .name = "speedscope",
    .extension = "speedscope.json",
    .write = write_speedscope,
};
