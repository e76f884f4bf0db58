// SPDX-License-Identifier: Apache-2.0
// What an Nsight Systems export says once: its version, when and on which machine it was recorded, how processes, threads,
// NVTX domains and categories are called; and how many rows it has that become no spans.
#include "importers/nsys/reader.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// ---- pairs of name and value -----------------------------------------------------------------------------------------
static const char environment[] = "TARGET_INFO_SYSTEM_ENV";

static void take_export(struct nsys_reader *reader, const char *name, const char *value)
{
  if (strcmp(name, "EXPORT_SCHEMA_VERSION") == 0)
    import_version(reader->import, value);
  else if (strcmp(name, "EXPORT_PRODUCT_VERSION") == 0)
    import_system_text(reader->import, "nsys_version", value);
  else if (strcmp(name, "EXPORT_PARAM_TIME_NORMALIZE") == 0 && strcasecmp(value, "true") == 0)
    reader->epoch_is_unix = true; // --ts-normalize: times are Unix times already
}

// Only what says something about speed; the environment, which may hold secrets, stays where it is.
static void take_environment(struct nsys_reader *reader, const char *name, const char *value)
{
  static const struct {
    const char *name, *key;
    bool is_number;
  } facts[] = {
      {"CpuDescription", "cpu_model", false},   {"CpuCores", "cpus", true},
      {"OsDescription", "os", false},           {"Hostname", "host", false},
      {"NvDriverVersion", "gpu_driver", false},
  };
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    if (strcmp(facts[i].name, name) != 0 || value[0] == 0 || strcmp(value, "unknown") == 0)
      continue;
    double number;
    char rest;
    if (!facts[i].is_number)
      import_system_text(reader->import, facts[i].key, value);
    else if (sscanf(value, "%lf%c", &number, &rest) == 1)
      import_system_number(reader->import, facts[i].key, number);
    if (strcmp(name, "Hostname") == 0 && reader->host == NULL)
      reader->host = value;
  }
}

static enum status take_pair(void *context, struct import_scan *scan, struct error *err)
{
  struct nsys_reader *reader = context;
  struct slice name = import_scan_text(scan, 0), value = import_scan_text(scan, 1);
  bool is_environment = strcmp(scan->table, environment) == 0;
  if (name.data != NULL && value.data != NULL && name.length <= 64 && value.length <= 4096)
    (is_environment ? take_environment : take_export)(reader, nsys_copy(reader->import, name),
                                                      nsys_copy(reader->import, value));
  return STATUS_OK;
}

static enum status read_pairs(struct nsys_reader *reader, const char *table, struct error *err)
{
  static const struct import_column columns[] = {{"name", true}, {"value", true}};
  return import_read_rows(&reader->database, table, columns, 2, take_pair, reader, err);
}

// ---- time and machine ------------------------------------------------------------------------------------------------
static enum status read_session_start(struct nsys_reader *reader, struct error *err)
{
  static const struct import_column columns[] = {{"utcEpochNs", false}};
  struct import_scan scan SCOPED(import_scan_end) = {0};
  bool has_row = false;
  if (reader->epoch_is_unix)
    return STATUS_OK;
  XSP_TRY(import_scan_begin(&reader->database, "TARGET_INFO_SESSION_START_TIME", columns, 1, &scan, err));
  XSP_TRY(import_scan_next(&scan, &has_row, err));
  if (!has_row || import_scan_type(&scan, 0) == IMPORT_NULL)
    return STATUS_OK;
  reader->epoch_ns = import_scan_int(&scan, 0, 0);
  reader->epoch_is_unix = reader->epoch_ns > 0;
  return import_scan_check(&scan, err);
}

// A card moves between 10 GB/s and 100 TB/s; anything else in that column is no bandwidth.
static bool is_bandwidth(double bytes_per_s)
{
  return bytes_per_s >= 1e10 && bytes_per_s <= 1e14;
}

enum { NAME, BANDWIDTH, CLOCK, PROCESSORS, MEMORY, MAJOR, MINOR, GPU_COLUMNS };

// Facts of the first one.
static enum status take_gpu(void *context, struct import_scan *scan, struct error *err)
{
  static const struct {
    unsigned column;
    const char *key;
  } numbers[] = {{CLOCK, "gpu_clock_hz"}, {PROCESSORS, "gpu_multiprocessors"}, {MEMORY, "gpu_memory_bytes"}};
  struct nsys_reader *reader = context;
  struct import *import = reader->import;
  struct slice name = import_scan_text(scan, NAME);
  if (reader->gpu_count++ > 0)
    return STATUS_OK;
  if (name.length > 0)
    import_system_text(import, "gpu", nsys_copy(import, name));
  double bandwidth = (double)import_scan_int(scan, BANDWIDTH, 0);
  if (is_bandwidth(bandwidth))
    import_system_number(import, "memory_bandwidth_bytes_per_s", bandwidth);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (import_scan_int(scan, numbers[i].column, 0) > 0)
      import_system_number(import, numbers[i].key, (double)import_scan_int(scan, numbers[i].column, 0));
  char capability[48];
  snprintf(capability, sizeof capability, "%lld.%lld", (long long)import_scan_int(scan, MAJOR, 0),
           (long long)import_scan_int(scan, MINOR, 0));
  if (import_scan_int(scan, MAJOR, 0) > 0)
    import_system_text(import, "gpu_compute_capability", capability);
  return STATUS_OK;
}

static enum status read_gpus(struct nsys_reader *reader, struct error *err)
{
  static const struct import_column columns[GPU_COLUMNS] = {
      {"name", false},        {"memoryBandwidth", false}, {"clockRate", false},    {"smCount", false},
      {"totalMemory", false}, {"computeMajor", false},    {"computeMinor", false},
  };
  XSP_TRY(import_read_rows(&reader->database, "TARGET_INFO_GPU", columns, GPU_COLUMNS, take_gpu, reader, err));
  if (reader->gpu_count > 0)
    import_system_number(reader->import, "gpu_count", (double)reader->gpu_count);
  return STATUS_OK;
}

enum status nsys_read_facts(struct nsys_reader *reader, struct error *err)
{
  XSP_TRY(read_pairs(reader, "EXPORT_META_DATA", err)); // up to schema 2.x
  XSP_TRY(read_pairs(reader, "META_DATA_EXPORT", err));
  XSP_TRY(read_session_start(reader, err));
  XSP_TRY(read_pairs(reader, environment, err));
  return read_gpus(reader, err);
}

// ---- names of tracks: only those that have spans, since a machine has thousands of other threads -----------------------
// The first name of a thread counts; one that the program gave by NVTX is there already.
static enum status name_thread(void *context, struct import_scan *scan, struct error *err)
{
  struct nsys_reader *reader = context;
  uint32_t track, name;
  struct nsys_key key = {import_scan_type(scan, 0) == IMPORT_INTEGER ? import_scan_int(scan, 0, 0) : 0, 0, 0};
  if (!nsys_map_find(&reader->threads, key, &track) || nsys_map_find(&reader->thread_names, key, &name))
    return STATUS_OK;
  XSP_TRY(nsys_column_string(reader, scan, 1, &name, err));
  if (name == 0)
    return STATUS_OK;
  import_track_name(reader->import, track, import_text(reader->import, name, NULL));
  nsys_map_put(&reader->thread_names, key, name);
  return STATUS_OK;
}

static enum status note_process(void *context, struct import_scan *scan, struct error *err)
{
  struct nsys_reader *reader = context;
  uint32_t name = 0;
  struct nsys_key key = {import_scan_type(scan, 0) == IMPORT_INTEGER ? nsys_process(import_scan_int(scan, 0, 0)) : 0, 0,
                         0};
  struct slice text = import_scan_text(scan, 1);
  if (text.data == NULL || !nsys_map_find(&reader->process_names, key, &name) || name != 0)
    return STATUS_OK;
  nsys_map_put(&reader->process_names, key, import_repaired(reader->import, nsys_file_name(text)));
  return STATUS_OK;
}

enum status nsys_read_names(struct nsys_reader *reader, struct error *err)
{
  static const struct import_column thread_columns[2] = {{"globalTid", false}, {"nameId", false}};
  static const struct import_column process_columns[2] = {{"globalPid", false}, {"name", false}};
  struct nsys_map *threads = &reader->threads, *process_names = &reader->process_names;
  uint32_t name;
  XSP_TRY(import_read_rows(&reader->database, "ThreadNames", thread_columns, 2, name_thread, reader, err));
  for (uint32_t i = 0; i < threads->values.count; i++) { // of the others, their processes' names
    struct nsys_key thread = nsys_map_key(threads, i);
    if (!nsys_map_find(&reader->thread_names, thread, &name))
      nsys_map_put(process_names, (struct nsys_key){nsys_process(thread.a), 0, 0}, 0);
  }
  XSP_TRY(import_read_rows(&reader->database, "PROCESSES", process_columns, 2, note_process, reader, err));
  for (uint32_t i = 0; i < threads->values.count; i++) {
    struct nsys_key thread = nsys_map_key(threads, i), process = {nsys_process(thread.a), 0, 0};
    if (!nsys_map_find(&reader->thread_names, thread, &name) && nsys_map_find(process_names, process, &name) &&
        name != 0)
      import_track_name(reader->import, threads->values.items[i], import_text(reader->import, name, NULL));
  }
  return STATUS_OK;
}

// ---- what becomes no spans -------------------------------------------------------------------------------------------
// Rows of tables by what they hold; the first that matches. A table with another name that has a start or a timestamp is
// "other event"; one without holds no events.
static const char unknown_reason[] = "other event";
static const char *reason_for(const char *table)
{
  static const struct {
    const char *prefix, *reason;
  } reasons[] = {
      {"OSRT_API", "system library call"},
      {"SYSCALL", "system call"},
      {"SCHED_EVENTS", "thread scheduling"},
      {"COMPOSITE_EVENTS", "processor sample"},
      {"PERF_EVENT", "processor sample"},
      {"PROFILER_OVERHEAD", "profiler overhead"},
      {"CUPTI_ACTIVITY_KIND_OVERHEAD", "profiler overhead"},
      {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUDA event"},
      {"CUDA_GPU_MEMORY", "memory usage"},
      {"CUDA_UM_", "page fault"},
      {"GPU_METRICS", "hardware metric"},
      {"GENERIC_EVENTS", "hardware metric"},
      {"NET_", "hardware metric"},
      {"GPU_CONTEXT_SWITCH", "GPU context switch"},
      {"DIAGNOSTIC_EVENT", "diagnostic message"},
      {"OPENGL", "graphics"},
      {"VULKAN", "graphics"},
      {"KHR_DEBUG", "graphics"},
      {"DX", "graphics"},
      {"D3D", "graphics"},
      {"WDDM", "graphics"},
  };
  for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
    if (strncasecmp(table, reasons[i].prefix, strlen(reasons[i].prefix)) == 0)
      return reasons[i].reason;
  return unknown_reason;
}

static bool is_plain_name(const char *name)
{
  return name[0] != 0 && strlen(name) < 100 &&
         strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

// A later nsys may have given a table another name: kernels whose launches or ranges are in it have none here.
static void note_unknown_table(struct nsys_reader *reader, const char *table, uint64_t count)
{
  static const struct {
    const char *part, *among;
  } known[] = {{"_RUNTIME", ", launches of kernels among them"},
               {"_DRIVER", ", launches of kernels among them"},
               {"CUDA_API", ", launches of kernels among them"},
               {"NVTX", ", ranges in which kernels were launched among them"}};
  const char *among = "";
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcasestr(table, known[i].part) != NULL)
      among = known[i].among;
  if (count > 0)
    import_note(reader->import, "the table %s is new: %llu events in it are not read%s", table,
                (unsigned long long)count, among);
}

enum status nsys_count_others(struct nsys_reader *reader, struct error *err)
{
  static const struct import_column columns[] = {{"start", false}, {"timestamp", false}};
  for (size_t i = 0; i < reader->database.table_count; i++) {
    const struct import_table *table = &reader->database.tables[i];
    uint64_t count = 0;
    if (table->refused == NULL && !nsys_takes_table(table->name) && is_plain_name(table->name))
      XSP_TRY(import_count_rows(&reader->database, table->name, columns, 2, &count, err));
    const char *reason = reason_for(table->name);
    import_skip_many(reader->import, reason, count);
    if (reason == unknown_reason)
      note_unknown_table(reader, table->name, count);
  }
  return STATUS_OK;
}
