// SPDX-License-Identifier: Apache-2.0
// Chrome's trace event format (JSON), for chrome://tracing, Speedscope and others. Times are microseconds since the
// file's first span, with nanoseconds as decimals: since 1970 they would lose them in a reader's doubles.
#include "base/decimal.h"
#include "base/json_write.h"
#include "report/exports/exports.h"
#include "report/exports/timeline.h"

#include <inttypes.h>
#include <stdio.h>

struct chrome {
  struct timeline_writer writer;
  struct json_writer json; // writes one event at a time; the array around them is written by hand
  bool has_event;
};

static void begin_event(struct chrome *chrome, const char *phase)
{
  buf_text(&chrome->writer.file.out, chrome->has_event ? ",\n" : "\n");
  chrome->has_event = true;
  json_start(&chrome->json, &chrome->writer.file.out);
  json_object(&chrome->json);
  json_member_string(&chrome->json, "ph", phase);
}

static void end_event(struct chrome *chrome)
{
  json_object_end(&chrome->json);
  export_file_flush(&chrome->writer.file);
}

// Nanoseconds as microseconds with three decimals, exactly.
static void put_time(struct chrome *chrome, const char *key, uint64_t time_ns)
{
  json_key(&chrome->json, key);
  chrome->json.after_key = false;
  unsigned rest = (unsigned)(time_ns % 1000);
  const char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
  decimal_unsigned(&chrome->writer.file.out, time_ns / 1000);
  buf_put(&chrome->writer.file.out, decimals, sizeof decimals);
}

static void put_store_text(struct chrome *chrome, const char *key, uint32_t string)
{
  json_key(&chrome->json, key);
  timeline_json_text(&chrome->json, chrome->writer.timeline.store, string);
}

static void put_metadata(struct chrome *chrome, const char *name, int64_t pid, int64_t tid, const char *value)
{
  begin_event(chrome, "M");
  json_member_string(&chrome->json, "name", name);
  json_member_int(&chrome->json, "pid", pid);
  json_member_int(&chrome->json, "tid", tid);
  json_member_object(&chrome->json, "args");
  json_member_string(&chrome->json, "name", value);
  json_object_end(&chrome->json);
  end_event(chrome);
}

static int64_t lane_pid(const struct chrome *chrome, const struct timeline_lane *lane)
{
  return chrome->writer.timeline.processes[chrome->writer.run.tracks[lane->track].process].pid;
}

static void put_place(struct chrome *chrome, const struct timeline_lane *lane)
{
  json_member_int(&chrome->json, "pid", lane_pid(chrome, lane));
  json_member_int(&chrome->json, "tid", lane->tid);
}

static void put_tag(struct chrome *chrome, const struct store_tag *tag)
{
  size_t length = 0;
  json_key(&chrome->json, store_text(chrome->writer.timeline.store, tag->key, &length));
  if (tag->type == STORE_TEXT)
    timeline_json_text(&chrome->json, chrome->writer.timeline.store, tag->value.string);
  else if (tag->type == STORE_DOUBLE)
    json_double(&chrome->json, tag->value.real);
  else
    json_int(&chrome->json, tag->value.integer);
}

static void put_args(struct chrome *chrome, uint32_t row)
{
  const struct timeline_run *run = &chrome->writer.run;
  struct json_writer *json = &chrome->json;
  json_member_object(json, "args");
  if (run->derived.depth[row] == 0)
    json_member_int(json, "run_id", run->run->run_id);
  if (run->spans.tracer[row] != 0)
    put_store_text(chrome, "tracer", run->spans.tracer[row]);
  if (run->spans.category[row] != 0)
    put_store_text(chrome, "category", run->spans.category[row]);
  if (run->spans.kind[row] != XSP_KIND_SYNC)
    json_member_string(json, "kind", kind_name(run->spans.kind[row]));
  if (run->spans.correlation_id[row] != 0)
    json_member_int(json, "correlation_id", run->spans.correlation_id[row]);
  if ((run->spans.flags[row] & STORE_SPAN_STEP) != 0)
    json_member_int(json, TIMELINE_STEP_KEY, 1);
  const char *basis = timeline_basis(run, row);
  if ((run->links[row] & TIMELINE_NAMED) != 0)
    json_member_int(json, TIMELINE_SPAN_KEY, timeline_number(run, row));
  if (basis != NULL && run->parent[row] != TIMELINE_NO_ROW)
    json_member_int(json, TIMELINE_PARENT_KEY, timeline_number(run, run->parent[row]));
  if (basis != NULL)
    json_member_string(json, "basis", basis);
  const struct timeline_range range = timeline_tags(run, run->spans.span_id[row]);
  for (size_t i = range.first; i < range.end; i++)
    put_tag(chrome, &run->tags[i]);
  json_object_end(json);
}

// One end of an arrow, at the start of a span.
static void put_flow(struct chrome *chrome, const struct timeline_lane *lane, const char *phase, uint32_t row,
                     uint32_t execution)
{
  const struct timeline_run *run = &chrome->writer.run;
  struct json_writer *json = &chrome->json;
  char id[24];
  snprintf(id, sizeof id, "0x%" PRIx64, timeline_flow_id(run, execution));
  begin_event(chrome, phase);
  json_member_string(json, "name", "launch");
  json_member_string(json, "cat", "launch");
  json_member_string(json, "id", id);
  if (phase[0] == 'f')
    json_member_string(json, "bp", "e");
  put_time(chrome, "ts", timeline_time(&chrome->writer.timeline, run, run->spans.start_ns[row]));
  put_place(chrome, lane);
  end_event(chrome);
}

static void put_flows(struct chrome *chrome, const struct timeline_lane *lane, uint32_t row)
{
  const struct timeline_run *run = &chrome->writer.run;
  if (run->launch_of[row] != TIMELINE_NO_ROW)
    put_flow(chrome, lane, "f", row, row);
  if (run->spans.kind[row] != XSP_KIND_LAUNCH)
    return;
  const struct timeline_range range = timeline_executions(run, row);
  for (size_t i = range.first; i < range.end; i++)
    put_flow(chrome, lane, "s", row, run->execution_order[i]);
}

static void put_span(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct chrome *chrome = context;
  const struct timeline_run *run = &chrome->writer.run;
  bool is_open = timeline_is_open(run, row);
  begin_event(chrome, is_open ? "B" : "X"); // a B without its E is a span that did not finish
  put_store_text(chrome, "name", run->spans.name[row]);
  json_member_string(&chrome->json, "cat", level_name(run->spans.level[row]));
  put_time(chrome, "ts", timeline_time(&chrome->writer.timeline, run, run->spans.start_ns[row]));
  if (!is_open)
    put_time(chrome, "dur", (uint64_t)run->spans.duration_ns[row]);
  put_place(chrome, lane);
  put_args(chrome, row);
  end_event(chrome);
  put_flows(chrome, lane, row);
  export_file_spans(&chrome->writer.file, 1);
}

static void put_counter(struct chrome *chrome, const struct timeline_counter *counter)
{
  struct json_writer *json = &chrome->json;
  for (size_t i = 0; i < counter->point_count; i++) {
    begin_event(chrome, "C");
    json_member_string(json, "name", counter->name);
    put_time(chrome, "ts", timeline_time(&chrome->writer.timeline, &chrome->writer.run, counter->points[i].time_ns));
    json_member_int(json, "pid", chrome->writer.timeline.processes[counter->process].pid);
    json_member_object(json, "args");
    json_key(json, counter->unit[0] != '\0' ? counter->unit : "value");
    json_double(json, counter->points[i].value);
    json_object_end(json);
    end_event(chrome);
  }
}

static void put_run(struct timeline_writer *writer)
{
  struct chrome *chrome = (struct chrome *)writer;
  const struct timeline_run *run = &writer->run;
  for (size_t i = 0; i < run->counter_count; i++)
    put_counter(chrome, &run->counters[i]);
  const struct timeline_sink sink = {chrome, put_span, NULL};
  for (size_t i = 0; i < run->lane_count; i++) {
    const struct timeline_lane *lane = &run->lanes[i];
    put_metadata(chrome, "thread_name", lane_pid(chrome, lane), lane->tid, lane->name);
    timeline_walk(run, lane, &sink);
  }
}

static void begin(struct timeline_writer *writer)
{
  const struct timeline *timeline = &writer->timeline;
  struct buf *out = &writer->file.out;
  buf_text(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"xsp\",\"zero_unix_ns\":");
  if (timeline->has_unix_time)
    buf_format(out, "\"%" PRId64 "\"", timeline->first_ns);
  else
    buf_text(out, "null");
  buf_text(out, "},\"traceEvents\":[");
  for (size_t i = 0; i < timeline->process_count; i++)
    put_metadata((struct chrome *)writer, "process_name", timeline->processes[i].pid, 0, timeline->processes[i].name);
}

static void end(struct timeline_writer *writer)
{
  buf_text(&writer->file.out, "\n]}\n");
}

static enum status write_chrome(struct store *store, const char *path, const struct report_export_options *options,
                                struct error *err)
{
  static const struct timeline_parts parts = {
      .begin = begin, .put_run = put_run, .end = end, .is_read_back = true, .are_all_threads = true};
  struct chrome chrome = {0};
  return timeline_write(&chrome.writer, &parts, store, path, options, err);
}

const struct report_export report_export_chrome = {
    .name = "chrome",
    .summary = "Chrome's trace event JSON, for chrome://tracing and many other viewers",
    .extension = "json",
    .write = write_chrome,
};
