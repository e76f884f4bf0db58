// SPDX-License-Identifier: Apache-2.0
// OpenTelemetry's traces, as JSON (one request a line) and as protobuf. What OTLP has no field for is in attributes
// that begin with "xsp." (docs/otlp.md), so that a file that is read back is the same trace. A request holds at most
// SPANS_A_REQUEST spans of one run, in the order of the file, and ends early where it is REQUEST_BYTES long. Each is
// complete, except for what only the run's first one has: notes, and tracks and messages without spans.
#include "otlp/attributes.h"
#include "otlp/encode.h"
#include "report/exports/otlp_known.h"
#include "report/report.h"

#include <string.h>

#define SPANS_A_REQUEST 512u
#define REQUEST_BYTES ((size_t)1 << 20)

struct writer {
  struct store *store;
  const struct report_otlp_sink *sink;
  struct buf request; // the open one
  enum status status; // of the first request that the sink refused
  struct error *err;
  struct otlp_out out;
  struct otlp_facts facts; // of the current run
  struct otlp_known attributes;
  bool has_file_notes;       // they have been written
  bool is_first;             // no request of the run has been written
  bool is_recorded;          // parents are those that the source recorded; correlate has not run
  size_t first_row, end_row; // that are written
  int64_t step_count;        // is_recorded: steps so far
  size_t span_count;         // in the open request; 0 and no request open: see is_open
  bool is_open;
  size_t resource_spans, scope_spans; // places in protobuf
};

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
  otlp_facts_put_resource(out, &writer->facts, writer->is_first, writer->is_first && !writer->has_file_notes);
  writer->has_file_notes = true;
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

static void close_request(struct writer *writer)
{
  struct otlp_out *out = &writer->out;
  if (!writer->is_open)
    return;
  otlp_out_list_end(out);
  otlp_out_message_end(out, writer->scope_spans);
  otlp_out_list_end(out);
  otlp_out_message_end(out, writer->resource_spans);
  otlp_out_list_end(out);
  if (out->is_json) {
    json_object_end(&out->json);
    buf_put(&writer->request, "\n", 1);
  }
  writer->is_open = false;
  if (writer->status == STATUS_OK)
    writer->status = writer->sink->put(writer->sink->context, &writer->request, writer->span_count, writer->err);
  buf_clear(&writer->request);
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static void put_messages(struct writer *writer, int64_t span_id)
{
  const struct otlp_facts *facts = &writer->facts;
  struct otlp_out *out = &writer->out;
  size_t at = otlp_facts_first_message(facts, span_id);
  if (at == facts->log_count || facts->logs[at].span_id != span_id)
    return;
  otlp_out_list(out, OTLP_SPAN_EVENTS);
  for (; at < facts->log_count && facts->logs[at].span_id == span_id; at++) {
    const struct store_log *log = &facts->logs[at];
    size_t event = otlp_out_message(out, OTLP_SPAN_EVENTS);
    otlp_out_time(out, OTLP_EVENT_TIME, log->time_ns > 0 ? (uint64_t)log->time_ns : 0);
    otlp_out_text(out, OTLP_EVENT_NAME, log->message.data, log->message.length);
    if (log->time_ns < 0) {
      otlp_out_list(out, OTLP_EVENT_ATTRIBUTES);
      otlp_put_int(&writer->out, OTLP_EVENT_ATTRIBUTES, OTLP_EVENT_TIME_NS, log->time_ns);
      otlp_out_list_end(out);
    }
    otlp_out_message_end(out, event);
  }
  otlp_out_list_end(out);
}

static void put_id(struct writer *writer, enum otlp_field_id field, int64_t span_id)
{
  uint8_t bytes[8];
  otlp_facts_span_id(&writer->facts, span_id, bytes);
  otlp_out_id(&writer->out, field, bytes, sizeof bytes);
}

struct link { // to a span's parent
  int64_t parent_id;
  int basis; // enum basis; -1: the reader finds the parent
};

static struct link link_of(const struct writer *writer, const struct store_spans *spans,
                           const struct store_derived *derived, size_t row)
{
  return writer->is_recorded ? (struct link){spans->recorded_parent_id[row], STORE_BASIS_OF_FLAGS(spans->flags[row])}
                             : (struct link){derived->parent_id[row], derived->basis[row]};
}

// Of a model span: which observation it is; -1: none.
static int64_t observation_of(struct writer *writer, const struct store_spans *spans, size_t row)
{
  if (!writer->is_recorded)
    return otlp_facts_observation(&writer->facts, spans->span_id[row]);
  bool is_step = spans->level[row] == XSP_LEVEL_MODEL && (spans->flags[row] & STORE_SPAN_STEP) != 0;
  return is_step ? writer->step_count++ : -1;
}

// Where it ran, when, and what it belongs to; then its tags.
static void put_attributes(struct writer *writer, const struct store_spans *spans, int basis, size_t row,
                           int64_t end_ns, const char *trace, bool has_remote_parent)
{
  struct otlp_known *attributes = &writer->attributes;
  struct otlp_out *out = &writer->out;
  otlp_out_list(out, OTLP_SPAN_ATTRIBUTES);
  otlp_known_put_kind(attributes, spans->level[row], spans->kind[row], spans->category[row]);
  if (spans->correlation_id[row] != 0)
    otlp_put_int(out, OTLP_SPAN_ATTRIBUTES, otlp_role_attribute(OTLP_IS_CORRELATION), spans->correlation_id[row]);
  otlp_known_put_tracer(attributes, spans->tracer[row], basis);
  if (has_remote_parent)
    otlp_out_attribute(out, OTLP_SPAN_ATTRIBUTES, "", slice_of(otlp_role_attribute(OTLP_IS_REMOTE_PARENT)),
                       otlp_value_of_bool(true));
  otlp_known_put_track(attributes, spans->track_id[row]);
  int64_t observation = observation_of(writer, spans, row);
  if (observation >= 0)
    otlp_put_int(out, OTLP_SPAN_ATTRIBUTES, otlp_role_attribute(OTLP_IS_OBSERVATION), observation);
  if ((spans->flags[row] & STORE_SPAN_OPEN) != 0)
    otlp_out_attribute(out, OTLP_SPAN_ATTRIBUTES, "", slice_of(otlp_role_attribute(OTLP_IS_OPEN)),
                       otlp_value_of_bool(true));
  if (spans->start_ns[row] < 0)
    otlp_put_int(out, OTLP_SPAN_ATTRIBUTES, otlp_role_attribute(OTLP_IS_START), spans->start_ns[row]);
  if (end_ns < 0)
    otlp_put_int(out, OTLP_SPAN_ATTRIBUTES, otlp_role_attribute(OTLP_IS_END), end_ns);
  otlp_put_text(out, OTLP_SPAN_ATTRIBUTES, otlp_role_attribute(OTLP_IS_TRACE), trace);
  otlp_known_put_tags(attributes, spans->span_id[row]);
  otlp_out_list_end(&writer->out);
}

static void put_span(struct writer *writer, const struct store_spans *spans, const struct store_derived *derived,
                     size_t row)
{
  struct otlp_out *out = &writer->out;
  uint8_t trace[16], remote[8];
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
  struct link link = link_of(writer, spans, derived, row);
  bool has_remote_parent = link.parent_id == 0 && link.basis == BASIS_EXPLICIT &&
                           otlp_facts_remote_parent(writer->store, &writer->facts, spans->span_id[row], remote);
  if (has_remote_parent)
    otlp_out_id(out, OTLP_SPAN_PARENT_ID, remote, sizeof remote);
  else if (link.parent_id != 0)
    put_id(writer, OTLP_SPAN_PARENT_ID, link.parent_id);
  otlp_out_text(out, OTLP_SPAN_NAME, name, length);
  otlp_out_enum(out, OTLP_SPAN_KIND, OTLP_SPAN_KIND_INTERNAL);
  otlp_out_time(out, OTLP_SPAN_START, spans->start_ns[row] > 0 ? (uint64_t)spans->start_ns[row] : 0);
  otlp_out_time(out, OTLP_SPAN_END, end_ns > 0 ? (uint64_t)end_ns : 0);
  put_attributes(writer, spans, link.basis, row, end_ns, trace_text, has_remote_parent);
  put_messages(writer, spans->span_id[row]);
  otlp_out_message_end(out, span);
}

static enum status put_rows(void *context, size_t first_row, const struct store_spans *spans,
                            const struct store_derived *derived, struct error *err)
{
  struct writer *writer = context;
  struct arena arena SCOPED(arena_done) = {0};
  XSP_TRY(otlp_facts_load_tags(writer->store, &writer->facts, spans, &arena, err));
  writer->attributes.tag_at = 0;
  size_t end = writer->end_row - first_row < spans->count ? writer->end_row - first_row : spans->count;
  for (size_t row = writer->first_row > first_row ? writer->first_row - first_row : 0; row < end; row++) {
    if (writer->span_count == SPANS_A_REQUEST || writer->request.length >= REQUEST_BYTES)
      close_request(writer);
    if (!writer->is_open)
      open_request(writer);
    put_span(writer, spans, derived, row);
    writer->span_count++;
  }
  return writer->status;
}

// ---- runs ------------------------------------------------------------------------------------------------------------
static void begin(struct writer *writer, struct store *store, bool is_json, const struct report_otlp_sink *sink,
                  struct error *err)
{
  *writer = (struct writer){.store = store, .sink = sink, .err = err};
  buf_init(&writer->request, BUF_MAXIMUM_DEFAULT);
  otlp_out_init(&writer->out, is_json, &writer->request);
  writer->attributes = (struct otlp_known){.store = store, .out = &writer->out, .facts = &writer->facts};
}

static void end(struct writer *writer)
{
  otlp_out_done(&writer->out);
  pieces_done(&writer->attributes.pieces);
  buf_done(&writer->request);
}

static enum status write_run(struct writer *writer, struct arena *arena, struct error *err)
{
  const uint32_t mask = STORE_ALL_BASE | STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_BASIS);
  XSP_TRY(otlp_facts_load(writer->store, &writer->facts, arena, err));
  pieces_forget(&writer->attributes.pieces);
  writer->is_first = true;
  writer->span_count = 0;
  writer->end_row = SIZE_MAX;
  XSP_TRY(store_walk_spans(writer->store, writer->facts.run->run_id, mask, put_rows, writer, err));
  if (writer->is_first) // a run without spans is a run
    open_request(writer);
  close_request(writer);
  return writer->status;
}

static enum status write_runs(struct writer *writer, struct arena *arena, struct error *err)
{
  struct store_run *runs;
  struct store_experiment *experiments;
  size_t run_count = 0;
  size_t experiment_count = 0;
  XSP_TRY(store_runs(writer->store, arena, &runs, &run_count, err));
  XSP_TRY(store_experiments(writer->store, arena, &experiments, &experiment_count, err));
  for (size_t i = 0; i < run_count; i++) {
    struct arena run_arena SCOPED(arena_done) = {0};
    writer->facts = (struct otlp_facts){.run = &runs[i]};
    for (size_t j = 0; j < experiment_count; j++)
      if (experiments[j].experiment_id == runs[i].experiment_id)
        writer->facts.experiment = &experiments[j];
    XSP_TRY(write_run(writer, &run_arena, err));
  }
  return STATUS_OK;
}

enum status report_otlp_requests(struct store *store, bool is_json, const struct report_otlp_sink *sink,
                                 struct error *err)
{
  struct writer writer;
  struct arena arena SCOPED(arena_done) = {0};
  begin(&writer, store, is_json, sink, err);
  enum status status = write_runs(&writer, &arena, err);
  end(&writer);
  return status;
}

// ---- of a run that goes on -------------------------------------------------------------------------------------------
static enum status find_run(struct store *store, int64_t run_id, struct arena *arena, struct otlp_facts *facts,
                            struct error *err)
{
  struct store_run *runs;
  struct store_experiment *experiments;
  size_t run_count, experiment_count;
  XSP_TRY(store_runs(store, arena, &runs, &run_count, err));
  XSP_TRY(store_experiments(store, arena, &experiments, &experiment_count, err));
  for (size_t i = 0; i < run_count; i++)
    if (runs[i].run_id == run_id)
      facts->run = &runs[i];
  for (size_t i = 0; i < experiment_count; i++)
    if (experiments[i].experiment_id == facts->run->experiment_id)
      facts->experiment = &experiments[i];
  return STATUS_OK;
}

static enum status write_part(struct writer *writer, struct report_otlp_part *part, struct arena *arena,
                              struct error *err)
{
  writer->is_recorded = true;
  writer->has_file_notes = part->run_goes_on || part->has_no_file_notes;
  writer->is_first = !part->run_goes_on;
  writer->facts.has_levels = part->has_levels;
  writer->first_row = part->from.spans;
  writer->end_row = part->to.spans;
  writer->step_count = part->step_count;
  XSP_TRY(find_run(writer->store, part->run_id, arena, &writer->facts, err));
  XSP_TRY(part->run_goes_on ? otlp_facts_load_part(writer->store, &writer->facts, &part->from, &part->to, arena, err)
                            : otlp_facts_load(writer->store, &writer->facts, arena, err));
  XSP_TRY(store_walk_spans_from(writer->store, part->run_id, STORE_ALL_BASE | STORE_KIND_AS_STORED, part->from.spans,
                                part->to.spans, put_rows, writer, err));
  part->step_count = writer->step_count;
  close_request(writer);
  return writer->status;
}

enum status report_otlp_part(struct store *store, struct report_otlp_part *part, const struct report_otlp_sink *sink,
                             struct error *err)
{
  struct writer writer;
  struct arena arena SCOPED(arena_done) = {0};
  begin(&writer, store, false, sink, err);
  enum status status = write_part(&writer, part, &arena, err);
  end(&writer);
  return status;
}
