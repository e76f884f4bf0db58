// SPDX-License-Identifier: Apache-2.0
// Chrome trace JSON of tf.Timeline, TensorFlow 1 and tf.compat.v1: operators of the host as layers, kernels and copies of
// GPUs. A process of the file is a device, its lanes are of the writer's making. See docs/importers.md.
#include "base/map.h"
#include "importers/tensorflow/step_stats.h"
#include "importers/trace_events/trace_events.h"

#include <inttypes.h>

#define COMPUTE " Compute"

static int recognize(struct slice head, bool is_all)
{
  return slice_contains(head, COMPUTE "\"") && slice_contains(head, " Tensors\"") &&
                 slice_contains(head, "\"Allocators\"")
             ? 3
             : 0;
}

struct reading {
  struct step_reading steps;
  struct map devices; // pid → the device's name, as ids of texts
  struct map tracks;  // (pid, tid) → track
};

static void read_metadata(struct reading *reading, const struct trace_event *event)
{
  struct import *import = reading->steps.import;
  const struct trace_argument *name = trace_find(event, "name");
  import_skip(import, "metadata");
  if (name == NULL || name->value.type != TRACE_STRING || !slice_ends_with(name->value.raw, COMPUTE))
    return;
  struct slice device = name->value.raw;
  device.length -= strlen(COMPUTE);
  reading->steps.has_all_streams |= step_device_of(device) == STEP_KERNELS;
  *map_at(&reading->devices, map_number(import_slice(import, event->process_id.raw)), NULL) =
      import_slice(import, device);
}

static enum status find_track(struct reading *reading, const struct trace_event *event, struct slice device,
                              uint32_t *ret_track_id, struct error *err)
{
  struct import *import = reading->steps.import;
  int64_t lane = 0;
  struct map_key key = {import_slice(import, event->process_id.raw), import_slice(import, event->thread_id.raw)};
  uint64_t *track = map_at(&reading->tracks, key, NULL);
  (void)trace_int64(&event->thread_id, &lane);
  if (*track == 0) {
    XSP_TRY(step_track(import, device, lane > 0 && lane < 1000000 ? (unsigned)lane : 0, ret_track_id, err));
    *track = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*track;
  return STATUS_OK;
}

// Inputs are nodes that the operator took values from: input0, input1 …
static void tag_inputs(struct import *import, int64_t span_id, const struct trace_event *event)
{
  for (size_t i = 0; i < event->argument_count; i++) {
    const struct trace_argument *argument = &event->arguments[i];
    if (slice_starts_with(argument->key, "input") && argument->value.type == TRACE_STRING)
      import_tag_text(import, span_id, import_slice(import, argument->key), import_slice(import, argument->value.raw));
  }
}

static enum status read_node(struct reading *reading, const struct trace_event *event, struct error *err)
{
  struct import *import = reading->steps.import;
  size_t length;
  int64_t span_id, duration_ns;
  const uint64_t *named = map_find(&reading->devices, map_number(import_slice(import, event->process_id.raw)));
  const char *reason = !slice_is(event->category, "Op")  ? "not an operator"
                       : named == NULL                   ? "of no device"
                       : !event->has_start               ? "no start"
                       : !event->has_duration            ? "no duration"
                       : event->end_ns < event->start_ns ? "negative duration"
                                                         : NULL;
  if (reason != NULL) {
    import_skip(import, reason);
    return STATUS_OK;
  }
  if (__builtin_sub_overflow(event->end_ns, event->start_ns, &duration_ns))
    return import_broken(import, err, event->offset, "a duration is beyond 64 bits of nanoseconds");
  const char *text = import_text(import, (uint32_t)*named, &length);
  struct slice device = {text, length};
  const struct trace_argument *name = trace_find(event, "name"), *op = trace_find(event, "op");
  struct step_node node = {.name = import_slice(import, name != NULL ? name->value.raw : event->name),
                           .op = import_slice(import, op != NULL ? op->value.raw : event->name),
                           .start_ns = event->start_ns,
                           .duration_ns = duration_ns,
                           .device = step_device_of(device)};
  XSP_TRY(find_track(reading, event, device, &node.track_id, err));
  XSP_TRY(step_add(&reading->steps, &node, &span_id, err));
  if (span_id != 0)
    tag_inputs(import, span_id, event);
  return STATUS_OK;
}

static enum status read_event(void *context, const struct trace_event *event, struct error *err)
{
  struct reading *reading = context;
  if (event->phase == 'X')
    return read_node(reading, event, err);
  if (event->phase == 'M') {
    read_metadata(reading, event);
    return STATUS_OK;
  }
  const char *reason = trace_phase_reason(event->phase);
  import_skip(reading->steps.import, reason != NULL ? reason : "not a complete event");
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.steps.import = import};
  struct trace_ending ending = {0};
  // All stamps are of the system's clock, in whole microseconds.
  import_run(import, &(struct store_run){.epoch_is_unix = true});
  import_framework(import, "tensorflow", NULL);
  enum status status = trace_read(import->input, read_event, NULL, &reading, &ending, err);
  import_note_ending(import, &ending);
  if (status == STATUS_OK)
    status = step_finish(&reading.steps, err);
  step_done(&reading.steps);
  map_done(&reading.devices);
  map_done(&reading.tracks);
  return status;
}

const struct importer importer_tf_timeline = {
    .name = "tf-timeline",
    .summary = "TensorFlow's tf.Timeline as Chrome trace JSON",
    .recognize = recognize,
    .read = read_file,
};
