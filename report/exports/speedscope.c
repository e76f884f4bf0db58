// SPDX-License-Identifier: Apache-2.0
// speedscope's file format (https://www.speedscope.app/file-format-schema.json): one profile of begin and end events a
// track, over one table of names. Its viewer shows them in the order of time, left-heavy and as a sandwich.
#include "base/json_write.h"
#include "report/exports/exports.h"
#include "report/exports/file.h"
#include "report/exports/timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES ((size_t)1 << 18)

struct speedscope {
  struct timeline timeline;
  const struct timeline_run *run;
  struct export_file file;
  struct buf out;
  uint32_t *frames;        // by string id of the store: number + 1; 0: not met
  uint32_t *frame_strings; // by number
  uint32_t frame_count;
  bool has_profile, has_event;
};

static enum status flush(struct speedscope *speedscope, size_t least, struct error *err)
{
  return speedscope->out.length < least && !speedscope->out.failed
             ? STATUS_OK
             : export_file_flush_buf(&speedscope->file, &speedscope->out, err);
}

static uint32_t frame_of(struct speedscope *speedscope, uint32_t string)
{
  if (speedscope->frames[string] == 0) {
    speedscope->frame_strings[speedscope->frame_count++] = string;
    speedscope->frames[string] = speedscope->frame_count;
  }
  return speedscope->frames[string] - 1;
}

static enum status put_event(struct speedscope *speedscope, char type, uint32_t row, int64_t time_ns, struct error *err)
{
  buf_format(&speedscope->out, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%" PRIu64 "}", speedscope->has_event ? "," : "",
             type, frame_of(speedscope, speedscope->run->spans.name[row]),
             timeline_time(&speedscope->timeline, speedscope->run, time_ns));
  speedscope->has_event = true;
  return flush(speedscope, FLUSH_BYTES, err);
}

static enum status on_begin(void *context, const struct timeline_lane *lane, uint32_t row, struct error *err)
{
  struct speedscope *speedscope = context;
  if (timeline_is_open(speedscope->run, row)) // the format has no place for what never ended
    return STATUS_OK;
  return put_event(speedscope, 'O', row, speedscope->run->spans.start_ns[row], err);
}

static enum status on_end(void *context, const struct timeline_lane *lane, uint32_t row, struct error *err)
{
  struct speedscope *speedscope = context;
  if (timeline_is_open(speedscope->run, row))
    return STATUS_OK;
  return put_event(speedscope, 'C', row, timeline_end(speedscope->run, row), err);
}

static void put_name(struct speedscope *speedscope, const struct timeline_lane *lane)
{
  const struct timeline_track *track = &speedscope->run->tracks[lane->track];
  char name[TIMELINE_NAME_SIZE];
  timeline_track_name(track, name, sizeof name);
  struct buf text;
  buf_init(&text, 4 * TIMELINE_NAME_SIZE);
  buf_format(&text, "%s, %s", speedscope->timeline.processes[track->process].name, name);
  if (lane->overlap > 0)
    buf_format(&text, " (overlapping %u)", lane->overlap);
  struct json_writer json;
  json_start(&json, &speedscope->out);
  json_string(&json, text.data != NULL ? text.data : "");
  buf_done(&text);
}

static enum status put_lane(struct speedscope *speedscope, const struct timeline_lane *lane, struct error *err)
{
  const struct timeline_run *run = speedscope->run;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (size_t i = lane->first; i < lane->first + lane->count; i++) {
    uint32_t row = run->order[i];
    if (timeline_is_open(run, row))
      continue;
    first_ns = run->spans.start_ns[row] < first_ns ? run->spans.start_ns[row] : first_ns;
    last_ns = timeline_end(run, row) > last_ns ? timeline_end(run, row) : last_ns;
  }
  if (first_ns > last_ns)
    return STATUS_OK;
  buf_text(&speedscope->out,
           speedscope->has_profile ? ",\n{\"type\":\"evented\",\"name\":" : "{\"type\":\"evented\",\"name\":");
  speedscope->has_profile = true;
  put_name(speedscope, lane);
  buf_format(&speedscope->out,
             ",\"unit\":\"nanoseconds\",\"startValue\":%" PRIu64 ",\"endValue\":%" PRIu64 ",\"events\":[",
             timeline_time(&speedscope->timeline, run, first_ns), timeline_time(&speedscope->timeline, run, last_ns));
  speedscope->has_event = false;
  const struct timeline_sink sink = {speedscope, on_begin, on_end};
  XSP_TRY(timeline_walk(run, lane, &sink, err));
  buf_text(&speedscope->out, "]}");
  return flush(speedscope, FLUSH_BYTES, err);
}

static enum status put_run(struct speedscope *speedscope, size_t index, struct error *err)
{
  struct arena arena = {0};
  struct timeline_run run;
  enum status status = timeline_load(&speedscope->timeline, index, &arena, &run, err);
  speedscope->run = &run;
  for (size_t lane = 0; status == STATUS_OK && lane < run.lane_count; lane++)
    status = put_lane(speedscope, &run.lanes[lane], err);
  arena_done(&arena);
  return status;
}

static enum status put_all(struct speedscope *speedscope, struct error *err)
{
  uint32_t strings = store_string_count(speedscope->timeline.store);
  speedscope->frames = calloc((size_t)strings + 1, sizeof *speedscope->frames);
  speedscope->frame_strings = calloc((size_t)strings + 1, sizeof *speedscope->frame_strings);
  if (speedscope->frames == NULL || speedscope->frame_strings == NULL)
    return error_set(err, STATUS_MEMORY, "cannot export", speedscope->file.path, NULL, "out of memory");
  buf_text(&speedscope->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"xsp\","
                             "\"activeProfileIndex\":0,\"profiles\":[\n");
  for (size_t i = 0; i < speedscope->timeline.run_count; i++)
    XSP_TRY(put_run(speedscope, i, err));
  buf_text(&speedscope->out, "],\n\"shared\":{\"frames\":[");
  for (uint32_t i = 0; i < speedscope->frame_count; i++) {
    size_t length = 0;
    const char *text = store_text(speedscope->timeline.store, speedscope->frame_strings[i], &length);
    buf_text(&speedscope->out, i > 0 ? ",{\"name\":" : "{\"name\":");
    struct json_writer json;
    json_start(&json, &speedscope->out);
    json_string_n(&json, text, length);
    buf_text(&speedscope->out, "}");
    XSP_TRY(flush(speedscope, FLUSH_BYTES, err));
  }
  buf_text(&speedscope->out, "]}}\n");
  return flush(speedscope, 0, err);
}

static enum status write_speedscope(struct store *store, const char *path, struct error *err)
{
  struct speedscope speedscope = {0};
  XSP_TRY(timeline_open(store, &speedscope.timeline, err));
  buf_init(&speedscope.out, BUF_MAXIMUM_DEFAULT);
  enum status status = export_file_open(path, &speedscope.file, err);
  if (status == STATUS_OK)
    status = put_all(&speedscope, err);
  if (status == STATUS_OK)
    status = export_file_close(&speedscope.file, err);
  export_file_abandon(&speedscope.file);
  free(speedscope.frames);
  free(speedscope.frame_strings);
  buf_done(&speedscope.out);
  timeline_done(&speedscope.timeline);
  return status;
}

const struct report_export report_export_speedscope = {
    .name = "speedscope",
    .summary = "one profile a track for https://www.speedscope.app",
    .extension = "speedscope.json",
    .write = write_speedscope,
};
