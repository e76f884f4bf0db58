// SPDX-License-Identifier: Apache-2.0
// OpenTelemetry's traces, as JSON (one request a line) and as protobuf. What OTLP has no field for stands in attributes
// that begin with "xsp." (docs/otlp.md), so that a file that is read back is the same trace. One request holds at most
// SPANS_A_REQUEST spans of one run, in the order of the file; each is complete in itself but for what only the run's first
// one carries (notes, tracks and messages without spans).
#include "base/hex.h"
#include "otlp/attributes.h"
#include "otlp/encode.h"
#include "report/exports/exports.h"
#include "report/exports/file.h"
#include "report/exports/otlp_facts.h"

#include <math.h>
#include <string.h>

#define SPANS_A_REQUEST 512u

struct writer {
  struct store *store;
  struct export_file file;
  struct buf text;
  struct otlp_out out;
  struct otlp_facts facts; // of the current run
  bool has_file_notes;     // they have been written
  bool is_first;           // no request of the run has been written
  size_t span_count;       // in the open request; 0 and no request open: see is_open
  bool is_open;
  size_t resource_spans, scope_spans; // places in protobuf
};

// ---- attributes of the resource --------------------------------------------------------------------------------------
#define RESOURCE OTLP_RESOURCE_ATTRIBUTES
#define SPAN OTLP_SPAN_ATTRIBUTES

static void put(struct writer *writer, enum otlp_field_id list, const char *key, struct otlp_value value)
{
  otlp_out_attribute(&writer->out, list, "", otlp_text(key), value);
}

static void put_text(struct writer *writer, enum otlp_field_id list, const char *key, const char *text)
{
  if (text != NULL)
    put(writer, list, key, otlp_value_of_text(otlp_text(text)));
}

static void put_int(struct writer *writer, enum otlp_field_id list, const char *key, int64_t number)
{
  if (number != STORE_NONE)
    put(writer, list, key, otlp_value_of_int(number));
}

static void put_values(struct writer *writer, const char *prefix, const struct store_system_value *values, size_t count)
{
  for (size_t i = 0; i < count; i++)
    otlp_out_attribute(&writer->out, RESOURCE, prefix, otlp_text(values[i].key),
                       values[i].is_number ? otlp_value_of_double(values[i].number)
                                           : otlp_value_of_text(otlp_text(values[i].text)));
}

static void put_experiment(struct writer *writer)
{
  const struct store_experiment *experiment = writer->facts.experiment;
  if (experiment == NULL)
    return;
  put_text(writer, RESOURCE, OTLP_SERVICE_NAME, experiment->name);
  put_text(writer, RESOURCE, OTLP_EXPERIMENT, experiment->name);
  put_int(writer, RESOURCE, OTLP_EXPERIMENT_ID, experiment->experiment_id);
  put_text(writer, RESOURCE, OTLP_WORKLOAD, experiment->workload);
  put_text(writer, RESOURCE, OTLP_FRAMEWORK, experiment->framework);
  put_text(writer, RESOURCE, OTLP_FRAMEWORK_VERSION, experiment->framework_version);
  put_text(writer, RESOURCE, OTLP_COMMAND, experiment->command);
  put_int(writer, RESOURCE, OTLP_CREATED, experiment->created_ns);
  put_text(writer, RESOURCE, OTLP_XSP_VERSION, experiment->xsp_version);
  put_values(writer, OTLP_SYSTEM_PREFIX, writer->facts.system, writer->facts.system_count);
  put_values(writer, OTLP_MODEL_PREFIX, writer->facts.workload, writer->facts.workload_count);
}

static void put_run(struct writer *writer)
{
  const struct otlp_facts *facts = &writer->facts;
  const struct store_run *run = facts->run;
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(run->levels, levels);
  put_int(writer, RESOURCE, OTLP_RUN, run->run_id);
  put_text(writer, RESOURCE, OTLP_LEVELS, levels);
  if (run->batch_size > 0)
    put_int(writer, RESOURCE, OTLP_BATCH_SIZE, run->batch_size);
  put_int(writer, RESOURCE, OTLP_DROPPED, run->dropped_count);
  if (run->misused_count != 0)
    put_int(writer, RESOURCE, OTLP_MISUSED, run->misused_count);
  if (!isnan(run->own_pct))
    put(writer, RESOURCE, OTLP_OWN_PCT, otlp_value_of_double(run->own_pct));
  put_text(writer, RESOURCE, OTLP_EPOCH, run->epoch_is_unix ? "unix" : "trace");
  put_text(writer, RESOURCE, OTLP_LAYER, run->layer);
  if (facts->has_own_trace) {
    char hex[33];
    *hex_encode(hex, facts->own_trace, sizeof facts->own_trace) = 0;
    put_text(writer, RESOURCE, OTLP_TRACE_ID, hex);
  }
  if (facts->has_many_traces)
    put(writer, RESOURCE, OTLP_UNIQUE_IDS, otlp_value_of_bool(true));
}

// ---- what only the first request of a run says -----------------------------------------------------------------------
static void put_notes(struct writer *writer)
{
  const struct otlp_facts *facts = &writer->facts;
  for (size_t i = 0; i < facts->note_count; i++) {
    const struct otlp_note *note = &facts->notes[i];
    bool is_foreign = strchr(note->key, '.') != NULL && strncmp(note->key, "xsp.", 4) != 0; // a resource's attribute
    const char *prefix = note->run_id == 0 ? OTLP_FILE_NOTE_PREFIX : is_foreign ? "" : OTLP_NOTE_PREFIX;
    bool is_repeated = note->run_id == 0 && writer->has_file_notes;
    bool is_of_this_file = strcmp(note->key, "import") == 0; // its origin, which another file does not share
    if (!is_repeated && !is_of_this_file)
      otlp_out_attribute(&writer->out, RESOURCE, prefix, otlp_text(note->key),
                         otlp_value_of_text(otlp_text(note->value)));
  }
  writer->has_file_notes = true;
}

static void put_optional_int(struct json_writer *json, const char *key, int64_t number)
{
  if (number == STORE_NONE)
    return;
  json_key(json, key);
  json_int(json, number);
}

static void put_optional_text(struct json_writer *json, const char *key, const char *text)
{
  if (text == NULL)
    return;
  json_key(json, key);
  json_string(json, text);
}

static void put_unused_tracks(struct writer *writer)
{
  const struct otlp_facts *facts = &writer->facts;
  struct json_writer json;
  buf_clear(&writer->text);
  json_start(&json, &writer->text);
  json_array(&json);
  for (size_t i = 0; i < facts->track_count; i++) {
    const struct store_track *track = &facts->tracks[i];
    if (facts->track_is_used[i])
      continue;
    json_object(&json);
    put_optional_int(&json, "track", track->track_id);
    put_optional_text(&json, "name", track->name);
    put_optional_text(&json, "host", track->host);
    put_optional_text(&json, "clock", track->clock);
    put_optional_int(&json, "process_id", track->process_id);
    put_optional_int(&json, "thread_id", track->thread_id);
    put_optional_int(&json, "device_id", track->device_id);
    put_optional_int(&json, "stream_id", track->stream_id);
    json_object_end(&json);
  }
  json_array_end(&json);
  writer->file.out.failed |= writer->text.failed;
  if (writer->text.length > strlen("[]"))
    put_text(writer, RESOURCE, OTLP_TRACKS, writer->text.data);
}

static void put_messages_of_no_span(struct writer *writer)
{
  const struct otlp_facts *facts = &writer->facts;
  struct json_writer json;
  buf_clear(&writer->text);
  json_start(&json, &writer->text);
  json_array(&json);
  for (size_t i = 0; i < facts->message_count && facts->messages[i].span_id <= 0; i++) {
    json_object(&json);
    put_optional_int(&json, "time_ns", facts->messages[i].time_ns);
    json_key(&json, "message");
    json_string_n(&json, facts->messages[i].text, facts->messages[i].length);
    json_object_end(&json);
  }
  json_array_end(&json);
  writer->file.out.failed |= writer->text.failed;
  if (writer->text.length > strlen("[]"))
    put_text(writer, RESOURCE, OTLP_LOGS, writer->text.data);
}

// ---- requests --------------------------------------------------------------------------------------------------------
static void open_request(struct writer *writer)
{
  struct otlp_out *out = &writer->out;
  otlp_out_start(out);
  if (out->is_json)
    json_object(&out->json);
  otlp_out_list(out, OTLP_REQUEST_RESOURCE_SPANS);
  writer->resource_spans = otlp_out_message(out, OTLP_REQUEST_RESOURCE_SPANS);
  size_t resource = otlp_out_message(out, OTLP_RESOURCE_SPANS_RESOURCE);
  otlp_out_list(out, RESOURCE);
  put_experiment(writer);
  put_run(writer);
  if (writer->is_first) {
    put_notes(writer);
    put_unused_tracks(writer);
    put_messages_of_no_span(writer);
  }
  otlp_out_list_end(out);
  otlp_out_message_end(out, resource);
  otlp_out_list(out, OTLP_RESOURCE_SPANS_SCOPE_SPANS);
  writer->scope_spans = otlp_out_message(out, OTLP_RESOURCE_SPANS_SCOPE_SPANS);
  size_t scope = otlp_out_message(out, OTLP_SCOPE_SPANS_SCOPE);
  otlp_out_text(out, OTLP_SCOPE_NAME, "xsp", strlen("xsp"));
  otlp_out_text(out, OTLP_SCOPE_VERSION, XSP_VERSION, strlen(XSP_VERSION));
  otlp_out_message_end(out, scope);
  otlp_out_list(out, OTLP_SCOPE_SPANS_SPANS);
  writer->is_first = false;
  writer->is_open = true;
  writer->span_count = 0;
}

static enum status close_request(struct writer *writer, struct error *err)
{
  struct otlp_out *out = &writer->out;
  if (!writer->is_open)
    return STATUS_OK;
  otlp_out_list_end(out);
  otlp_out_message_end(out, writer->scope_spans);
  otlp_out_list_end(out);
  otlp_out_message_end(out, writer->resource_spans);
  otlp_out_list_end(out);
  if (out->is_json) {
    json_object_end(&out->json);
    buf_put(&writer->file.out, "\n", 1);
  }
  writer->is_open = false;
  export_file_flush(&writer->file);
  return writer->file.status;
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static void put_string(struct writer *writer, enum otlp_role role, uint32_t string)
{
  struct otlp_text text;
  text.at = store_text(writer->store, string, &text.length);
  put(writer, SPAN, otlp_role_attribute(role), otlp_value_of_text(text));
}

static void put_track(struct writer *writer, uint32_t track_id)
{
  const struct store_track *track = otlp_facts_track(&writer->facts, track_id);
  if (track_id != 0)
    put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_TRACK), track_id);
  if (track_id == 0 || track == NULL)
    return;
  put_text(writer, SPAN, otlp_role_attribute(OTLP_IS_TRACK_NAME), track->name);
  put_text(writer, SPAN, otlp_role_attribute(OTLP_IS_HOST), track->host);
  put_text(writer, SPAN, otlp_role_attribute(OTLP_IS_CLOCK), track->clock);
  put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_PROCESS), track->process_id);
  put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_THREAD), track->thread_id);
  put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_DEVICE), track->device_id);
  put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_STREAM), track->stream_id);
}

static void put_tags(struct writer *writer, int64_t span_id)
{
  const struct otlp_facts *facts = &writer->facts;
  for (size_t i = otlp_facts_first_tag(facts, span_id); i < facts->tag_count && facts->tags[i].span_id == span_id;
       i++) {
    const struct store_tag *tag = &facts->tags[i];
    struct otlp_text key, text;
    struct otlp_value value;
    key.at = store_text(writer->store, tag->key, &key.length);
    if (tag->type == STORE_INT) {
      value = otlp_value_of_int(tag->value.integer);
    } else if (tag->type == STORE_DOUBLE) {
      value = otlp_value_of_double(tag->value.real);
    } else {
      text.at = store_text(writer->store, tag->value.string, &text.length);
      value = otlp_value_of_text(text);
    }
    otlp_out_attribute(&writer->out, SPAN, otlp_tag_prefix(key.at, key.length), key, value);
  }
}

static void put_messages(struct writer *writer, int64_t span_id)
{
  const struct otlp_facts *facts = &writer->facts;
  struct otlp_out *out = &writer->out;
  size_t at = otlp_facts_first_message(facts, span_id);
  if (at == facts->message_count || facts->messages[at].span_id != span_id)
    return;
  otlp_out_list(out, OTLP_SPAN_EVENTS);
  for (; at < facts->message_count && facts->messages[at].span_id == span_id; at++) {
    const struct otlp_log *message = &facts->messages[at];
    size_t event = otlp_out_message(out, OTLP_SPAN_EVENTS);
    otlp_out_time(out, OTLP_EVENT_TIME, message->time_ns > 0 ? (uint64_t)message->time_ns : 0);
    otlp_out_text(out, OTLP_EVENT_NAME, message->text, message->length);
    if (message->time_ns < 0) {
      otlp_out_list(out, OTLP_EVENT_ATTRIBUTES);
      put_int(writer, OTLP_EVENT_ATTRIBUTES, OTLP_EVENT_TIME_NS, message->time_ns);
      otlp_out_list_end(out);
    }
    otlp_out_message_end(out, event);
  }
  otlp_out_list_end(out);
}

static void put_id(struct writer *writer, enum otlp_field_id field, int64_t id)
{
  uint8_t bytes[8];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (uint8_t)((uint64_t)id >> (56 - 8 * i));
  otlp_out_id(&writer->out, field, bytes, sizeof bytes);
}

// Where it ran, when, and what it belongs to; then its tags.
static void put_attributes(struct writer *writer, const struct store_spans *spans, const struct store_derived *derived,
                           size_t row, int64_t end_ns, const char *trace)
{
  otlp_out_list(&writer->out, SPAN);
  put_text(writer, SPAN, otlp_role_attribute(OTLP_IS_LEVEL), level_name(spans->level[row]));
  put_text(writer, SPAN, otlp_role_attribute(OTLP_IS_KIND), kind_name(spans->kind[row]));
  if (spans->category[row] != 0 || spans->level[row] == XSP_LEVEL_KERNEL) // without one, readers assume "kernel"
    put_string(writer, OTLP_IS_CATEGORY, spans->category[row]);
  if (spans->correlation_id[row] != 0)
    put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_CORRELATION), spans->correlation_id[row]);
  put_string(writer, OTLP_IS_TRACER, spans->tracer[row]);
  put_text(writer, SPAN, otlp_role_attribute(OTLP_IS_BASIS), basis_name(derived->basis[row]));
  put_track(writer, spans->track_id[row]);
  int64_t observation = otlp_facts_observation(&writer->facts, spans->span_id[row]);
  if (observation >= 0)
    put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_OBSERVATION), observation);
  if ((spans->flags[row] & STORE_SPAN_OPEN) != 0)
    put(writer, SPAN, otlp_role_attribute(OTLP_IS_OPEN), otlp_value_of_bool(true));
  if (spans->start_ns[row] < 0)
    put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_START), spans->start_ns[row]);
  if (end_ns < 0)
    put_int(writer, SPAN, otlp_role_attribute(OTLP_IS_END), end_ns);
  put_text(writer, SPAN, otlp_role_attribute(OTLP_IS_TRACE), trace);
  put_tags(writer, spans->span_id[row]);
  otlp_out_list_end(&writer->out);
}

static void put_span(struct writer *writer, const struct store_spans *spans, const struct store_derived *derived,
                     size_t row)
{
  struct otlp_out *out = &writer->out;
  uint8_t trace[16];
  const char *trace_text;
  size_t length = 0;
  int64_t end_ns;
  if (__builtin_add_overflow(spans->start_ns[row], spans->duration_ns[row], &end_ns))
    end_ns = INT64_MAX;
  const char *name = store_text(writer->store, spans->name[row], &length);
  otlp_facts_trace(&writer->facts, spans->trace_id[row], trace, &trace_text);
  size_t span = otlp_out_message(out, OTLP_SCOPE_SPANS_SPANS);
  otlp_out_id(out, OTLP_SPAN_TRACE_ID, trace, sizeof trace);
  put_id(writer, OTLP_SPAN_ID, spans->span_id[row]);
  if (derived->parent_id[row] != 0)
    put_id(writer, OTLP_SPAN_PARENT_ID, derived->parent_id[row]);
  otlp_out_text(out, OTLP_SPAN_NAME, name, length);
  otlp_out_enum(out, OTLP_SPAN_KIND, OTLP_SPAN_KIND_INTERNAL);
  otlp_out_time(out, OTLP_SPAN_START, spans->start_ns[row] > 0 ? (uint64_t)spans->start_ns[row] : 0);
  otlp_out_time(out, OTLP_SPAN_END, end_ns > 0 ? (uint64_t)end_ns : 0);
  put_attributes(writer, spans, derived, row, end_ns, trace_text);
  put_messages(writer, spans->span_id[row]);
  otlp_out_message_end(out, span);
}

static enum status put_rows(void *context, size_t first_row, const struct store_spans *spans,
                            const struct store_derived *derived, struct error *err)
{
  struct writer *writer = context;
  (void)first_row;
  for (size_t row = 0; row < spans->count; row++) {
    if (writer->span_count == SPANS_A_REQUEST)
      XSP_TRY(close_request(writer, err));
    if (!writer->is_open)
      open_request(writer);
    put_span(writer, spans, derived, row);
    writer->span_count++;
  }
  return STATUS_OK;
}

// ---- runs ------------------------------------------------------------------------------------------------------------
static enum status write_run(struct writer *writer, struct arena *arena, struct error *err)
{
  const uint32_t mask = STORE_ALL_BASE | STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_BASIS);
  XSP_TRY(otlp_facts_load(writer->store, &writer->facts, arena, err));
  writer->is_first = true;
  writer->span_count = 0;
  XSP_TRY(store_walk_spans(writer->store, writer->facts.run->run_id, mask, put_rows, writer, err));
  if (writer->is_first) // a run without spans is a run
    open_request(writer);
  return close_request(writer, err);
}

static enum status write_runs(struct writer *writer, struct arena *arena, struct error *err)
{
  struct store_run *runs;
  struct store_experiment *experiments;
  size_t run_count = 0;
  size_t experiment_count = 0;
  enum status status = STATUS_OK;
  XSP_TRY(store_runs(writer->store, arena, &runs, &run_count, err));
  XSP_TRY(store_experiments(writer->store, arena, &experiments, &experiment_count, err));
  for (size_t i = 0; i < run_count && status == STATUS_OK; i++) {
    struct arena run_arena = {0};
    struct store_system_value *system = NULL, *workload = NULL;
    writer->facts = (struct otlp_facts){.run = &runs[i]};
    for (size_t j = 0; j < experiment_count; j++)
      if (experiments[j].experiment_id == runs[i].experiment_id)
        writer->facts.experiment = &experiments[j];
    if (writer->facts.experiment != NULL)
      status = store_system(writer->store, writer->facts.experiment->system_id, &run_arena, &system,
                            &writer->facts.system_count, err);
    if (status == STATUS_OK && writer->facts.experiment != NULL)
      status = store_workload(writer->store, writer->facts.experiment->experiment_id, &run_arena, &workload,
                              &writer->facts.workload_count, err);
    writer->facts.system = system;
    writer->facts.workload = workload;
    if (status == STATUS_OK)
      status = write_run(writer, &run_arena, err);
    arena_done(&run_arena);
  }
  return status;
}

static enum status write_file(struct store *store, const char *path, bool is_json, struct error *err)
{
  struct writer writer = {.store = store};
  struct arena arena = {0};
  enum status status = export_file_open(path, &writer.file, err);
  buf_init(&writer.text, BUF_MAXIMUM_DEFAULT);
  otlp_out_init(&writer.out, is_json, &writer.file.out);
  if (status == STATUS_OK)
    status = write_runs(&writer, &arena, err);
  otlp_out_done(&writer.out);
  buf_done(&writer.text);
  arena_done(&arena);
  return export_file_close(&writer.file, status);
}

static enum status write_json(struct store *store, const char *path, struct error *err)
{
  return write_file(store, path, true, err);
}

static enum status write_proto(struct store *store, const char *path, struct error *err)
{
  return write_file(store, path, false, err);
}

const struct report_export report_export_otlp = {
    .name = "otlp",
    .summary = "OpenTelemetry traces (OTLP) as JSON, one request a line",
    .extension = "jsonl",
    .write = write_json,
};
const struct report_export report_export_otlp_proto = {
    .name = "otlp-proto",
    .summary = "OpenTelemetry traces (OTLP) as protobuf",
    .extension = "pb",
    .write = write_proto,
};
