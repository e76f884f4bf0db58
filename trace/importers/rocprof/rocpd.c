// SPDX-License-Identifier: Apache-2.0
// rocpd, the SQLite database that rocprofv3 writes since ROCm 7: regions of threads, kernels and copies. Names of tables end in the
// number of the process's recording; a file may have several. Schema 3 has places and times in the rows, schema 4 in tables of
// their own. See docs/importers.md.
#include "importers/rocprof/rocpd.h"

#include "importers/rocprof/executions.h"

#include <inttypes.h>

#define PARTS_MOST 1000
static const char advice[] = "rocprofv3 --output-format rocpd";

static int recognize(struct slice head, bool is_all)
{
  bool is_database = head.length >= 16 && memcmp(head.data, "SQLite format 3", 16) == 0;
  return is_database && slice_contains(head, "rocpd_info_node") && slice_contains(head, "rocpd_event") ? 3 : 0;
}

enum column { // of all three tables, as far as they have them
  TRACK,
  PROCESS,
  THREAD,
  AGENT,
  QUEUE,
  STREAM,
  START,
  START_ID,
  END,
  END_ID,
  EVENT,
  NAME, // of a region; a kernel's symbol; below: of its own table
  COPY_FROM = NAME,
  SHARED,
  COPY_TO = SHARED,
  BLOCK,
  COPY_BYTES = BLOCK,
  GRID = BLOCK + 3,
  COLUMNS_MOST = GRID + 3,
};
#define COMMON_COLUMNS                                                                                                 \
  {"track_id", IMPORT_OPTIONAL}, {"pid", IMPORT_OPTIONAL}, {"tid", IMPORT_OPTIONAL}, {"agent_id", IMPORT_OPTIONAL},    \
      {"queue_id", IMPORT_OPTIONAL}, {"stream_id", IMPORT_OPTIONAL}, {"start", IMPORT_EITHER},                         \
      {"start_id", IMPORT_EITHER}, {"end", IMPORT_OPTIONAL}, {"end_id", IMPORT_OPTIONAL},                              \
  {                                                                                                                    \
    "event_id", IMPORT_NEEDED                                                                                          \
  }

struct reading {
  struct import *import;
  struct import_database database;
  struct rocpd rocpd;    // the part that is read
  int64_t part, process; // numbers from 0; of the row
  int64_t process_count;
  struct map processes; // (part, row of the process) → number + 1
  struct map tracks;    // (process, device), (stream or thread) → track
  struct map large;     // of rocprof_set_correlation
  int64_t last_span_id;
};

// ---- places and times ------------------------------------------------------------------------------------------------
static enum status time_of(struct reading *reading, struct import_scan *scan, size_t in_row, size_t by_number,
                           int64_t *ret_ns, bool *ret_has_time, struct error *err)
{
  *ret_has_time = import_scan_type(scan, in_row) != IMPORT_NULL;
  *ret_ns = import_scan_int(scan, in_row, 0);
  if (!*ret_has_time && import_scan_type(scan, by_number) != IMPORT_NULL)
    return rocpd_time(&reading->rocpd, import_scan_int(scan, by_number, 0), ret_ns, ret_has_time, err);
  return STATUS_OK;
}

static enum status place_of(struct reading *reading, struct import_scan *scan, struct rocpd_place *ret_place,
                            struct error *err)
{
  *ret_place = (struct rocpd_place){.process = import_scan_int(scan, PROCESS, STORE_NONE),
                                    .thread = import_scan_int(scan, THREAD, STORE_NONE),
                                    .agent = import_scan_int(scan, AGENT, STORE_NONE),
                                    .queue = import_scan_int(scan, QUEUE, STORE_NONE),
                                    .stream = import_scan_int(scan, STREAM, STORE_NONE)};
  if (import_scan_type(scan, TRACK) != IMPORT_NULL)
    XSP_TRY(rocpd_place_of(&reading->rocpd, import_scan_int(scan, TRACK, 0), ret_place, err));
  struct map_key key = {(uint64_t)reading->part, (uint64_t)ret_place->process};
  uint64_t *process = map_at(&reading->processes, key, NULL);
  if (*process == 0)
    *process = (uint64_t)++reading->process_count;
  reading->process = (int64_t)*process - 1;
  return STATUS_OK;
}

static enum status find_track(struct reading *reading, const struct rocpd_place *place, bool is_device, int64_t gpu,
                              uint32_t *ret_track_id, struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  char name[96];
  bool has_stream = place->stream != STORE_NONE;
  int64_t device = gpu > 0 ? gpu : 0, lane = !is_device ? place->thread : has_stream ? place->stream : place->queue;
  struct map_key key = {(uint64_t)reading->process << 32 | (uint32_t)(is_device ? device : -1), (uint64_t)lane};
  uint64_t *known = map_at(&reading->tracks, key, NULL);
  *ret_track_id = (uint32_t)*known;
  if (*known != 0)
    return STATUS_OK;
  if (place->process != STORE_NONE)
    XSP_TRY(rocpd_system_id(&reading->rocpd, ROCPD_PROCESSES, place->process, &track.process_id, err));
  if (is_device) {
    track.device_id = device;
    track.stream_id = lane;
    rocprof_name_track(name, &track, has_stream);
    track.name = name;
  } else if (place->thread != STORE_NONE) {
    XSP_TRY(rocpd_system_id(&reading->rocpd, ROCPD_THREADS, place->thread, &track.thread_id, err));
  }
  XSP_TRY(import_track(reading->import, &track, ret_track_id, err));
  *known = *ret_track_id;
  return STATUS_OK;
}

// Of copies in which no GPU takes part: they are on no thread, as they run beside it.
static enum status copies_track(struct reading *reading, const struct rocpd_place *place, uint32_t *ret_track_id,
                                struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  struct map_key key = {(uint64_t)reading->process << 32 | (UINT32_MAX - 1), 0}; // of no device
  uint64_t *known = map_at(&reading->tracks, key, NULL);
  track.name = "copies on the host";
  if (*known == 0) {
    if (place->process != STORE_NONE)
      XSP_TRY(rocpd_system_id(&reading->rocpd, ROCPD_PROCESSES, place->process, &track.process_id, err));
    XSP_TRY(import_track(reading->import, &track, ret_track_id, err));
    *known = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*known;
  return STATUS_OK;
}

// Times, place and event of a row. span->span_id stays 0: it is skipped.
static enum status begin_span(struct reading *reading, struct import_scan *scan, struct store_span *span,
                              struct rocpd_place *ret_place, struct rocpd_event *ret_event, struct error *err)
{
  int64_t end_ns = 0;
  bool has_start = false, has_end = false;
  XSP_TRY(time_of(reading, scan, START, START_ID, &span->start_ns, &has_start, err));
  XSP_TRY(time_of(reading, scan, END, END_ID, &end_ns, &has_end, err));
  XSP_TRY(place_of(reading, scan, ret_place, err));
  XSP_TRY(rocpd_event_of(&reading->rocpd, import_scan_int(scan, EVENT, 0), ret_event, err));
  XSP_TRY(import_scan_check(scan, err));
  const char *reason = ret_event->class == ROCPD_KFD ? "of the kernel's driver"
                       : !has_start || !has_end      ? "no times"
                       : end_ns < span->start_ns     ? "negative duration"
                                                     : NULL;
  if (reason != NULL) {
    import_skip(reading->import, reason);
    return STATUS_OK;
  }
  if (__builtin_sub_overflow(end_ns, span->start_ns, &span->duration_ns))
    return import_scan_broken(scan, err, "its time is beyond 64 bits of nanoseconds");
  span->span_id = ++reading->last_span_id;
  return STATUS_OK;
}

// ---- rows ------------------------------------------------------------------------------------------------------------
static enum status read_region(void *context, struct import_scan *scan, struct error *err)
{
  struct reading *reading = context;
  struct import *import = reading->import;
  struct store_span span = {.kind = XSP_KIND_SYNC};
  struct rocpd_place place;
  struct rocpd_event event;
  uint32_t name = 0;
  XSP_TRY(begin_span(reading, scan, &span, &place, &event, err));
  if (span.span_id == 0)
    return STATUS_OK;
  XSP_TRY(find_track(reading, &place, false, 0, &span.track_id, err));
  XSP_TRY(rocpd_string(&reading->rocpd, import_scan_int(scan, NAME, 0), &name, err));
  span.name = name;
  if (event.class == ROCPD_RANGE) {
    rocprof_make_range(import, &span, event.message != 0 ? event.message : name);
  } else {
    bool is_call = event.class == ROCPD_CALL;
    span.level = is_call ? XSP_LEVEL_KERNEL : XSP_LEVEL_LIBRARY;
    span.flags = is_call ? STORE_SPAN_CALL : 0;
    span.category = is_call ? import_word(import, "api") : 0;
    if (is_call)
      rocprof_set_correlation(import, &span, &reading->large, reading->process, event.correlation);
  }
  XSP_TRY(import_scan_check(scan, err));
  return import_span(import, &span, err);
}

static enum status read_kernel(void *context, struct import_scan *scan, struct error *err)
{
  struct reading *reading = context;
  struct import *import = reading->import;
  struct store_span span = {.kind = XSP_KIND_EXECUTION, .level = XSP_LEVEL_KERNEL};
  struct rocpd_place place;
  struct rocpd_event event;
  int64_t block[3], grid[3];
  XSP_TRY(begin_span(reading, scan, &span, &place, &event, err));
  if (span.span_id == 0)
    return STATUS_OK;
  XSP_TRY(find_track(reading, &place, true, rocpd_gpu(&reading->rocpd, place.agent), &span.track_id, err));
  XSP_TRY(rocpd_kernel_name(&reading->rocpd, import_scan_int(scan, NAME, 0), &span.name, err));
  span.category = import_word(import, "kernel");
  for (size_t i = 0; i < 3; i++) {
    block[i] = import_scan_int(scan, BLOCK + i, 0);
    grid[i] = import_scan_int(scan, GRID + i, 0);
  }
  rocprof_tag_extents(import, span.span_id, block, grid);
  if (import_scan_type(scan, SHARED) != IMPORT_NULL)
    import_tag_int(import, span.span_id, import_word(import, "shared_bytes"), import_scan_int(scan, SHARED, 0));
  rocprof_set_correlation(import, &span, &reading->large, reading->process, event.correlation);
  XSP_TRY(import_scan_check(scan, err));
  return import_span(import, &span, err);
}

static enum status read_copy(void *context, struct import_scan *scan, struct error *err)
{
  struct reading *reading = context;
  struct import *import = reading->import;
  struct store_span span = {.kind = XSP_KIND_EXECUTION, .level = XSP_LEVEL_KERNEL};
  struct rocpd_place place;
  struct rocpd_event event;
  XSP_TRY(begin_span(reading, scan, &span, &place, &event, err));
  if (span.span_id == 0)
    return STATUS_OK;
  int64_t from = rocpd_gpu(&reading->rocpd, import_scan_int(scan, COPY_FROM, STORE_NONE)),
          to = rocpd_gpu(&reading->rocpd, import_scan_int(scan, COPY_TO, STORE_NONE));
  rocprof_make_copy(import, &span, from, to, import_scan_int(scan, COPY_BYTES, -1));
  XSP_TRY(to >= 0 || from >= 0 ? find_track(reading, &place, true, to >= 0 ? to : from, &span.track_id, err)
                               : copies_track(reading, &place, &span.track_id, err));
  rocprof_set_correlation(import, &span, &reading->large, reading->process, event.correlation);
  XSP_TRY(import_scan_check(scan, err));
  return import_span(import, &span, err);
}

// ---- the file --------------------------------------------------------------------------------------------------------
static const struct {
  const char *table;
  import_row_reader *read; // NULL: counted only
  const char *skipped;
  size_t count;
  struct import_column columns[COLUMNS_MOST];
} tables[] = {
    {"rocpd_region", read_region, NULL, NAME + 1, {COMMON_COLUMNS, {"name_id", IMPORT_NEEDED}}},
    {"rocpd_kernel_dispatch",
     read_kernel,
     NULL,
     COLUMNS_MOST,
     {COMMON_COLUMNS,
      {"kernel_id", IMPORT_NEEDED},
      {"group_segment_size", IMPORT_OPTIONAL},
      {"workgroup_size_x", IMPORT_OPTIONAL},
      {"workgroup_size_y", IMPORT_OPTIONAL},
      {"workgroup_size_z", IMPORT_OPTIONAL},
      {"grid_size_x", IMPORT_OPTIONAL},
      {"grid_size_y", IMPORT_OPTIONAL},
      {"grid_size_z", IMPORT_OPTIONAL}}},
    {"rocpd_memory_copy",
     read_copy,
     NULL,
     COPY_BYTES + 1,
     {COMMON_COLUMNS, {"src_agent_id", IMPORT_NEEDED}, {"dst_agent_id", IMPORT_NEEDED}, {"size", IMPORT_OPTIONAL}}},
    {"rocpd_memory_allocate", NULL, "memory", 1, {{"id", IMPORT_OPTIONAL}}},
    {"rocpd_sample", NULL, "instant", 1, {{"id", IMPORT_OPTIONAL}}},
    {"rocpd_pmc_event", NULL, "counter", 1, {{"id", IMPORT_OPTIONAL}}},
};

static enum status read_part(struct reading *reading, struct error *err)
{
  XSP_TRY(rocpd_open(&reading->rocpd, err));
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    const char *table = rocpd_table(&reading->rocpd, tables[i].table);
    uint64_t count = 0;
    if (tables[i].read != NULL)
      XSP_TRY(import_read_rows(&reading->database, table, tables[i].columns, tables[i].count, tables[i].read, reading,
                               err));
    else if (import_find_table(&reading->database, table) != NULL)
      XSP_TRY(import_count_rows(&reading->database, table, tables[i].columns, tables[i].count, &count, err));
    if (count > 0)
      import_skip_many(reading->import, tables[i].skipped, count);
  }
  return STATUS_OK;
}

static enum status read_parts(struct reading *reading, struct error *err)
{
  static const char base[] = "rocpd_info_process";
  const struct import_database *database = &reading->database;
  // Times are of the system's monotonic clock.
  import_run(reading->import, &(struct store_run){0});
  for (size_t i = 0; i < database->table_count; i++) {
    const struct import_table *table = &database->tables[i];
    if (table->refused != NULL || !text_begins_with(table->name, base) || reading->part == PARTS_MOST)
      continue;
    reading->rocpd =
        (struct rocpd){.import = reading->import, .database = &reading->database, .suffix = table->name + strlen(base)};
    enum status status = read_part(reading, err);
    rocpd_close(&reading->rocpd);
    XSP_TRY(status);
    reading->part++;
  }
  if (reading->part > 0)
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, "cannot import", database->path, advice,
                   "it is an SQLite database, but not one of rocprofv3");
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import};
  const char *path = NULL;
  XSP_TRY(input_as_file(import->input, &path, err));
  XSP_TRY(import_database_open(&reading.database, path, import->input->path, advice, import->arena, err));
  reading.database.cancel = import->options->cancel;
  input_forget_file(import->input);
  enum status status = read_parts(&reading, err);
  map_done(&reading.processes);
  map_done(&reading.tracks);
  map_done(&reading.large);
  import_database_close(&reading.database);
  return status;
}

const struct importer importer_rocpd = {
    .name = "rocpd",
    .summary = "rocpd, the SQLite database of rocprofv3 since ROCm 7",
    .recognize = recognize,
    .read = read_file,
};
