// SPDX-License-Identifier: Apache-2.0
// The layer level without a listener: ONNX Runtime's own profile file, read after the fact. Called by the predictor's
// flush, outside every model span. Times in it are microseconds; tags are those of the listener (guest/frameworks/onnxruntime).
#include "frameworks/onnxruntime/profile.h"

#include "base/arena.h"
#include "base/mapped.h"
#include "base/slice.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "frameworks/common/json_file.h"
#include "frameworks/onnxruntime/layers.h"

#include <string.h>

struct event {
  int64_t start_us, duration_us;
  size_t order; // in the file
  bool is_model_run;
  bool runs_graph; // If, Loop, Scan: other nodes may lie inside it
  struct layer_key key;
  struct layer_facts facts;
};

struct profile {
  struct json_file file; // first
  struct arena arena;    // the events' text
  VECTOR(struct event) events;
};

static enum status broken(const struct json_file *file, struct error *err)
{
  return json_file_broken(file, "no such profile", err);
}

// The value as text: a string's content, anything else as it is written.
static enum status take_text(struct json_file *file, void *target, struct error *err)
{
  struct json_reader *json = &file->json;
  json_next(json);
  size_t from = json->offset;
  const char *text = json->text;
  size_t length = json->length;
  if (json->event != JSON_STRING) {
    if (!json_skip(json))
      return broken(file, err);
    text = json->start + from;
    length = (size_t)(json->at - text);
  }
  *(const char **)target = arena_copy(&((struct profile *)file)->arena, text, length);
  return STATUS_OK;
}

static enum status take_string(struct json_file *file, void *target, struct error *err)
{
  XSP_TRY(take_text(file, target, err));
  return file->json.event == JSON_STRING ? STATUS_OK : broken(file, err);
}

static enum status read_arguments(struct json_file *file, void *target, struct error *err)
{
  struct event *event = target;
  const struct json_member members[] = {
      {ORT_ARGUMENT_INDEX, take_text, &event->key.node_index},
      {ORT_ARGUMENT_OUTPUTS, take_text, &event->key.outputs},
      {ORT_ARGUMENT_OPERATOR, take_text, &event->facts.operator_type},
      {ORT_ARGUMENT_PROVIDER, take_text, &event->facts.provider},
      {ORT_ARGUMENT_INPUTS, take_text, &event->facts.inputs},
      {ORT_ARGUMENT_PARAMETER_BYTES, take_text, &event->facts.parameter_bytes},
      {ORT_ARGUMENT_ACTIVATION_BYTES, take_text, &event->facts.activation_bytes},
      {ORT_ARGUMENT_OUTPUT_BYTES, take_text, &event->facts.output_bytes},
      {ORT_ARGUMENT_ALLOC_BYTES, take_text, &event->facts.alloc_bytes},
  };
  if (json_next(&file->json) != JSON_OBJECT)
    return broken(file, err);
  return json_file_members(file, members, sizeof members / sizeof members[0], err);
}

static bool runs_graph(const char *operator_type)
{
  return operator_type != NULL && text_is_one_of(operator_type, "If", "Loop", "Scan");
}

static enum status read_time(struct json_file *file, void *target, struct error *err)
{
  int64_t *time_us = target;
  json_next(&file->json);
  if (!json_int64(&file->json, time_us) || *time_us < 0 || *time_us > INT64_MAX / 4000)
    return json_file_broken(file, "a time is no number of microseconds", err);
  return STATUS_OK;
}

static void add_event(struct profile *profile, const struct event *event)
{
  struct event *added = vector_add(&profile->events);
  *added = *event;
  added->order = profile->events.count - 1;
}

// One object of the array; the reader is after its brace.
static enum status read_event(struct profile *profile, struct error *err)
{
  struct event event = {.start_us = -1, .duration_us = -1};
  const char *category = NULL;
  const struct json_member members[] = {{"ts", read_time, &event.start_us},
                                        {"dur", read_time, &event.duration_us},
                                        {"name", take_string, &event.key.name},
                                        {"cat", take_string, &category},
                                        {"args", read_arguments, &event}};
  XSP_TRY(json_file_members(&profile->file, members, sizeof members / sizeof members[0], err));
  if (category == NULL || event.key.name == NULL || event.start_us < 0 || event.duration_us < 0)
    return json_file_broken(&profile->file, "an event lacks cat, name, ts or dur", err);
  event.is_model_run = strcmp(category, "Session") == 0 && strcmp(event.key.name, "model_run") == 0;
  event.runs_graph = runs_graph(event.facts.operator_type);
  // Older versions (1.20, for one) also write a _fence_before and a _fence_after around each node: no work of the model.
  if (event.is_model_run || (strcmp(category, "Node") == 0 && text_ends_with(event.key.name, ORT_NODE_NAME_SUFFIX)))
    add_event(profile, &event);
  return STATUS_OK;
}

static enum status read_events(struct profile *profile, struct error *err)
{
  struct json_reader *json = &profile->file.json;
  if (json_next(json) != JSON_ARRAY)
    return broken(&profile->file, err);
  while (json_next(json) == JSON_OBJECT)
    XSP_TRY(read_event(profile, err));
  if (json->event != JSON_ARRAY_END || json_next(json) != JSON_END)
    return broken(&profile->file, err);
  return STATUS_OK;
}

// By start, outer before inner. The file is in order of ends; within one microsecond an inner node comes first there,
// so of equal intervals the later is the outer, and of neighbours the earlier is the first.
static int nesting(const struct event *event) // what it is around: 2: nodes, 1: those of its graph, 0: nothing
{
  return event->is_model_run ? 2 : event->runs_graph;
}

SORTED_BY(compare_events, struct event,
          RISING(start_us) ?: ORDER(nesting(b), nesting(a)) ?: (nesting(a) > 0 ? FALLING(duration_us) : 0)
              ?: RISING(order))

#define NESTING_MAXIMUM 128u

struct outer { // a model run, or a node that runs a graph
  int64_t end_us;
  size_t order;
  struct xsp_context span;
};

static struct xsp_context publish_event(const struct event *event, uint64_t start_ns, struct xsp_context parent)
{
  struct xsp_site *site = ort_layers_find(&event->key);
  if (site == NULL)
    site = ort_layers_add(&event->key, &event->facts);
  uint64_t start = start_ns + (uint64_t)event->start_us * 1000;
  struct xsp_interval interval = {
      .size = sizeof interval,
      .kind = XSP_KIND_SYNC,
      .clock = XSP_CLOCK_REALTIME,
      .start = start,
      .end = start + (uint64_t)event->duration_us * 1000,
      .parent = parent,
  };
  struct xsp_span span = xsp_span_emit(site, &interval);
  return xsp_span_context(&span);
}

static void publish_events(struct profile *profile, uint64_t start_ns, const struct inferences *inferences)
{
  vector_sort(&profile->events, compare_events);
  struct outer outers[NESTING_MAXIMUM];
  size_t depth = 0, runs = 0;
  for (size_t i = 0; i < profile->events.count; i++) {
    const struct event *event = &profile->events.items[i];
    // An outer event ends after what it holds: also later in the file, which tells within one microsecond.
    while (depth > 0 && (outers[depth - 1].end_us < event->start_us || outers[depth - 1].order < event->order))
      depth--;
    struct xsp_context span;
    if (event->is_model_run)
      span = runs < inferences->count ? inferences->items[runs++].model : (struct xsp_context){0};
    else if (depth == 0)
      continue; // outside every run: nobody's layer
    else
      span = publish_event(event, start_ns, outers[depth - 1].span);
    if ((event->is_model_run || event->runs_graph) && depth < NESTING_MAXIMUM)
      outers[depth++] = (struct outer){event->start_us + event->duration_us, event->order, span};
  }
}

enum status onnxruntime_profile_publish(const char *text, size_t length, uint64_t start_ns,
                                        const struct inferences *inferences, const char *path, struct error *err)
{
  struct profile profile = {.file = {.path = path, .what = "cannot read ONNX Runtime's profile"}};
  json_read_start(&profile.file.json, text, length);
  enum status status = read_events(&profile, err);
  if (status == STATUS_OK)
    publish_events(&profile, start_ns, inferences);
  json_read_done(&profile.file.json);
  arena_done(&profile.arena);
  vector_done(&profile.events);
  return status;
}

enum status onnxruntime_profile_publish_file(const char *path, uint64_t start_ns, const struct inferences *inferences,
                                             struct error *err)
{
  const char *what = "cannot read ONNX Runtime's profile";
  struct mapped file;
  if (!mapped_open(path, &file))
    return error_set_errno(err, STATUS_SYSTEM, what, path, NULL);
  if (file.size == 0)
    return error_set(err, STATUS_SYSTEM, what, path, "free space where TMPDIR is", "ONNX Runtime left it empty");
  enum status status = onnxruntime_profile_publish(file.bytes, file.size, start_ns, inferences, path, err);
  mapped_close(&file);
  return status;
}
