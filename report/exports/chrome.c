// SPDX-License-Identifier: Apache-2.0
// Chrome's trace event format (JSON), for chrome://tracing, Speedscope and others. Times are microseconds since the
// file's first span, with nanoseconds as decimals: since 1970 they would lose them in a reader's doubles.
#include "base/json_write.h"
#include "report/exports/exports.h"
#include "report/exports/file.h"
#include "report/exports/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FLUSH_BYTES ((size_t)1 << 18)

struct chrome {
  struct timeline timeline;
  const struct timeline_run *run;
  struct export_file file;
  struct buf out;
  struct json_writer json; // writes one event at a time; the array around them is written by hand
  bool has_event;
};

static void begin_event(struct chrome *chrome, const char *phase)
{
  buf_text(&chrome->out, chrome->has_event ? ",\n" : "\n");
  chrome->has_event = true;
  json_start(&chrome->json, &chrome->out);
  json_object(&chrome->json);
  json_key(&chrome->json, "ph");
  json_string(&chrome->json, phase);
}

static enum status end_event(struct chrome *chrome, struct error *err)
{
  json_object_end(&chrome->json);
  if (chrome->out.length < FLUSH_BYTES && !chrome->out.failed)
    return STATUS_OK;
  return export_file_flush_buf(&chrome->file, &chrome->out, err);
}

static void put_int(struct chrome *chrome, const char *key, int64_t value)
{
  json_key(&chrome->json, key);
  json_int(&chrome->json, value);
}

// Nanoseconds as microseconds with three decimals, exactly.
static void put_time(struct chrome *chrome, const char *key, uint64_t time_ns)
{
  json_key(&chrome->json, key);
  chrome->json.after_key = false;
  buf_format(&chrome->out, "%" PRIu64 ".%03u", time_ns / 1000, (unsigned)(time_ns % 1000));
}

static void put_store_text(struct chrome *chrome, const char *key, uint32_t string)
{
  size_t length = 0;
  const char *text = store_text(chrome->timeline.store, string, &length);
  json_key(&chrome->json, key);
  json_string_n(&chrome->json, text, length);
}

static enum status put_metadata(struct chrome *chrome, const char *name, int64_t pid, int64_t tid, const char *value,
                                struct error *err)
{
  begin_event(chrome, "M");
  json_key(&chrome->json, "name");
  json_string(&chrome->json, name);
  put_int(chrome, "pid", pid);
  put_int(chrome, "tid", tid);
  json_key(&chrome->json, "args");
  json_object(&chrome->json);
  json_key(&chrome->json, "name");
  json_string(&chrome->json, value);
  json_object_end(&chrome->json);
  return end_event(chrome, err);
}

// Overlapping lanes of a track are threads of their own here; their numbers lie above all others.
static int64_t lane_tid(const struct chrome *chrome, const struct timeline_lane *lane)
{
  int64_t tid = chrome->run->tracks[lane->track].tid;
  return lane->overlap == 0 ? tid : INT64_C(1000000000) * lane->overlap + (tid & 0x1fffffff);
}

static int64_t lane_pid(const struct chrome *chrome, const struct timeline_lane *lane)
{
  return chrome->timeline.processes[chrome->run->tracks[lane->track].process].pid;
}

static enum status put_lane(struct chrome *chrome, const struct timeline_lane *lane, struct error *err)
{
  char name[TIMELINE_NAME_SIZE + 32];
  timeline_track_name(&chrome->run->tracks[lane->track], name, TIMELINE_NAME_SIZE);
  size_t used = strlen(name);
  if (lane->overlap > 0)
    snprintf(name + used, sizeof name - used, " (overlapping %u)", lane->overlap);
  return put_metadata(chrome, "thread_name", lane_pid(chrome, lane), lane_tid(chrome, lane), name, err);
}

static void put_tag(struct chrome *chrome, const struct store_tag *tag)
{
  size_t length = 0;
  json_key(&chrome->json, store_text(chrome->timeline.store, tag->key, &length));
  if (tag->type == STORE_TEXT) {
    const char *text = store_text(chrome->timeline.store, tag->value.string, &length);
    json_string_n(&chrome->json, text, length);
  } else if (tag->type == STORE_DOUBLE) {
    json_double(&chrome->json, tag->value.real);
  } else {
    json_int(&chrome->json, tag->value.integer);
  }
}

static void put_args(struct chrome *chrome, uint32_t row)
{
  const struct timeline_run *run = chrome->run;
  json_key(&chrome->json, "args");
  json_object(&chrome->json);
  if (run->derived.depth[row] == 0)
    put_int(chrome, "run_id", run->run->run_id);
  if (run->spans.tracer[row] != 0)
    put_store_text(chrome, "tracer", run->spans.tracer[row]);
  if (run->spans.kind[row] != XSP_KIND_SYNC) {
    json_key(&chrome->json, "kind");
    json_string(&chrome->json, kind_name(run->spans.kind[row]));
  }
  if (run->spans.correlation_id[row] != 0)
    put_int(chrome, "correlation_id", run->spans.correlation_id[row]);
  if (run->derived.basis[row] == BASIS_AMBIGUOUS) {
    json_key(&chrome->json, "basis");
    json_string(&chrome->json, "ambiguous");
  }
  size_t first = 0, count = 0;
  timeline_tags(run, run->spans.span_id[row], &first, &count);
  for (size_t i = first; i < first + count; i++)
    put_tag(chrome, &run->tags[i]);
  json_object_end(&chrome->json);
}

// One end of an arrow, at the start of a span.
static enum status put_flow(struct chrome *chrome, const struct timeline_lane *lane, const char *phase, uint32_t row,
                            uint32_t execution, struct error *err)
{
  begin_event(chrome, phase);
  json_key(&chrome->json, "name");
  json_string(&chrome->json, "launch");
  json_key(&chrome->json, "cat");
  json_string(&chrome->json, "launch");
  char id[24];
  snprintf(id, sizeof id, "0x%" PRIx64, timeline_flow_id(chrome->run, execution));
  json_key(&chrome->json, "id");
  json_string(&chrome->json, id);
  if (phase[0] == 'f') {
    json_key(&chrome->json, "bp");
    json_string(&chrome->json, "e");
  }
  put_time(chrome, "ts", timeline_time(&chrome->timeline, chrome->run, chrome->run->spans.start_ns[row]));
  put_int(chrome, "pid", lane_pid(chrome, lane));
  put_int(chrome, "tid", lane_tid(chrome, lane));
  return end_event(chrome, err);
}

static enum status put_flows(struct chrome *chrome, const struct timeline_lane *lane, uint32_t row, struct error *err)
{
  const struct timeline_run *run = chrome->run;
  if (run->spans.kind[row] == XSP_KIND_EXECUTION && timeline_has_launch(run, row))
    return put_flow(chrome, lane, "f", row, row, err);
  if (run->spans.kind[row] != XSP_KIND_LAUNCH)
    return STATUS_OK;
  size_t first = 0, count = 0;
  timeline_executions(run, row, &first, &count);
  for (size_t i = first; i < first + count; i++)
    XSP_TRY(put_flow(chrome, lane, "s", row, run->execution_order[i], err));
  return STATUS_OK;
}

static enum status put_span(void *context, const struct timeline_lane *lane, uint32_t row, struct error *err)
{
  struct chrome *chrome = context;
  const struct store_spans *spans = &chrome->run->spans;
  bool is_open = timeline_is_open(chrome->run, row);
  begin_event(chrome, is_open ? "B" : "X"); // a B without its E is a span that did not finish
  put_store_text(chrome, "name", spans->name[row]);
  json_key(&chrome->json, "cat");
  json_string(&chrome->json, level_name(spans->level[row]));
  put_time(chrome, "ts", timeline_time(&chrome->timeline, chrome->run, spans->start_ns[row]));
  if (!is_open)
    put_time(chrome, "dur", (uint64_t)spans->duration_ns[row]);
  put_int(chrome, "pid", lane_pid(chrome, lane));
  put_int(chrome, "tid", lane_tid(chrome, lane));
  put_args(chrome, row);
  XSP_TRY(end_event(chrome, err));
  return put_flows(chrome, lane, row, err);
}

static enum status put_run(struct chrome *chrome, size_t index, struct error *err)
{
  struct arena arena = {0};
  struct timeline_run run;
  enum status status = timeline_load(&chrome->timeline, index, &arena, &run, err);
  chrome->run = &run;
  const struct timeline_sink sink = {chrome, put_span, NULL};
  for (size_t i = 0; status == STATUS_OK && i < run.lane_count; i++) {
    status = put_lane(chrome, &run.lanes[i], err);
    if (status == STATUS_OK)
      status = timeline_walk(&run, &run.lanes[i], &sink, err);
  }
  chrome->run = NULL;
  arena_done(&arena);
  return status;
}

static enum status write_all(struct chrome *chrome, struct error *err)
{
  const struct timeline *timeline = &chrome->timeline;
  buf_format(&chrome->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"xsp\",\"zero_unix_ns\":");
  if (timeline->has_unix_time)
    buf_format(&chrome->out, "\"%" PRId64 "\"", timeline->first_ns);
  else
    buf_text(&chrome->out, "null");
  buf_text(&chrome->out, "},\"traceEvents\":[");
  for (size_t i = 0; i < timeline->process_count; i++)
    XSP_TRY(put_metadata(chrome, "process_name", timeline->processes[i].pid, 0, timeline->processes[i].name, err));
  for (size_t i = 0; i < timeline->run_count; i++)
    XSP_TRY(put_run(chrome, i, err));
  buf_text(&chrome->out, "\n]}\n");
  XSP_TRY(export_file_flush_buf(&chrome->file, &chrome->out, err));
  return export_file_close(&chrome->file, err);
}

static enum status write_chrome(struct store *store, const char *path, struct error *err)
{
  struct chrome chrome = {0};
  buf_init(&chrome.out, BUF_MAXIMUM_DEFAULT);
  enum status status = timeline_open(store, &chrome.timeline, err);
  if (status == STATUS_OK)
    status = export_file_open(path, &chrome.file, err);
  if (status == STATUS_OK)
    status = write_all(&chrome, err);
  export_file_abandon(&chrome.file);
  timeline_done(&chrome.timeline);
  buf_done(&chrome.out);
  return status;
}

const struct report_export report_export_chrome = {
    .name = "chrome",
    .summary = "Chrome's trace event JSON, for chrome://tracing and many other viewers",
    .extension = "json",
    .write = write_chrome,
};
