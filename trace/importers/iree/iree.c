// SPDX-License-Identifier: Apache-2.0
// IREE's profile bundles (.ireeprof): executions of command buffers with their dispatches, on the host's clock where the device is
// the CPU, else on the device's. Two passes, as an execution comes after its dispatches. See docs/importers.md.
#include "importers/iree/bundle.h"
#include "importers/text_file.h"

#include <inttypes.h>
#include <stdio.h>

enum { HOST_EVENT_BYTES = 152, DISPATCH_BYTES = 88, DEVICE_EVENT_BYTES = 96, FUNCTION_BYTES = 64, CLOCK_BYTES = 72 };

static int recognize(struct slice head, bool is_all)
{
  return iree_is_bundle(head) ? 3 : 0;
}

struct reading {
  struct iree_bundle bundle;
  struct map tracks;         // (device, queue) → track
  int64_t last_execution_id; // of the second pass
};

static struct map_key submission_key(uint64_t submission, bool is_on_device)
{
  return (struct map_key){submission, 1 + is_on_device};
}

// ---- the first pass: names, clocks, executions of command buffers ----------------------------------------------------
static enum status note_execution(void *context, const struct iree_record *record, struct slice item, struct error *err)
{
  struct reading *reading = context;
  bool is_on_device = slice_is(record->type, "queue-device-events");
  if (iree_u32(item, 4) == IREE_EXECUTE)
    *map_at(&reading->bundle.spans, submission_key(iree_u64(item, 24), is_on_device), NULL) =
        (uint64_t)++reading->bundle.last_span_id;
  return STATUS_OK;
}

static enum status note_fact(void *context, const struct iree_record *record, struct slice item, struct error *err)
{
  struct reading *reading = context;
  if (slice_is(record->type, "clock-correlations"))
    iree_note_clock(&reading->bundle, item);
  else
    iree_note_function(&reading->bundle, item);
  return STATUS_OK;
}

static enum status note_record(void *context, const struct iree_record *record, struct error *err)
{
  struct reading *reading = context;
  struct iree_bundle *bundle = &reading->bundle;
  if (slice_is(record->type, "executable-functions") || slice_is(record->type, "executable-exports"))
    return iree_each_item(bundle, record, FUNCTION_BYTES, note_fact, reading, err);
  if (slice_is(record->type, "clock-correlations"))
    return iree_each_item(bundle, record, CLOCK_BYTES, note_fact, reading, err);
  if (slice_is(record->type, "host-execution-events"))
    return iree_each_item(bundle, record, HOST_EVENT_BYTES, note_execution, reading, err);
  if (slice_is(record->type, "queue-device-events"))
    return iree_each_item(bundle, record, DEVICE_EVENT_BYTES, note_execution, reading, err);
  return STATUS_OK;
}

// ---- the second pass: spans ------------------------------------------------------------------------------------------
static enum status find_track(struct reading *reading, uint32_t device, uint32_t queue, bool is_on_device,
                              uint32_t *ret_track_id, struct error *err)
{
  char name[64];
  bool is_new;
  uint64_t *known = map_at(&reading->tracks, (struct map_key){(uint64_t)device << 32 | queue, is_on_device}, &is_new);
  if (is_new) {
    struct store_track track = IMPORT_NO_PLACE;
    snprintf(name, sizeof name, "device %u queue %u", device, queue);
    track.name = name;
    if (is_on_device) {
      track.device_id = device;
      track.stream_id = queue;
    }
    XSP_TRY(import_track(reading->bundle.import, &track, ret_track_id, err));
    *known = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*known;
  return STATUS_OK;
}

// "64x256x128", "Dx64", "16384": a shape within a function's name.
static bool is_shape(struct slice word)
{
  for (size_t i = 0; i < word.length; i++)
    if (memchr("0123456789Dx", word.data[i], 12) == NULL)
      return false;
  return word.length > 0;
}

// "main_dispatch_3_matmul_64x256x128_f32" is of type "matmul"; a name of another form is the type.
static struct slice type_of(struct slice name)
{
  static const char mark[] = "_dispatch_";
  const char *at = memmem(name.data, name.length, mark, strlen(mark));
  struct slice rest = at != NULL ? slice_after(name, (size_t)(at - name.data) + strlen(mark)) : name, word;
  if (at == NULL || !slice_cut(&rest, '_', &word) || rest.length == 0)
    return name;
  struct slice type = {rest.data, 0};
  while (rest.length > 0 && slice_cut(&rest, '_', &word) && !is_shape(word))
    type.length = (size_t)(word.data + word.length - type.data);
  return type.length > 0 ? type : name;
}

static uint32_t name_of(struct reading *reading, uint64_t executable, uint32_t function)
{
  const uint64_t *known = map_find(&reading->bundle.names, (struct map_key){executable, function});
  char text[64];
  if (known != NULL)
    return (uint32_t)*known;
  int length = snprintf(text, sizeof text, "executable %" PRIu64 " function %u", executable, function);
  return import_string(reading->bundle.import, text, (size_t)length);
}

static void tag_extents(struct import *import, int64_t span_id, const char *key, struct slice item, size_t at)
{
  char text[64];
  int length =
      snprintf(text, sizeof text, "[%u,%u,%u]", iree_u32(item, at), iree_u32(item, at + 4), iree_u32(item, at + 8));
  if (iree_u32(item, at) > 0)
    import_tag_bytes(import, span_id, import_word(import, key), text, (size_t)length);
}

static void tag_number(struct import *import, int64_t span_id, const char *key, uint64_t number)
{
  if (number > 0 && number <= INT64_MAX)
    import_tag_int(import, span_id, import_word(import, key), (int64_t)number);
}

static void make_execution(struct reading *reading, uint64_t command_buffer, struct store_span *span)
{
  char text[64];
  int length = snprintf(text, sizeof text, "command buffer %" PRIu64, command_buffer);
  span->level = XSP_LEVEL_MODEL;
  span->name = import_string(reading->bundle.import, text, (size_t)length);
}

static void make_operation(struct reading *reading, struct slice item, struct store_span *span)
{
  static const char *const names[IREE_OPERATION_COUNT] = {"none",  "barrier", "dispatch", "execute",
                                                          "copy",  "fill",    "update",   "read",
                                                          "write", "alloca",  "dealloca", "host call"};
  struct import *import = reading->bundle.import;
  uint32_t type = iree_u32(item, 4);
  span->level = XSP_LEVEL_LIBRARY;
  span->name = import_word(import, type < IREE_OPERATION_COUNT ? names[type] : "operation");
  tag_number(import, span->span_id, "bytes", iree_u64(item, 120));
}

static void make_layer(struct reading *reading, struct slice item, struct store_span *span)
{
  struct import *import = reading->bundle.import;
  size_t length;
  span->level = XSP_LEVEL_LAYER;
  span->name = name_of(reading, iree_u64(item, 40), iree_u32(item, 76));
  const char *text = import_text(import, span->name, &length);
  import_tag_text(import, span->span_id, import_word(import, "layer_type"),
                  import_slice(import, type_of((struct slice){text, length})));
  if (iree_u32(item, 72) != IREE_NONE)
    import_tag_int(import, span->span_id, import_word(import, "layer_index"), iree_u32(item, 72));
  tag_extents(import, span->span_id, "grid", item, 80);
  tag_number(import, span->span_id, "tile_count", iree_u64(item, 128));
  tag_number(import, span->span_id, "tile_duration_sum_ns", iree_u64(item, 136));
}

// Executions have the ids of the first pass, in the order of the file; all else is in that of its submission.
static void number_span(struct reading *reading, uint64_t submission, bool is_on_device, bool is_execution,
                        struct store_span *span)
{
  const uint64_t *execution = map_find(&reading->bundle.spans, submission_key(submission, is_on_device));
  span->span_id = is_execution ? ++reading->last_execution_id : ++reading->bundle.last_span_id;
  span->recorded_parent_id = is_execution || execution == NULL ? 0 : (int64_t)*execution;
}

static enum status put_host_event(void *context, const struct iree_record *record, struct slice item, struct error *err)
{
  struct reading *reading = context;
  struct import *import = reading->bundle.import;
  uint32_t type = iree_u32(item, 4);
  struct store_span span = {.start_ns = (int64_t)iree_u64(item, 104), .kind = XSP_KIND_SYNC};
  number_span(reading, iree_u64(item, 24), false, type == IREE_EXECUTE, &span);
  if (span.start_ns < 0 || (int64_t)iree_u64(item, 112) < span.start_ns) {
    import_skip(import, "negative time or duration");
    return STATUS_OK;
  }
  span.duration_ns = (int64_t)iree_u64(item, 112) - span.start_ns;
  if (type == IREE_EXECUTE)
    make_execution(reading, iree_u64(item, 32), &span);
  else if (type == IREE_DISPATCH)
    make_layer(reading, item, &span);
  else
    make_operation(reading, item, &span);
  XSP_TRY(find_track(reading, iree_u32(item, 64), iree_u32(item, 68), false, &span.track_id, err));
  return import_span(import, &span, err);
}

static enum status put_device_event(void *context, const struct iree_record *record, struct slice item,
                                    struct error *err)
{
  struct reading *reading = context;
  struct import *import = reading->bundle.import;
  bool is_dispatch = slice_is(record->type, "dispatch-events");
  uint32_t device = is_dispatch ? record->device : iree_u32(item, 64),
           queue = is_dispatch ? record->queue : iree_u32(item, 68);
  struct store_span span = {.kind = XSP_KIND_SYNC};
  size_t ticks = is_dispatch ? 72 : 80;
  int64_t end_ns;
  if (!is_dispatch && iree_u32(item, 4) != IREE_EXECUTE) {
    import_skip(import, "operation of a queue, on its device");
    return STATUS_OK;
  }
  number_span(reading, iree_u64(item, is_dispatch ? 16 : 24), true, !is_dispatch, &span);
  if (!iree_host_time(&reading->bundle, device, iree_u64(item, ticks), &span.start_ns) ||
      !iree_host_time(&reading->bundle, device, iree_u64(item, ticks + 8), &end_ns) || end_ns < span.start_ns) {
    import_skip(import, "on a device's clock without two samples of it");
    return STATUS_OK;
  }
  span.duration_ns = end_ns - span.start_ns;
  if (is_dispatch) {
    span.level = XSP_LEVEL_KERNEL;
    span.kind = XSP_KIND_EXECUTION;
    span.category = import_word(import, "kernel");
    span.name = name_of(reading, iree_u64(item, 32), iree_u32(item, 44));
    tag_extents(import, span.span_id, "grid", item, 48);
    tag_extents(import, span.span_id, "block", item, 60);
  } else {
    make_execution(reading, iree_u64(item, 32), &span);
  }
  XSP_TRY(find_track(reading, device, queue, true, &span.track_id, err));
  return import_span(import, &span, err);
}

static enum status skip_item(void *context, const struct iree_record *record, struct slice item, struct error *err)
{
  struct reading *reading = context;
  import_skip(reading->bundle.import, slice_is(record->type, "queue-events")            ? "submission to a queue"
                                      : slice_is(record->type, "memory-events")         ? "memory event"
                                      : slice_is(record->type, "command-region-events") ? "region of a command buffer"
                                                                                        : "counter sample");
  return STATUS_OK;
}

static enum status put_record(void *context, const struct iree_record *record, struct error *err)
{
  struct reading *reading = context;
  struct iree_bundle *bundle = &reading->bundle;
  if (slice_is(record->type, "host-execution-events"))
    return iree_each_item(bundle, record, HOST_EVENT_BYTES, put_host_event, reading, err);
  if (slice_is(record->type, "dispatch-events"))
    return iree_each_item(bundle, record, DISPATCH_BYTES, put_device_event, reading, err);
  if (slice_is(record->type, "queue-device-events"))
    return iree_each_item(bundle, record, DEVICE_EVENT_BYTES, put_device_event, reading, err);
  if (slice_is(record->type, "queue-events") || slice_is(record->type, "memory-events") ||
      slice_is(record->type, "command-region-events") || slice_is(record->type, "counter-samples"))
    return iree_each_item(bundle, record, 4, skip_item, reading, err);
  return STATUS_OK;
}

static enum status read_bundle(struct reading *reading, struct import *import, struct error *err)
{
  XSP_TRY(iree_open(&reading->bundle, import, err));
  XSP_TRY(iree_each_record(&reading->bundle, note_record, reading, err));
  if (reading->bundle.dropped > 0)
    import_note(import, "%" PRIu64 " records are missing: IREE had no room for them", reading->bundle.dropped);
  return iree_each_record(&reading->bundle, put_record, reading, err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {0};
  import_run(import, &(struct store_run){0});
  import_framework(import, "iree", NULL);
  enum status status = read_bundle(&reading, import, err);
  iree_close(&reading.bundle);
  map_done(&reading.tracks);
  return status;
}

const struct importer importer_iree = {
    .name = "iree",
    .summary = "profile bundle of IREE (.ireeprof)",
    .recognize = recognize,
    .read = read_file,
};
