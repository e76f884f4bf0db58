// SPDX-License-Identifier: Apache-2.0
// A .pftrace for ui.perfetto.dev: a sequence of protobuf packets, written by hand. Names, categories and tag texts are
// interned: sent once, with the first event that uses them. Levels are categories, launches point at their executions.
// Field numbers are those of perfetto's protos/perfetto/trace; its Python package reads the file back in the tests.
#include "base/wire_write.h"
#include "report/exports/exports.h"
#include "report/exports/timeline.h"

#define SEQUENCE_ID 1u

enum trace_field { TRACE_PACKET = 1 };
enum packet_field {
  PACKET_CLOCK_SNAPSHOT = 6,
  PACKET_TIMESTAMP = 8,
  PACKET_SEQUENCE_ID = 10,
  PACKET_TRACK_EVENT = 11,
  PACKET_INTERNED_DATA = 12,
  PACKET_SEQUENCE_FLAGS = 13,
  PACKET_TRACK_DESCRIPTOR = 60,
};
enum sequence_flag { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum event_field {
  EVENT_CATEGORY_IIDS = 3,
  EVENT_ANNOTATIONS = 4,
  EVENT_TYPE = 9,
  EVENT_NAME_IID = 10,
  EVENT_TRACK = 11,
  EVENT_COUNTER_VALUE = 44, // a double
  EVENT_FLOW_IDS = 47,
  EVENT_TERMINATING_FLOW_IDS = 48,
};
enum event_type { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_COUNTER = 4 };
enum annotation_field {
  ANNOTATION_NAME_IID = 1,
  ANNOTATION_INT = 4,
  ANNOTATION_DOUBLE = 5,
  ANNOTATION_STRING_IID = 17
};
enum descriptor_field {
  TRACK_UUID = 1,
  TRACK_NAME = 2,
  TRACK_PROCESS = 3,
  TRACK_THREAD = 4,
  TRACK_PARENT = 5,
  TRACK_COUNTER = 8,
};
enum counter_field { COUNTER_UNIT_NAME = 6 };
enum process_field { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum thread_field { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum clock { CLOCK_REAL = 1, CLOCK_BOOT = 6 }; // perfetto's numbers
#define WHOLE_PROCESS INT64_MIN                // in the place of a tid: the process's own track

// Interned ids: a string of the store has its own number; the empty string and our fixed texts are above all of them.
#define FIXED_IIDS ((uint64_t)1 << 32)

enum { INTERN_CATEGORY, INTERN_NAME, INTERN_KEY, INTERN_VALUE, INTERN_KINDS };
static const unsigned intern_fields[INTERN_KINDS] = {1, 2, 3, 29}; // of InternedData

struct perfetto {
  struct timeline_writer writer;
  struct buf interned;    // of the current event
  struct buf event;       // the current event
  uint8_t *sent;          // by string id of the store: a bit per kind
  uint8_t sent_fixed[64]; // by number
  bool is_begun;          // the first packet of the sequence clears its state
};

static uint64_t mix(uint64_t value)
{
  value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
  return value ^ value >> 31;
}

static uint64_t track_uuid(size_t process, int64_t tid)
{
  return mix(mix(process + 1) ^ (uint64_t)tid) | 1;
}

// ---- packets ---------------------------------------------------------------------------------------------------------
static uint64_t packet_time(const struct timeline_writer *writer, int64_t time_ns)
{
  const struct timeline *timeline = &writer->timeline;
  uint64_t since_first = timeline_time(timeline, &writer->run, time_ns);
  return timeline->has_unix_time && timeline->first_ns > 0 ? since_first + (uint64_t)timeline->first_ns : since_first;
}

static void put_utf8(struct buf *out, unsigned field, const char *text, size_t length)
{
  size_t place = protobuf_begin(out, field);
  buf_utf8(out, text, length);
  protobuf_end(out, place);
}

// The interned id of a text; sends it where this is its first use.
static uint64_t send_text(struct perfetto *perfetto, unsigned kind, uint8_t *sent, uint64_t iid, const char *text,
                          size_t length)
{
  if ((*sent & 1u << kind) == 0) {
    *sent = (uint8_t)(*sent | 1u << kind);
    size_t place = protobuf_begin(&perfetto->interned, intern_fields[kind]);
    protobuf_varint(&perfetto->interned, 1, iid);
    put_utf8(&perfetto->interned, 2, text, length);
    protobuf_end(&perfetto->interned, place);
  }
  return iid;
}

static uint64_t intern_fixed(struct perfetto *perfetto, unsigned kind, unsigned number, const char *text)
{
  return send_text(perfetto, kind, &perfetto->sent_fixed[number], FIXED_IIDS + number, text, strlen(text));
}

static uint64_t intern(struct perfetto *perfetto, unsigned kind, uint32_t string)
{
  size_t length = 0;
  if (string == 0)
    return intern_fixed(perfetto, kind, 0, "");
  const char *text = store_text(perfetto->writer.timeline.store, string, &length);
  return send_text(perfetto, kind, &perfetto->sent[string], string, text, length);
}

static void put_event_packet(struct perfetto *perfetto, int64_t time_ns)
{
  struct buf *out = &perfetto->writer.file.out;
  size_t packet = protobuf_begin(out, TRACE_PACKET);
  protobuf_varint(out, PACKET_TIMESTAMP, packet_time(&perfetto->writer, time_ns));
  protobuf_varint(out, PACKET_SEQUENCE_ID, SEQUENCE_ID);
  protobuf_varint(out, PACKET_SEQUENCE_FLAGS, perfetto->is_begun ? FLAG_NEEDS_STATE : FLAG_STATE_CLEARED);
  perfetto->is_begun = true;
  if (perfetto->interned.length > 0)
    protobuf_bytes(out, PACKET_INTERNED_DATA, perfetto->interned.data, perfetto->interned.length);
  protobuf_bytes(out, PACKET_TRACK_EVENT, perfetto->event.data, perfetto->event.length);
  protobuf_end(out, packet);
  out->failed |= perfetto->interned.failed || perfetto->event.failed;
  buf_clear(&perfetto->interned);
  buf_clear(&perfetto->event);
  export_file_flush(&perfetto->writer.file);
}

// ---- descriptors -----------------------------------------------------------------------------------------------------
static void put_clocks(struct timeline_writer *writer)
{
  if (!writer->timeline.has_unix_time || writer->timeline.first_ns <= 0)
    return; // times count from the trace's own zero
  struct buf *out = &writer->file.out;
  size_t packet = protobuf_begin(out, TRACE_PACKET);
  size_t snapshot = protobuf_begin(out, PACKET_CLOCK_SNAPSHOT);
  const uint64_t clocks[] = {CLOCK_REAL, CLOCK_BOOT};
  for (size_t i = 0; i < 2; i++) {
    size_t clock = protobuf_begin(out, 1);
    protobuf_varint(out, 1, clocks[i]);
    protobuf_varint(out, 2, (uint64_t)writer->timeline.first_ns);
    protobuf_end(out, clock);
  }
  protobuf_varint(out, 2, CLOCK_BOOT);
  protobuf_end(out, snapshot);
  protobuf_varint(out, PACKET_SEQUENCE_ID, SEQUENCE_ID + 1);
  protobuf_end(out, packet);
}

struct descriptor { // places in the output
  size_t packet, descriptor;
};

static struct descriptor begin_descriptor(struct buf *out, uint64_t uuid)
{
  struct descriptor places = {.packet = protobuf_begin(out, TRACE_PACKET)};
  places.descriptor = protobuf_begin(out, PACKET_TRACK_DESCRIPTOR);
  protobuf_varint(out, TRACK_UUID, uuid);
  return places;
}

static void end_descriptor(struct buf *out, struct descriptor places)
{
  protobuf_end(out, places.descriptor);
  protobuf_varint(out, PACKET_SEQUENCE_ID, SEQUENCE_ID + 1);
  protobuf_end(out, places.packet);
}

static void put_process(struct timeline_writer *writer, size_t index)
{
  const struct timeline_process *process = &writer->timeline.processes[index];
  struct buf *out = &writer->file.out;
  struct descriptor places = begin_descriptor(out, track_uuid(index, WHOLE_PROCESS));
  size_t inner = protobuf_begin(out, TRACK_PROCESS);
  protobuf_varint(out, PROCESS_PID, (uint64_t)process->pid);
  put_utf8(out, PROCESS_NAME, process->name, strlen(process->name));
  protobuf_end(out, inner);
  end_descriptor(out, places);
}

// A thread's track is one for viewers, also where they cannot have its number: else it would lie around all threads.
static bool is_of_thread(const struct timeline_track *track)
{
  const struct store_track *source = track->track;
  return source->thread_id != STORE_NONE && source->device_id == STORE_NONE && source->stream_id == STORE_NONE;
}

// Overlapping lanes are children of their track, so that they are drawn right below it.
static void put_lane(struct timeline_writer *writer, const struct timeline_lane *lane)
{
  const struct timeline_track *track = &writer->run.tracks[lane->track];
  struct buf *out = &writer->file.out;
  struct descriptor places = begin_descriptor(out, track_uuid(track->process, lane->tid));
  if (lane->overlap == 0 && is_of_thread(track)) {
    size_t inner = protobuf_begin(out, TRACK_THREAD);
    protobuf_varint(out, THREAD_PID, (uint64_t)writer->timeline.processes[track->process].pid);
    protobuf_varint(out, THREAD_TID, (uint64_t)track->tid);
    put_utf8(out, THREAD_NAME, lane->name, strlen(lane->name));
    protobuf_end(out, inner);
  } else {
    protobuf_varint(out, TRACK_PARENT, track_uuid(track->process, lane->overlap > 0 ? track->tid : WHOLE_PROCESS));
    put_utf8(out, TRACK_NAME, lane->name, strlen(lane->name));
  }
  end_descriptor(out, places);
}

// ---- events ----------------------------------------------------------------------------------------------------------
// A value of type `type`: an integer, a double's bits, or a text's interned id.
static void annotate_value(struct perfetto *perfetto, uint64_t key_iid, enum store_value_type type, uint64_t value)
{
  size_t place = protobuf_begin(&perfetto->event, EVENT_ANNOTATIONS);
  protobuf_varint(&perfetto->event, ANNOTATION_NAME_IID, key_iid);
  if (type == STORE_DOUBLE)
    protobuf_fixed64(&perfetto->event, ANNOTATION_DOUBLE, value);
  else
    protobuf_varint(&perfetto->event, type == STORE_TEXT ? ANNOTATION_STRING_IID : ANNOTATION_INT, value);
  protobuf_end(&perfetto->event, place);
}

static void annotate_tag(struct perfetto *perfetto, const struct store_tag *tag)
{
  uint64_t key = intern(perfetto, INTERN_KEY, tag->key), value;
  memcpy(&value, &tag->value, sizeof value);
  if (tag->type == STORE_TEXT)
    value = intern(perfetto, INTERN_VALUE, tag->value.string);
  annotate_value(perfetto, key, (enum store_value_type)tag->type, value);
}

enum fixed_text { // numbers of our own texts; 0 is the empty one, then five levels, three kinds
  FIXED_LEVEL = 1,
  FIXED_KIND = FIXED_LEVEL + XSP_LEVEL_COUNT,
  FIXED_RUN = FIXED_KIND + 3,
  FIXED_KIND_KEY,
  FIXED_CORRELATION,
  FIXED_TRACER,
  FIXED_SPAN,
  FIXED_PARENT,
  FIXED_STEP,
  FIXED_BASIS_KEY,
  FIXED_BASIS, // of the first one
};

static void annotate_int(struct perfetto *perfetto, enum fixed_text number, const char *key, int64_t value)
{
  annotate_value(perfetto, intern_fixed(perfetto, INTERN_KEY, number, key), STORE_INT, (uint64_t)value);
}

static void annotate_text(struct perfetto *perfetto, enum fixed_text number, const char *key, uint64_t text_iid)
{
  annotate_value(perfetto, intern_fixed(perfetto, INTERN_KEY, number, key), STORE_TEXT, text_iid);
}

static void annotate_row(struct perfetto *perfetto, uint32_t row)
{
  const struct timeline_run *run = &perfetto->writer.run;
  const struct store_spans *spans = &run->spans;
  const unsigned kind = spans->kind[row];
  const char *basis = timeline_basis(run, row);
  if (run->derived.depth[row] == 0)
    annotate_int(perfetto, FIXED_RUN, "run_id", run->run->run_id);
  if (spans->tracer[row] != 0)
    annotate_text(perfetto, FIXED_TRACER, "tracer", intern(perfetto, INTERN_VALUE, spans->tracer[row]));
  if (kind != XSP_KIND_SYNC)
    annotate_text(perfetto, FIXED_KIND_KEY, "kind",
                  intern_fixed(perfetto, INTERN_VALUE, FIXED_KIND + kind, kind_name(kind)));
  if (spans->correlation_id[row] != 0)
    annotate_int(perfetto, FIXED_CORRELATION, "correlation_id", spans->correlation_id[row]);
  if ((spans->flags[row] & STORE_SPAN_STEP) != 0)
    annotate_int(perfetto, FIXED_STEP, TIMELINE_STEP_KEY, 1);
  if ((run->links[row] & TIMELINE_NAMED) != 0)
    annotate_int(perfetto, FIXED_SPAN, TIMELINE_SPAN_KEY, timeline_number(run, row));
  if (basis != NULL && run->parent[row] != TIMELINE_NO_ROW)
    annotate_int(perfetto, FIXED_PARENT, TIMELINE_PARENT_KEY, timeline_number(run, run->parent[row]));
  if (basis != NULL)
    annotate_text(perfetto, FIXED_BASIS_KEY, "basis",
                  intern_fixed(perfetto, INTERN_VALUE, FIXED_BASIS + run->derived.basis[row], basis));
  const struct timeline_range range = timeline_tags(run, spans->span_id[row]);
  for (size_t i = range.first; i < range.end; i++)
    annotate_tag(perfetto, &run->tags[i]);
}

static void put_flows(struct perfetto *perfetto, uint32_t row)
{
  const struct timeline_run *run = &perfetto->writer.run;
  if (run->spans.kind[row] == XSP_KIND_LAUNCH) {
    const struct timeline_range range = timeline_executions(run, row);
    for (size_t i = range.first; i < range.end; i++)
      protobuf_fixed64(&perfetto->event, EVENT_FLOW_IDS, timeline_flow_id(run, run->execution_order[i]));
  } else if (run->launch_of[row] != TIMELINE_NO_ROW) {
    protobuf_fixed64(&perfetto->event, EVENT_TERMINATING_FLOW_IDS, timeline_flow_id(run, row));
  }
}

static uint64_t lane_uuid(const struct perfetto *perfetto, const struct timeline_lane *lane)
{
  return track_uuid(perfetto->writer.run.tracks[lane->track].process, lane->tid);
}

static void put_begin(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct perfetto *perfetto = context;
  const struct store_spans *spans = &perfetto->writer.run.spans;
  struct buf *event = &perfetto->event;
  protobuf_varint(event, EVENT_TYPE, TYPE_BEGIN);
  protobuf_varint(event, EVENT_TRACK, lane_uuid(perfetto, lane));
  protobuf_varint(event, EVENT_NAME_IID, intern(perfetto, INTERN_NAME, spans->name[row]));
  const unsigned level = spans->level[row];
  protobuf_varint(event, EVENT_CATEGORY_IIDS,
                  intern_fixed(perfetto, INTERN_CATEGORY, FIXED_LEVEL + level, level_name(level)));
  if (spans->category[row] != 0)
    protobuf_varint(event, EVENT_CATEGORY_IIDS, intern(perfetto, INTERN_CATEGORY, spans->category[row]));
  put_flows(perfetto, row);
  annotate_row(perfetto, row);
  put_event_packet(perfetto, spans->start_ns[row]);
  export_file_spans(&perfetto->writer.file, 1);
}

static void put_end(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct perfetto *perfetto = context;
  protobuf_varint(&perfetto->event, EVENT_TYPE, TYPE_END);
  protobuf_varint(&perfetto->event, EVENT_TRACK, lane_uuid(perfetto, lane));
  put_event_packet(perfetto, timeline_end(&perfetto->writer.run, row));
}

static void put_counter(struct perfetto *perfetto, const struct timeline_counter *counter)
{
  struct timeline_writer *writer = &perfetto->writer;
  struct buf *out = &writer->file.out;
  const uint64_t process = track_uuid(counter->process, WHOLE_PROCESS);
  const uint64_t uuid = mix(process ^ mix((uint64_t)writer->run.run->run_id) ^ (uint64_t)counter->counter_id) | 1;
  struct descriptor places = begin_descriptor(out, uuid);
  protobuf_varint(out, TRACK_PARENT, process);
  put_utf8(out, TRACK_NAME, counter->name, strlen(counter->name));
  size_t inner = protobuf_begin(out, TRACK_COUNTER);
  if (counter->unit[0] != '\0')
    put_utf8(out, COUNTER_UNIT_NAME, counter->unit, strlen(counter->unit));
  protobuf_end(out, inner);
  end_descriptor(out, places);
  for (size_t i = 0; i < counter->point_count; i++) {
    uint64_t bits;
    memcpy(&bits, &counter->points[i].value, sizeof bits);
    protobuf_varint(&perfetto->event, EVENT_TYPE, TYPE_COUNTER);
    protobuf_varint(&perfetto->event, EVENT_TRACK, uuid);
    protobuf_fixed64(&perfetto->event, EVENT_COUNTER_VALUE, bits);
    put_event_packet(perfetto, counter->points[i].time_ns);
  }
}

static void put_run(struct timeline_writer *writer)
{
  for (size_t i = 0; i < writer->run.counter_count; i++)
    put_counter((struct perfetto *)writer, &writer->run.counters[i]);
  const struct timeline_sink sink = {writer, put_begin, put_end};
  for (size_t i = 0; i < writer->run.lane_count; i++) {
    put_lane(writer, &writer->run.lanes[i]);
    timeline_walk(&writer->run, &writer->run.lanes[i], &sink);
  }
}

static void begin(struct timeline_writer *writer)
{
  ((struct perfetto *)writer)->sent = memory_new((size_t)store_string_count(writer->timeline.store) + 1, 1);
  put_clocks(writer);
  for (size_t i = 0; i < writer->timeline.process_count; i++)
    put_process(writer, i);
}

static enum status write_perfetto(struct store *store, const char *path, const struct report_export_options *options,
                                  struct error *err)
{
  static const struct timeline_parts parts = {.begin = begin, .put_run = put_run, .is_read_back = true};
  struct perfetto perfetto = {0};
  buf_init(&perfetto.interned, BUF_MAXIMUM_DEFAULT);
  buf_init(&perfetto.event, BUF_MAXIMUM_DEFAULT);
  enum status status = timeline_write(&perfetto.writer, &parts, store, path, options, err);
  buf_done(&perfetto.interned);
  buf_done(&perfetto.event);
  free(perfetto.sent);
  return status;
}

const struct report_export report_export_perfetto = {
    .name = "perfetto",
    .summary = "a trace for ui.perfetto.dev: tracks, levels as categories, tags, arrows from launch to execution",
    .extension = "pftrace",
    .write = write_perfetto,
};
