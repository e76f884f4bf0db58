// SPDX-License-Identifier: Apache-2.0
// Chrome trace events of whatever origin: complete events, begin and end pairs, nestable asynchronous ones. Their levels
// are told from their names, as those of NVTX ranges (trace/format/range.h), but for what xsp itself exported. See
// docs/importers.md.
#include "base/json_read.h"
#include "format/level.h"
#include "format/range.h"
#include "importers/exported.h"
#include "importers/lanes.h"
#include "importers/trace_events/trace_events.h"

#include <inttypes.h>
#include <string.h>

// ---- recognising -----------------------------------------------------------------------------------------------------
static int recognize(struct slice head, bool is_all)
{
  head = import_json_head(head);
  if (slice_starts_with(
          head, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"xsp\",")) // answers/report/exports/chrome.c
    return 4; // whatever another program's file, that it was an import of, had in it
  if (slice_starts_with(head, "{"))
    return slice_contains(head, "\"traceEvents\"");
  if (!slice_starts_with(head, "["))
    return 0;
  bool is_empty = is_all && slice_starts_with(import_json_head(slice_after(head, 1)), "]");
  return is_empty ||
         (slice_contains(head, "\"ph\"") && (slice_contains(head, "\"ts\"") || slice_contains(head, "\"name\"")));
}

// ---- reading ---------------------------------------------------------------------------------------------------------
#define XLA_EVENTS_MOST 1000000u // of its trace.json.gz

struct reading {
  struct import *import;
  struct event_tracks tracks;
  struct import_lanes lanes;
  struct map thread_lanes;  // (track, 0) → lane
  struct map async_lanes;   // (category and scope, id and process) as ids of texts → lane
  struct map process_names; // (pid, 0) as ids of texts → text
  struct map thread_names;  // (pid, tid) → text
  uint64_t event_count;
  bool is_of_xla; // a process has the name that its profiler gives
  bool is_own;    // xsp wrote it
  bool has_zero;
  int64_t zero_ns, last_ns; // Unix time that times count from; the latest of them
  struct import_exported exported;
};

// An argument as a tag under its own key; objects and arrays as their JSON text. False: it gives none.
static bool read_tag(struct import *import, const struct trace_argument *argument, struct store_tag *ret_tag)
{
  const struct trace_value *value = &argument->value;
  ret_tag->key = import_slice(import, argument->key);
  if (ret_tag->key == 0 || value->type == TRACE_NULL || value->type == TRACE_NONE)
    return false;
  if (!import_event_scalar(import, value, ret_tag)) {
    ret_tag->type = STORE_TEXT;
    ret_tag->value.string = import_slice(import, value->raw);
  }
  return true;
}

static void tag_event(struct reading *reading, struct store_span *span, const struct trace_event *event)
{
  struct store_tag tag = {.span_id = span->span_id};
  for (size_t i = 0; i < event->argument_count; i++)
    if (read_tag(reading->import, &event->arguments[i], &tag) &&
        !(reading->is_own && import_exported_take(reading->import, &reading->exported, i == 0, &tag, span)))
      import_tag(reading->import, &tag);
}

// xsp writes a level as category.
static struct store_span make_own_span(struct reading *reading, const struct trace_event *event)
{
  struct import *import = reading->import;
  unsigned level = XSP_LEVEL_APPLICATION;
  (void)level_from_name(event->category.data, event->category.length, &level);
  int64_t number = 0;
  const struct trace_argument *named = trace_find(event, "xsp.span_id");
  if (named != NULL)
    (void)trace_int64(&named->value, &number);
  struct store_span span = {.span_id = import_exported_id(&reading->exported, number),
                            .start_ns = event->start_ns,
                            .level = (uint8_t)level,
                            .kind = XSP_KIND_SYNC,
                            .name = import_slice(import, event->name)};
  tag_event(reading, &span, event);
  return span;
}

// Categories that say what a range is where its name does not: MXNet's profiler calls operators so.
static bool is_operator(const struct trace_event *event)
{
  return slice_is(event->category, "operator");
}

// A span of this event, but for where it lies and how long it lasts. Its tags are handed over at once.
static struct store_span make_span(struct reading *reading, const struct trace_event *event)
{
  struct import *import = reading->import;
  struct range range;
  if (reading->is_own)
    return make_own_span(reading, event);
  range_read(NULL, event->name.data, event->name.length, import->options->model_range, &range);
  struct store_span span = {.span_id = import_exported_id(&reading->exported, 0),
                            .start_ns = event->start_ns,
                            .level = (uint8_t)range.level,
                            .kind = XSP_KIND_SYNC,
                            .flags = range.is_step ? STORE_SPAN_STEP : 0,
                            .name = import_string(import, range.name, range.name_length),
                            .category = import_slice(reading->import, event->category)};
  tag_event(reading, &span, event);
  if (is_operator(event) && span.level == XSP_LEVEL_APPLICATION) {
    span.level = XSP_LEVEL_LAYER;
    import_tag_text(import, span.span_id, import_word(import, "layer_type"), span.name);
  }
  if (range.sequence != RANGE_NO_NUMBER)
    import_tag_int(import, span.span_id, import_word(import, "sequence"), range.sequence);
  if (range.op_id != RANGE_NO_NUMBER)
    import_tag_int(import, span.span_id, import_word(import, "op_id"), range.op_id);
  if (range.sizes != NULL)
    import_tag_text(import, span.span_id, import_word(import, "input_shape"),
                    import_string(import, range.sizes, range.sizes_length));
  return span;
}

// ---- lanes -----------------------------------------------------------------------------------------------------------
static enum status thread_lane(struct reading *reading, const struct trace_event *event, uint32_t *ret_lane,
                               struct error *err)
{
  uint32_t track = 0;
  XSP_TRY(import_event_track(&reading->tracks, event, &track, err));
  uint64_t *lane = map_at(&reading->thread_lanes, map_number(track), NULL);
  int64_t process_id;
  if (*lane == 0) {
    *lane = import_lanes_add(&reading->lanes, track);
    if (reading->is_own && trace_int64(&event->process_id, &process_id) && process_id >= IMPORT_MADE_UP_PID)
      import_track_process(reading->import, track, NULL, STORE_NONE);
  }
  *ret_lane = (uint32_t)*lane;
  return STATUS_OK;
}

struct async_id {
  struct import *import;
  uint32_t id; // a text; 0: none
  bool is_local;
};

// Of {"local": "0x1"}, a number that its process counts for itself, or {"global": "0x1"}.
static bool take_id2(void *context, struct json_reader *reader, const char *key)
{
  struct async_id *id = context;
  bool is_local = strcmp(key, "local") == 0;
  if (reader->event == JSON_STRING && (is_local || strcmp(key, "global") == 0)) {
    id->id = import_slice(id->import, (struct slice){reader->text, reader->length});
    id->is_local = is_local;
  }
  return true;
}

static struct async_id read_id(const struct reading *reading, const struct trace_event *event)
{
  struct async_id id = {.import = reading->import};
  if (event->id2.type == TRACE_OBJECT)
    (void)json_each_of_text(event->id2.raw.data, event->id2.raw.length, take_id2, &id);
  if (id.id == 0)
    id.id = import_slice(reading->import, event->id.raw);
  return id;
}

// Asynchronous events that belong together have a track of their own: they lie on no thread.
static enum status async_lane(struct reading *reading, const struct trace_event *event, uint32_t *ret_lane,
                              struct error *err)
{
  struct import *import = reading->import;
  struct async_id id = read_id(reading, event);
  uint32_t category = import_slice(import, event->category), scope = import_slice(import, event->scope),
           process = id.is_local ? import_slice(import, event->process_id.raw) : 0;
  struct map_key key = {(uint64_t)category << 32 | scope, (uint64_t)id.id << 32 | process};
  uint64_t *lane = map_at(&reading->async_lanes, key, NULL);
  if (*lane == 0) {
    struct store_track row = IMPORT_NO_PLACE;
    uint32_t track = 0;
    (void)trace_int64(&event->process_id, &row.process_id);
    row.name =
        arena_format(import->arena, "%s %s", import_text(import, category, NULL), import_text(import, id.id, NULL));
    XSP_TRY(import_track(import, &row, &track, err));
    *lane = import_lanes_add(&reading->lanes, track);
  }
  *ret_lane = (uint32_t)*lane;
  return STATUS_OK;
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static enum status let_go(struct reading *reading, bool is_end, struct error *err)
{
  struct store_span span;
  while (import_exported_next(&reading->exported, is_end, &span))
    XSP_TRY(import_lanes_complete(&reading->lanes, span.track_id, &span, err));
  return STATUS_OK;
}

static enum status read_complete(struct reading *reading, const struct trace_event *event, struct error *err)
{
  uint32_t lane = 0;
  int64_t duration_ns = 0;
  if (!event->has_duration || event->end_ns < event->start_ns) {
    import_skip(reading->import, event->has_duration ? "negative duration" : "no duration");
    return STATUS_OK;
  }
  if (__builtin_sub_overflow(event->end_ns, event->start_ns, &duration_ns))
    return import_broken(reading->import, err, event->offset, "a duration is beyond 64 bits of nanoseconds");
  XSP_TRY(thread_lane(reading, event, &lane, err));
  struct store_span span = make_span(reading, event);
  span.duration_ns = duration_ns;
  if (!reading->is_own)
    return import_lanes_complete(&reading->lanes, lane, &span, err);
  span.track_id = lane;
  import_exported_put(&reading->exported, &span);
  return let_go(reading, false, err);
}

// The end of a span that is known when the file was read. What it says about the span waits till then.
static void read_end(struct reading *reading, const struct trace_event *event, uint32_t lane)
{
  struct store_tag tag = {0};
  import_lanes_end(&reading->lanes, lane,
                   &(struct lane_end){.time_ns = event->start_ns,
                                      .name = import_slice(reading->import, event->name),
                                      .offset = event->offset});
  for (size_t i = 0; i < event->argument_count; i++)
    if (read_tag(reading->import, &event->arguments[i], &tag))
      import_lanes_end_tag(&reading->lanes, lane, &tag);
}

// ---- names -----------------------------------------------------------------------------------------------------------
static void read_metadata(struct reading *reading, const struct trace_event *event)
{
  const struct trace_argument *name = trace_find(event, "name");
  import_skip(reading->import, "metadata");
  if (name == NULL || name->value.type != TRACE_STRING || name->value.raw.length == 0)
    return;
  uint32_t text = import_slice(reading->import, name->value.raw),
           pid = import_slice(reading->import, event->process_id.raw);
  reading->is_of_xla = reading->is_of_xla || slice_is(name->value.raw, "/host:CPU");
  if (slice_is(event->name, "process_name"))
    *map_at(&reading->process_names, map_number(pid), NULL) = text;
  if (slice_is(event->name, "thread_name"))
    *map_at(&reading->thread_names, (struct map_key){pid, import_slice(reading->import, event->thread_id.raw)}, NULL) =
        text;
}

static void name_track(struct reading *reading, const struct map_slot *track)
{
  const uint64_t *name = map_find(&reading->thread_names, track->key);
  if (name == NULL)
    name = map_find(&reading->process_names, map_number(track->key.a));
  if (track->value != 0 && name != NULL)
    import_track_name(reading->import, (uint32_t)track->value, import_text(reading->import, (uint32_t)*name, NULL));
}

// Names may come after the spans that they are about.
static void name_tracks(struct reading *reading)
{
  const struct map *tracks = &reading->tracks.tracks;
  name_track(reading, &tracks->zero); // of neither process nor thread
  for (size_t i = 0; i < tracks->slot_count; i++)
    name_track(reading, &tracks->slots[i]);
}

// ---- events ----------------------------------------------------------------------------------------------------------
static enum status read_event(void *context, const struct trace_event *event, struct error *err)
{
  struct reading *reading = context;
  uint32_t lane = 0;
  reading->event_count++;
  reading->last_ns = event->end_ns > reading->last_ns ? event->end_ns : reading->last_ns;
  if (event->phase == 'M') {
    read_metadata(reading, event);
    return STATUS_OK;
  }
  const char *reason = trace_phase_reason(event->phase);
  bool is_async = strchr("beSF", event->phase) != NULL;
  if (reason == NULL && !event->has_start)
    reason = "no start";
  if (reason == NULL && is_async && event->id.type == TRACE_NONE && read_id(reading, event).id == 0)
    reason = "no id";
  if (reason != NULL) {
    import_skip(reading->import, reason);
    return STATUS_OK;
  }
  if (event->phase == 'X')
    return read_complete(reading, event, err);
  XSP_TRY(is_async ? async_lane(reading, event, &lane, err) : thread_lane(reading, event, &lane, err));
  if (strchr("BbS", event->phase) == NULL) {
    read_end(reading, event, lane);
    return STATUS_OK;
  }
  struct store_span span = make_span(reading, event);
  import_lanes_begin(&reading->lanes, lane, &span, import_slice(reading->import, event->name));
  return STATUS_OK;
}

// {"tool": "xsp", "zero_unix_ns": "1700000000000000000"}, before the events.
static bool take_other(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (reader->event == JSON_STRING && strcmp(key, "tool") == 0)
    reading->is_own = reader->length == 3 && memcmp(reader->text, "xsp", 3) == 0;
  if (reader->event == JSON_STRING && strcmp(key, "zero_unix_ns") == 0)
    reading->has_zero =
        slice_int64((struct slice){reader->text, reader->length}, &reading->zero_ns) && reading->zero_ns >= 0;
  return true;
}

static enum status read_key(void *context, struct slice key, const struct trace_value *value, uint64_t offset,
                            struct error *err)
{
  struct reading *reading = context;
  if (!slice_is(key, "otherData") || reading->event_count > 0)
    return STATUS_OK;
  (void)json_each_of_text(value->raw.data, value->raw.length, take_other, reading);
  if (reading->is_own) {
    import_exported_make(reading->import, &reading->exported);
    reading->exported.category = import_word(reading->import, "category");
  }
  return STATUS_OK;
}

// JAX and TensorFlow write a profile twice; this form leaves out much of it.
static void note_xla(const struct reading *reading)
{
  import_note(reading->import, "it is a profile of JAX or TensorFlow: NAME.xplane.pb next to it has its modules, loops "
                               "and source lines, too");
  if (reading->event_count >= XLA_EVENTS_MOST)
    import_note(reading->import, "XLA writes a million events of a profile into this form: the others are missing, but "
                                 "in NAME.xplane.pb they are");
}

static enum status read_events(struct reading *reading, struct error *err)
{
  struct trace_ending ending;
  XSP_TRY(trace_read(reading->import->input, read_event, read_key, reading, &ending, err));
  import_note_ending(reading->import, &ending);
  XSP_TRY(let_go(reading, true, err));
  XSP_TRY(import_lanes_finish(&reading->lanes, err));
  uint64_t open = reading->lanes.open_count, misnamed = reading->lanes.misnamed_count;
  if (open > 0)
    import_note(reading->import, "%" PRIu64 " span%s never ended", open, open == 1 ? "" : "s");
  if (misnamed > 0)
    import_note(reading->import, "%" PRIu64 " end event%s no open span's name", misnamed,
                misnamed == 1 ? " has" : "s have");
  if (ending.is_unclosed)
    import_note(reading->import, "the file ends without its closing bracket");
  if (reading->is_of_xla)
    note_xla(reading);
  if (reading->event_count == 0)
    import_note(reading->import, "it holds no events");
  name_tracks(reading);
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import, .tracks.import = import, .lanes.import = import};
  // Times count from the trace's own zero: nothing but xsp says what that is
  int64_t run_id = import_run(import, &(struct store_run){0}), ignored;
  enum status status = read_events(&reading, err);
  if (reading.is_own && reading.has_zero && !__builtin_add_overflow(reading.last_ns, reading.zero_ns, &ignored)) {
    import_run_set(import, &(struct store_run){.run_id = run_id, .epoch_is_unix = true});
    import_run_shift(import, reading.zero_ns);
  }
  import_lanes_done(&reading.lanes);
  map_done(&reading.tracks.tracks);
  map_done(&reading.thread_lanes);
  map_done(&reading.async_lanes);
  map_done(&reading.process_names);
  map_done(&reading.thread_names);
  import_exported_done(&reading.exported);
  return status;
}

const struct importer importer_chrome = {
    .name = "chrome",
    .summary = "any other Chrome trace event JSON",
    .recognize = recognize,
    .read = read_file,
};
