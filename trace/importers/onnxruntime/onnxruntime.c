// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's profile JSON, of a session or of one run: an array of complete events in microseconds since the
// profiling began. Nodes are layers with the tags that `xsp profile` gives them, model_run is a prediction, the rest is
// application; kernels of a GPU name their node. See docs/importers.md.
#include "importers/importer.h"
#include "importers/trace_events/trace_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NODE_SUFFIX "_kernel_time"
#define EVENTS_MOST 1000000 // ONNX Runtime drops what comes after these, and does not say so

// ---- recognising -----------------------------------------------------------------------------------------------------
// Is there `"key"`, then a colon, then `"value"`, with any white space around it?
static bool has_member(struct slice head, const char *key, const char *value)
{
  for (const char *at; (at = memmem(head.data, head.length, key, strlen(key))) != NULL;) {
    head = slice_after(head, (size_t)(at - head.data) + strlen(key));
    struct slice next = head;
    while (next.length > 0 && memchr(" :\t\n\r", next.data[0], 5) != NULL)
      next = slice_after(next, 1);
    if (slice_starts_with(next, value))
      return true;
  }
  return false;
}

static int recognize(struct slice head, bool is_all)
{
  static const char *const session_names[] = {"\"model_run\"", "\"session_initialization\"", "\"model_loading_",
                                              "\"SequentialExecutor::Execute\""};
  if (has_member(head, "\"cat\"", "\"Node\"") && slice_contains(head, NODE_SUFFIX "\"") &&
      slice_contains(head, "\"op_name\""))
    return 3;
  if (has_member(head, "\"cat\"", "\"Session\""))
    for (size_t i = 0; i < sizeof session_names / sizeof session_names[0]; i++)
      if (slice_contains(head, session_names[i]))
        return 3;
  return 0;
}

// ---- tags ------------------------------------------------------------------------------------------------------------
enum form { FORM_INT, FORM_TEXT, FORM_FIRST_SHAPE, FORM_ALL_SHAPES };

struct tag_rule {
  const char *argument, *key;
  enum form form;
};
// As guest/frameworks/onnxruntime/layers.c names them, so that imported and recorded layers compare.
static const struct tag_rule node_tags[] = {
    {"node_index", "layer_index", FORM_INT},
    {"op_name", "layer_type", FORM_TEXT},
    {"output_type_shape", "layer_shape", FORM_FIRST_SHAPE},
    {"provider", "provider", FORM_TEXT},
    {"input_type_shape", "input_shape", FORM_ALL_SHAPES},
    {"parameter_size", "parameter_bytes", FORM_INT},
    {"activation_size", "activation_bytes", FORM_INT},
    {"output_size", "output_bytes", FORM_INT},
};
#define NODE_TAGS (sizeof node_tags / sizeof node_tags[0])
#define SHAPES_SIZE 4096

struct reading {
  struct import *import;
  struct event_tracks tracks;
  struct map nodes;       // name of a node's event → its latest span
  struct map alloc_bytes; // name, number and output shape of a node → as in its first run
  int64_t last_span_id;
  uint32_t keys[NODE_TAGS], alloc_key;
  uint64_t event_count, arena_count; // arena_count: nodes with their arena's memory alone
};

// [{"float":[1,64,112,112]},{"int64":[1]}] → "[1,64,112,112]" or "[1,64,112,112] [1]". Returns the length; 0: no shape.
static size_t shapes_of(struct slice types, bool first_only, char shapes[SHAPES_SIZE])
{
  size_t used = 0;
  const char *end = types.data + types.length;
  for (const char *at = types.data; at < end && (at = memmem(at, (size_t)(end - at), "[", 1)) != NULL; at++) {
    const char *before = at;
    while (before > types.data && before[-1] == ' ')
      before--;
    if (before == types.data || before[-1] != ':')
      continue; // the list of shapes itself
    const char *close = memchr(at, ']', (size_t)(end - at));
    if (close == NULL || used + (size_t)(close + 1 - at) + 1 >= SHAPES_SIZE)
      break;
    if (used > 0)
      shapes[used++] = ' ';
    for (; at <= close; at++)
      if (*at != ' ')
        shapes[used++] = *at;
    if (first_only)
      break;
    at = close;
  }
  return used;
}

static void tag_argument(struct reading *reading, int64_t span_id, size_t rule, const struct trace_value *value)
{
  struct import *import = reading->import;
  int64_t number = 0;
  char shapes[SHAPES_SIZE];
  struct slice text = value->raw;
  switch (node_tags[rule].form) {
  case FORM_INT:
    if (trace_int64(value, &number)) {
      import_tag_int(import, span_id, reading->keys[rule], number);
      return;
    }
    break; // beyond 64 bits: as text
  case FORM_TEXT:
    break;
  case FORM_FIRST_SHAPE:
  case FORM_ALL_SHAPES:
    text.length = shapes_of(value->raw, node_tags[rule].form == FORM_FIRST_SHAPE, shapes);
    text.data = shapes;
    break;
  }
  if (text.length > 0)
    import_tag_text(import, span_id, reading->keys[rule], import_slice(import, text));
}

// Later runs of a shape reuse what the first one allocated, so its figure is that of all.
static void tag_alloc_bytes(struct reading *reading, int64_t span_id, const struct trace_event *event)
{
  struct import *import = reading->import;
  const struct trace_argument *outputs = trace_find(event, "output_type_shape");
  const struct trace_argument *index = trace_find(event, "node_index");
  const struct trace_argument *found = trace_find(event, "mem_requested_in_use_delta");
  int64_t node = 0;
  char shape[SHAPES_SIZE];
  size_t length = outputs != NULL ? shapes_of(outputs->value.raw, true, shape) : 0;
  if (index != NULL)
    (void)trace_int64(&index->value, &node);
  const struct map_key key = {(uint64_t)import_slice(import, event->name) << 32 | (uint32_t)node,
                              import_slice(import, (struct slice){shape, length})};
  const uint64_t *first = map_find(&reading->alloc_bytes, key);
  int64_t bytes = first != NULL ? (int64_t)*first : 0;
  if (first == NULL && (found == NULL || !trace_int64(&found->value, &bytes))) {
    reading->arena_count += trace_find(event, "mem_in_use_delta") != NULL;
    return;
  }
  if (first == NULL)
    *map_at(&reading->alloc_bytes, key, NULL) = (uint64_t)bytes;
  import_tag_int(import, span_id, reading->alloc_key, bytes);
}

static void tag_node(struct reading *reading, int64_t span_id, const struct trace_event *event)
{
  for (size_t i = 0; i < event->argument_count; i++)
    for (size_t rule = 0; rule < NODE_TAGS; rule++)
      if (slice_is(event->arguments[i].key, node_tags[rule].argument))
        tag_argument(reading, span_id, rule, &event->arguments[i].value);
  tag_alloc_bytes(reading, span_id, event);
}

// ---- kernels of a GPU ------------------------------------------------------------------------------------------------
// grid_x, grid_y, grid_z → grid "[x,y,z]"
static void tag_extent(struct reading *reading, int64_t span_id, const struct trace_event *event, const char *what)
{
  int64_t extent[3];
  char name[16], text[80];
  for (unsigned i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "%s_%c", what, "xyz"[i]);
    const struct trace_argument *argument = trace_find(event, name);
    if (argument == NULL || !trace_int64(&argument->value, &extent[i]) || extent[i] < 1)
      return;
  }
  snprintf(text, sizeof text, "[%lld,%lld,%lld]", (long long)extent[0], (long long)extent[1], (long long)extent[2]);
  struct import *import = reading->import;
  import_tag_text(import, span_id, import_word(import, what), import_word(import, text));
}

// Streams are tracks: kernels carry no process or thread that means anything.
static enum status stream_track(struct reading *reading, const struct trace_event *event, uint32_t *ret_track_id,
                                struct error *err)
{
  struct import *import = reading->import;
  const struct trace_argument *stream = trace_find(event, "stream");
  static const struct slice unknown = {"stream", 6};
  struct slice text = stream != NULL && stream->value.raw.length > 0 ? stream->value.raw : unknown;
  struct map_key key = {UINT32_MAX, import_slice(import, text)};
  uint64_t *track = map_at(&reading->tracks.tracks, key, NULL);
  if (*track == 0) {
    char name[64];
    struct store_track row = IMPORT_NO_PLACE;
    row.name = name;
    if (stream != NULL)
      (void)trace_int64(&stream->value, &row.stream_id);
    if (row.stream_id != STORE_NONE)
      snprintf(name, sizeof name, "stream %lld", (long long)row.stream_id);
    else
      snprintf(name, sizeof name, "%.*s", text.length < 60 ? (int)text.length : 60, text.data);
    XSP_TRY(import_track(import, &row, ret_track_id, err));
    *track = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*track;
  return STATUS_OK;
}

static enum status read_kernel(struct reading *reading, const struct trace_event *event, struct store_span *span,
                               struct error *err)
{
  span->level = XSP_LEVEL_KERNEL;
  span->kind = XSP_KIND_EXECUTION;
  const char *category = slice_starts_with(event->name, "Memcpy")   ? "memcpy"
                         : slice_starts_with(event->name, "Memset") ? "memset"
                                                                    : "kernel";
  span->category = import_word(reading->import, category);
  const struct trace_argument *parent = trace_find(event, "parent_name");
  if (parent != NULL) {
    uint32_t name = import_slice(reading->import, parent->value.raw);
    const uint64_t *node = map_find(&reading->nodes, map_number(name));
    span->recorded_parent_id = node != NULL ? (int64_t)*node : 0;
  }
  tag_extent(reading, span->span_id, event, "grid");
  tag_extent(reading, span->span_id, event, "block");
  return stream_track(reading, event, &span->track_id, err);
}

// ---- events ----------------------------------------------------------------------------------------------------------
static const char *why_not(const struct trace_event *event)
{
  if (event->phase != 'X')
    return "not a complete event";
  if (!event->has_start)
    return "no start";
  if (!event->has_duration)
    return "no duration";
  return event->end_ns < event->start_ns ? "negative duration" : NULL;
}

static enum status read_event(void *context, const struct trace_event *event, struct error *err)
{
  struct reading *reading = context;
  struct import *import = reading->import;
  const char *reason = why_not(event);
  reading->event_count++;
  if (reason != NULL) {
    import_skip(import, reason);
    return STATUS_OK;
  }
  int64_t duration_ns;
  if (__builtin_sub_overflow(event->end_ns, event->start_ns, &duration_ns))
    return import_broken(import, err, event->offset, "a duration of this event is beyond 64 bits of nanoseconds");
  struct slice name = event->name;
  struct store_span span = {.span_id = ++reading->last_span_id,
                            .start_ns = event->start_ns,
                            .duration_ns = duration_ns,
                            .level = XSP_LEVEL_APPLICATION,
                            .kind = XSP_KIND_SYNC};
  if (slice_is(event->category, "Kernel")) {
    XSP_TRY(read_kernel(reading, event, &span, err));
  } else {
    XSP_TRY(import_event_track(&reading->tracks, event, &span.track_id, err));
    if (slice_is(event->category, "Api")) { // of the host, to a GPU's runtime
      span.level = XSP_LEVEL_KERNEL;
      span.category = import_word(import, "api");
      span.flags = STORE_SPAN_CALL;
    } else if (slice_is(event->category, "Node") && slice_ends_with(name, NODE_SUFFIX)) {
      span.level = XSP_LEVEL_LAYER;
      // Its kernels come later and name it by its event's name.
      *map_at(&reading->nodes, map_number(import_slice(import, event->name)), NULL) = (uint64_t)span.span_id;
      tag_node(reading, span.span_id, event);
      name.length -= strlen(NODE_SUFFIX);
      const struct trace_argument *op =
          name.length == 0 ? trace_find(event, "op_name") : NULL; // of a node without a name
      if (op != NULL && op->value.type == TRACE_STRING)
        name = op->value.raw;
    } else if (slice_is(event->category, "Session") && slice_is(name, "model_run")) {
      span.level = XSP_LEVEL_MODEL;
    }
  }
  span.name = import_slice(import, name);
  return import_span(import, &span, err);
}

static enum status read_events(struct reading *reading, struct error *err)
{
  struct trace_ending ending;
  XSP_TRY(trace_read(reading->import->input, read_event, NULL, reading, &ending, err));
  import_note_ending(reading->import, &ending);
  if (ending.is_unclosed)
    import_note(reading->import, "the file ends without its closing bracket: the session was not ended properly");
  if (reading->event_count >= EVENTS_MOST)
    import_note(reading->import, "it holds a million events: ONNX Runtime records no more, so the end may be missing");
  if (reading->arena_count > 0)
    import_note(reading->import,
                "%" PRIu64 " runs of nodes have no alloc_bytes: their mem_in_use_delta counts chunks of the arena",
                reading->arena_count);
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import, .tracks.import = import};
  // Times count from where the profiling began: the file does not say when that was
  import_run(import, &(struct store_run){0});
  import_framework(import, "onnxruntime", NULL);
  for (size_t i = 0; i < NODE_TAGS; i++)
    reading.keys[i] = import_word(import, node_tags[i].key);
  reading.alloc_key = import_word(import, "alloc_bytes");
  enum status status = read_events(&reading, err);
  map_done(&reading.tracks.tracks);
  map_done(&reading.nodes);
  map_done(&reading.alloc_bytes);
  return status;
}

const struct importer importer_onnxruntime = {
    .name = "ort",
    .summary = "ONNX Runtime profile JSON, of a session or of one run",
    .recognize = recognize,
    .read = read_file,
};
