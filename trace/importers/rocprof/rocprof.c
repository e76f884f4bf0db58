// SPDX-License-Identifier: Apache-2.0
// JSON of rocprofv3, ROCm's profiler: {"rocprofiler-sdk-tool": [a process: {metadata, agents, strings, kernel_symbols,
// buffer_records: {hip_api: […], kernel_dispatch: […], …}}, …]}. A process is read twice, as records have numbers whose names
// may come later. See docs/importers.md.
#include "importers/rocprof/executions.h"
#include "importers/rocprof/names.h"

#include <inttypes.h>
#include <stdio.h>

#define TOP "\"rocprofiler-sdk-tool\""

static int recognize(struct slice head, bool is_all)
{
  head = import_json_head(head);
  return slice_starts_with(head, "{") && slice_contains(head, TOP) ? 3 : 0;
}

enum section { SECTION_CALLS, SECTION_LIBRARY, SECTION_RANGES, SECTION_KERNELS, SECTION_COPIES, SECTION_SKIPPED };
static const struct {
  const char *name;
  enum section section;
} sections[] = {
    {"hip_api", SECTION_CALLS},           {"hsa_api", SECTION_CALLS},
    {"rccl_api", SECTION_LIBRARY},        {"marker_api", SECTION_RANGES},
    {"kernel_dispatch", SECTION_KERNELS}, {"memory_copy", SECTION_COPIES},
    {"scratch_memory", SECTION_SKIPPED},  {"memory_allocation", SECTION_SKIPPED},
    {"page_migration", SECTION_SKIPPED},  {"rocdecode_api", SECTION_LIBRARY},
    {"rocjpeg_api", SECTION_LIBRARY},
};

enum field { // numbers of a record that spans are made of
  FIELD_KIND,
  FIELD_OPERATION,
  FIELD_THREAD,
  FIELD_CORRELATION,
  FIELD_START,
  FIELD_END,
  FIELD_KERNEL,
  FIELD_AGENT,
  FIELD_QUEUE,
  FIELD_STREAM,
  FIELD_FROM,
  FIELD_TO,
  FIELD_BYTES,
  FIELD_SHARED,
  FIELD_BLOCK_X,
  FIELD_BLOCK_Y,
  FIELD_BLOCK_Z,
  FIELD_GRID_X,
  FIELD_GRID_Y,
  FIELD_GRID_Z,
  FIELD_COUNT,
};
static const struct {
  const char *inside, *key; // of which object; NULL: of the record or of dispatch_info
} fields[FIELD_COUNT] = {
    [FIELD_KIND] = {NULL, "kind"},
    [FIELD_OPERATION] = {NULL, "operation"},
    [FIELD_THREAD] = {NULL, "thread_id"},
    [FIELD_CORRELATION] = {"correlation_id", "internal"},
    [FIELD_START] = {NULL, "start_timestamp"},
    [FIELD_END] = {NULL, "end_timestamp"},
    [FIELD_KERNEL] = {NULL, "kernel_id"},
    [FIELD_AGENT] = {"agent_id", "handle"},
    [FIELD_QUEUE] = {"queue_id", "handle"},
    [FIELD_STREAM] = {"stream_id", "handle"},
    [FIELD_FROM] = {"src_agent_id", "handle"},
    [FIELD_TO] = {"dst_agent_id", "handle"},
    [FIELD_BYTES] = {NULL, "bytes"},
    [FIELD_SHARED] = {NULL, "group_segment_size"},
    [FIELD_BLOCK_X] = {"workgroup_size", "x"},
    [FIELD_BLOCK_Y] = {"workgroup_size", "y"},
    [FIELD_BLOCK_Z] = {"workgroup_size", "z"},
    [FIELD_GRID_X] = {"grid_size", "x"},
    [FIELD_GRID_Y] = {"grid_size", "y"},
    [FIELD_GRID_Z] = {"grid_size", "z"},
};

struct reading { // `json` for the visitors
  struct import_json json;
  struct rocprof_names names; // of the process that is read
  struct map tracks;          // (process, device or thread), (stream) → track
  struct map large;           // of rocprof_set_correlation
  int64_t last_span_id, process_count;
  enum section section;
  const char *skipped; // why the records of a list that is only counted are no spans
  // Of the record that is read:
  const char *inside;
  int64_t values[FIELD_COUNT];
  bool has[FIELD_COUNT];
};

// ---- tracks ----------------------------------------------------------------------------------------------------------
static enum status find_track(struct reading *reading, const struct store_track *track, uint32_t *ret_track_id,
                              struct error *err)
{
  bool is_device = track->device_id != STORE_NONE;
  struct map_key key = {(uint64_t)reading->process_count << 32 | (uint32_t)(is_device ? track->device_id : -1),
                        (uint64_t)(is_device ? track->stream_id : track->thread_id)};
  uint64_t *known = map_at(&reading->tracks, key, NULL);
  if (*known == 0) {
    XSP_TRY(import_track(reading->json.import, track, ret_track_id, err));
    *known = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*known;
  return STATUS_OK;
}

// -1: a CPU, or not known.
static int64_t gpu_of(const struct reading *reading, enum field field)
{
  const uint64_t *device = map_find(&reading->names.devices, map_number((uint64_t)reading->values[field]));
  return device != NULL && reading->has[field] ? (int64_t)*device - 2 : -1;
}

static enum status host_track(struct reading *reading, uint32_t *ret_track_id, struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  track.process_id = reading->names.process_id;
  track.thread_id = reading->values[FIELD_THREAD];
  return find_track(reading, &track, ret_track_id, err);
}

// Of copies in which no GPU takes part: they are on no thread, as they run beside it.
static enum status copies_track(struct reading *reading, uint32_t *ret_track_id, struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  track.process_id = reading->names.process_id;
  track.name = "copies on the host";
  return find_track(reading, &track, ret_track_id, err);
}

static enum status gpu_track(struct reading *reading, int64_t gpu, uint32_t *ret_track_id, struct error *err)
{
  char name[96];
  bool has_stream = reading->has[FIELD_STREAM];
  struct store_track track = IMPORT_NO_PLACE;
  track.process_id = reading->names.process_id;
  track.device_id = gpu > 0 ? gpu : 0;
  track.stream_id = has_stream ? reading->values[FIELD_STREAM] : reading->values[FIELD_QUEUE];
  rocprof_name_track(name, &track, has_stream);
  track.name = name;
  return find_track(reading, &track, ret_track_id, err);
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static uint32_t operation_name(const struct reading *reading)
{
  struct map_key key = {(uint64_t)reading->values[FIELD_KIND], (uint64_t)reading->values[FIELD_OPERATION]};
  const uint64_t *name = map_find(&reading->names.operations, key);
  return name != NULL ? (uint32_t)*name : 0;
}

static enum status make_execution(struct reading *reading, struct store_span *span, struct error *err)
{
  struct import *import = reading->json.import;
  const int64_t *values = reading->values;
  int64_t gpu = gpu_of(reading, FIELD_AGENT), from = gpu_of(reading, FIELD_FROM), to = gpu_of(reading, FIELD_TO);
  span->level = XSP_LEVEL_KERNEL;
  span->kind = XSP_KIND_EXECUTION;
  if (reading->section == SECTION_KERNELS) {
    const uint64_t *name = map_find(&reading->names.kernels, map_number((uint64_t)values[FIELD_KERNEL]));
    span->category = import_word(import, "kernel");
    span->name = name != NULL ? (uint32_t)*name : 0;
    rocprof_tag_extents(import, span->span_id, values + FIELD_BLOCK_X, values + FIELD_GRID_X);
    if (reading->has[FIELD_SHARED])
      import_tag_int(import, span->span_id, import_word(import, "shared_bytes"), values[FIELD_SHARED]);
  } else {
    rocprof_make_copy(import, span, from, to, reading->has[FIELD_BYTES] ? values[FIELD_BYTES] : -1);
    gpu = to >= 0 ? to : from;
    if (gpu < 0)
      return copies_track(reading, &span->track_id, err);
  }
  return gpu_track(reading, gpu, &span->track_id, err);
}

static uint32_t range_text(const struct reading *reading)
{
  const uint64_t *text = map_find(&reading->names.markers, map_number((uint64_t)reading->values[FIELD_CORRELATION]));
  return text != NULL ? (uint32_t)*text : operation_name(reading);
}

static enum status add_record(struct reading *reading, struct error *err)
{
  struct import *import = reading->json.import;
  const int64_t *values = reading->values;
  struct store_span span = {.start_ns = values[FIELD_START], .kind = XSP_KIND_SYNC};
  const char *reason = !reading->has[FIELD_START] || !reading->has[FIELD_END] ? "no times"
                       : values[FIELD_END] < values[FIELD_START]              ? "negative duration"
                       : reading->section == SECTION_SKIPPED                  ? "memory"
                                                                              : NULL;
  if (reason != NULL || __builtin_sub_overflow(values[FIELD_END], values[FIELD_START], &span.duration_ns)) {
    import_skip(import, reason != NULL ? reason : "no times");
    return STATUS_OK;
  }
  span.span_id = ++reading->last_span_id;
  bool is_call = reading->section == SECTION_CALLS;
  bool is_execution = reading->section == SECTION_KERNELS || reading->section == SECTION_COPIES;
  if (is_execution) {
    XSP_TRY(make_execution(reading, &span, err));
  } else {
    XSP_TRY(host_track(reading, &span.track_id, err));
    span.level = is_call ? XSP_LEVEL_KERNEL : XSP_LEVEL_LIBRARY;
    span.flags = is_call ? STORE_SPAN_CALL : 0;
    span.category = is_call ? import_word(import, "api") : 0;
    span.name = operation_name(reading);
    if (reading->section == SECTION_RANGES)
      rocprof_make_range(import, &span, range_text(reading));
  }
  if (is_call || is_execution)
    rocprof_set_correlation(import, &span, &reading->large, reading->process_count - 1, values[FIELD_CORRELATION]);
  return import_span(import, &span, err);
}

// ---- records ---------------------------------------------------------------------------------------------------------
static bool take_value(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  const char *outside = reading->inside;
  if (reader->event == JSON_OBJECT) {
    char name[JSON_KEY_BYTES];
    snprintf(name, sizeof name, "%s", key);
    reading->inside = strcmp(key, "dispatch_info") == 0 ? NULL : name;
    bool is_read = json_each(reader, take_value, context);
    reading->inside = outside;
    return is_read;
  }
  for (size_t i = 0; i < FIELD_COUNT; i++) {
    bool is_inside =
        outside == NULL ? fields[i].inside == NULL : fields[i].inside != NULL && strcmp(fields[i].inside, outside) == 0;
    if (is_inside && strcmp(fields[i].key, key) == 0)
      reading->has[i] = json_int64(reader, &reading->values[i]);
  }
  return true;
}

static bool take_record(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  memset(reading->values, 0, sizeof reading->values);
  memset(reading->has, 0, sizeof reading->has);
  reading->inside = NULL;
  if (reader->event != JSON_OBJECT || !json_each(reader, take_value, context))
    return false;
  return import_json_ok(&reading->json, add_record(reading, reading->json.err));
}

static bool count_record(void *context, struct json_reader *reader, const char *key)
{
  const struct reading *reading = context;
  import_skip(reading->json.import, reading->skipped);
  return true;
}

// Samples and counters have no times, or not those of a span; a list of another name may be new.
static bool count_section(struct reading *reading, struct json_reader *reader, const char *name)
{
  bool is_sample = strncmp(name, "pc_sample_", strlen("pc_sample_")) == 0;
  reading->skipped = is_sample                                    ? "sample of instructions"
                     : strstr(name, "counter_collection") != NULL ? "counter"
                                                                  : "other record";
  return json_each(reader, count_record, reading);
}

static bool take_section(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (reader->event != JSON_ARRAY)
    return true;
  for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
    if (strcmp(sections[i].name, key) == 0) {
      reading->section = sections[i].section;
      return json_each(reader, take_record, context);
    }
  return count_section(reading, reader, key);
}

static bool take_callback_section(void *context, struct json_reader *reader, const char *key)
{
  return reader->event != JSON_ARRAY || count_section(context, reader, key);
}

static bool take_member(void *context, struct json_reader *reader, const char *key)
{
  bool is_object = reader->event == JSON_OBJECT;
  if (is_object && strcmp(key, "callback_records") == 0)
    return json_each(reader, take_callback_section, context);
  return !is_object || strcmp(key, "buffer_records") != 0 || json_each(reader, take_section, context);
}

static bool take_process(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  size_t offset = reader->offset;
  if (reader->event != JSON_OBJECT || !json_skip(reader))
    return false;
  struct slice process = {reader->start + offset, (size_t)(reader->at - reader->start) - offset};
  reading->names = (struct rocprof_names){.import = reading->json.import, .process_id = STORE_NONE};
  reading->process_count++;
  bool is_read = rocprof_names_read(&reading->names, process) &&
                 json_each_of_text(process.data, process.length, take_member, reading);
  rocprof_names_done(&reading->names);
  return is_read;
}

static bool take_top(void *context, struct json_reader *reader, const char *key)
{
  return key == NULL || strcmp(key, "rocprofiler-sdk-tool") != 0 || reader->event != JSON_ARRAY ||
         json_each(reader, take_process, context);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.json.import = import};
  // Times are of the system's monotonic clock.
  import_run(import, &(struct store_run){0});
  enum status status = import_json_each(&reading.json, take_top, &reading, err);
  map_done(&reading.tracks);
  map_done(&reading.large);
  return status;
}

const struct importer importer_rocprof = {
    .name = "rocprof",
    .summary = "JSON of rocprofv3, ROCm's profiler",
    .recognize = recognize,
    .read = read_file,
};
