// SPDX-License-Identifier: Apache-2.0
// What an Nsight Systems export says once: its version, when and on which machine it was recorded, how processes, threads,
// NVTX domains and categories are called; and how many rows it has that become no spans.
#include "importers/nsys/reader.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// ---- pairs of name and value -----------------------------------------------------------------------------------------
typedef void fact_reader(struct nsys_reader *reader, const char *name, const char *value);

static enum status take_pair(struct nsys_reader *reader, struct nsys_scan *scan, fact_reader *take, struct error *err)
{
  size_t name_length, value_length;
  const char *name = nsys_text(scan, 0, &name_length), *value = nsys_text(scan, 1, &value_length);
  if (name == NULL || value == NULL || name_length > 64 || value_length > 4096)
    return STATUS_OK;
  name = nsys_copy(reader->import, name, name_length);
  value = nsys_copy(reader->import, value, value_length);
  take(reader, name, value);
  return STATUS_OK;
}

static enum status each_pair(struct nsys_reader *reader, const char *table, fact_reader *take, struct error *err)
{
  static const struct nsys_column columns[] = {{"name", true}, {"value", true}};
  struct nsys_scan scan;
  bool has_row = false;
  XSP_TRY(nsys_scan_begin(&reader->database, table, columns, 2, &scan, err));
  enum status status = nsys_scan_next(&scan, &has_row, err);
  while (status == STATUS_OK && has_row) {
    status = take_pair(reader, &scan, take, err);
    if (status == STATUS_OK)
      status = nsys_scan_next(&scan, &has_row, err);
  }
  nsys_scan_end(&scan);
  return status;
}

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

// ---- time and machine ------------------------------------------------------------------------------------------------
static enum status read_session_start(struct nsys_reader *reader, struct error *err)
{
  static const struct nsys_column columns[] = {{"utcEpochNs", false}};
  struct nsys_scan scan;
  bool has_row = false;
  if (reader->epoch_is_unix)
    return STATUS_OK;
  XSP_TRY(nsys_scan_begin(&reader->database, "TARGET_INFO_SESSION_START_TIME", columns, 1, &scan, err));
  enum status status = nsys_scan_next(&scan, &has_row, err);
  if (status == STATUS_OK && has_row && nsys_type_of(&scan, 0) != NSYS_NULL) {
    reader->epoch_ns = nsys_int(&scan, 0, 0);
    reader->epoch_is_unix = reader->epoch_ns > 0;
    status = nsys_scan_check(&scan, err);
  }
  nsys_scan_end(&scan);
  return status;
}

// A card moves between 10 GB/s and 100 TB/s; anything else in that column is no bandwidth.
static bool is_bandwidth(double bytes_per_s)
{
  return bytes_per_s >= 1e10 && bytes_per_s <= 1e14;
}

static enum status read_gpus(struct nsys_reader *reader, struct error *err)
{
  enum { NAME, BANDWIDTH, CLOCK, PROCESSORS, MEMORY, MAJOR, MINOR, COLUMNS };
  static const struct nsys_column columns[COLUMNS] = {
      {"name", false},        {"memoryBandwidth", false}, {"clockRate", false},    {"smCount", false},
      {"totalMemory", false}, {"computeMajor", false},    {"computeMinor", false},
  };
  struct import *import = reader->import;
  struct nsys_scan scan;
  bool has_row = false;
  int64_t count = 0;
  XSP_TRY(nsys_scan_begin(&reader->database, "TARGET_INFO_GPU", columns, COLUMNS, &scan, err));
  enum status status = nsys_scan_next(&scan, &has_row, err);
  for (; status == STATUS_OK && has_row; count++) {
    size_t length;
    const char *name = nsys_text(&scan, NAME, &length);
    if (count == 0 && name != NULL && length > 0) {
      import_system_text(import, "gpu", nsys_copy(import, name, length));
    }
    if (count == 0) {
      double bandwidth = (double)nsys_int(&scan, BANDWIDTH, 0), clock = (double)nsys_int(&scan, CLOCK, 0);
      double processors = (double)nsys_int(&scan, PROCESSORS, 0), memory = (double)nsys_int(&scan, MEMORY, 0);
      char capability[32];
      snprintf(capability, sizeof capability, "%lld.%lld", (long long)nsys_int(&scan, MAJOR, 0),
               (long long)nsys_int(&scan, MINOR, 0));
      if (is_bandwidth(bandwidth))
        import_system_number(import, "memory_bandwidth_bytes_per_s", bandwidth);
      if (clock > 0)
        import_system_number(import, "gpu_clock_hz", clock);
      if (processors > 0)
        import_system_number(import, "gpu_multiprocessors", processors);
      if (memory > 0)
        import_system_number(import, "gpu_memory_bytes", memory);
      if (nsys_int(&scan, MAJOR, 0) > 0)
        import_system_text(import, "gpu_compute_capability", capability);
    }
    if (status == STATUS_OK)
      status = nsys_scan_next(&scan, &has_row, err);
  }
  nsys_scan_end(&scan);
  if (status == STATUS_OK && count > 0)
    import_system_number(import, "gpu_count", (double)count);
  return status;
}

enum status nsys_read_facts(struct nsys_reader *reader, struct error *err)
{
  XSP_TRY(each_pair(reader, "EXPORT_META_DATA", take_export, err)); // up to schema 2.x
  XSP_TRY(each_pair(reader, "META_DATA_EXPORT", take_export, err));
  XSP_TRY(read_session_start(reader, err));
  XSP_TRY(each_pair(reader, "TARGET_INFO_SYSTEM_ENV", take_environment, err));
  return read_gpus(reader, err);
}

// ---- names of tracks: only those that have spans, since a machine has thousands of other threads -----------------------
static enum status put(struct nsys_reader *reader, struct nsys_map *map, struct nsys_key key, uint32_t value,
                       struct error *err)
{
  nsys_map_put(map, key, value);
  return STATUS_OK;
}

// The first name of a thread counts; one that the program gave by NVTX is there already.
static enum status name_thread(struct nsys_reader *reader, struct nsys_scan *scan, struct error *err)
{
  uint32_t track, name;
  struct nsys_key key = {nsys_type_of(scan, 0) == NSYS_INTEGER ? nsys_int(scan, 0, 0) : 0, 0, 0};
  if (!nsys_map_find(&reader->threads, key, &track) || nsys_map_find(&reader->thread_names, key, &name))
    return STATUS_OK;
  XSP_TRY(nsys_column_string(reader, scan, 1, &name, err));
  if (name == 0)
    return STATUS_OK;
  XSP_TRY(import_track_name(reader->import, reader->run_id, track, import_text(reader->import, name, NULL), err));
  return put(reader, &reader->thread_names, key, name, err);
}

static enum status note_process(struct nsys_reader *reader, struct nsys_scan *scan, struct error *err)
{
  size_t length;
  uint32_t name = 0;
  struct nsys_key key = {nsys_type_of(scan, 0) == NSYS_INTEGER ? nsys_process(nsys_int(scan, 0, 0)) : 0, 0, 0};
  const char *text = nsys_text(scan, 1, &length);
  if (text == NULL || !nsys_map_find(&reader->process_names, key, &name) || name != 0)
    return STATUS_OK;
  const char *slash = memrchr(text, '/', length);
  size_t folder = slash != NULL ? (size_t)(slash + 1 - text) : 0;
  name = nsys_intern(reader->import, text + folder, length - folder);
  return put(reader, &reader->process_names, key, name, err);
}

static enum status each_row(struct nsys_reader *reader, const char *table, const struct nsys_column columns[2],
                            enum status (*take)(struct nsys_reader *, struct nsys_scan *, struct error *),
                            struct error *err)
{
  struct nsys_scan scan;
  bool has_row = false;
  XSP_TRY(nsys_scan_begin(&reader->database, table, columns, 2, &scan, err));
  enum status status = nsys_scan_next(&scan, &has_row, err);
  while (status == STATUS_OK && has_row) {
    status = take(reader, &scan, err);
    if (status == STATUS_OK)
      status = nsys_scan_next(&scan, &has_row, err);
  }
  nsys_scan_end(&scan);
  return status;
}

enum status nsys_read_names(struct nsys_reader *reader, struct error *err)
{
  static const struct nsys_column thread_columns[2] = {{"globalTid", false}, {"nameId", false}};
  static const struct nsys_column process_columns[2] = {{"globalPid", false}, {"name", false}};
  uint32_t name;
  XSP_TRY(each_row(reader, "ThreadNames", thread_columns, name_thread, err));
  for (size_t i = 0; i < reader->threads.capacity; i++) { // of the others, their processes' names
    const struct nsys_map_slot *slot = &reader->threads.slots[i];
    if (slot->is_used && !nsys_map_find(&reader->thread_names, slot->key, &name))
      XSP_TRY(put(reader, &reader->process_names, (struct nsys_key){nsys_process(slot->key.a), 0, 0}, 0, err));
  }
  XSP_TRY(each_row(reader, "PROCESSES", process_columns, note_process, err));
  for (size_t i = 0; i < reader->threads.capacity; i++) {
    const struct nsys_map_slot *slot = &reader->threads.slots[i];
    struct nsys_key process = {nsys_process(slot->key.a), 0, 0};
    if (slot->is_used && !nsys_map_find(&reader->thread_names, slot->key, &name) &&
        nsys_map_find(&reader->process_names, process, &name) && name != 0)
      XSP_TRY(
          import_track_name(reader->import, reader->run_id, slot->value, import_text(reader->import, name, NULL), err));
  }
  return STATUS_OK;
}

// ---- what becomes no spans -------------------------------------------------------------------------------------------
// Rows of tables by what they hold; the first that matches. A table with another name that has a start or a timestamp is
// "other event"; one without holds no events.
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
  return "other event";
}

static enum status count_rows(struct nsys_reader *reader, const char *table, struct error *err)
{
  static const struct nsys_column columns[] = {{"start", false}, {"timestamp", false}};
  uint64_t count = 0;
  XSP_TRY(nsys_count(&reader->database, table, columns, 2, &count, err));
  if (count > 0)
    import_skip_many(reader->import, reason_for(table), count);
  return STATUS_OK;
}

static bool is_plain_name(const char *name)
{
  return name[0] != 0 && strlen(name) < 100 &&
         strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

enum status nsys_count_others(struct nsys_reader *reader, struct error *err)
{
  for (size_t i = 0; i < reader->database.table_count; i++) {
    const struct nsys_table *table = &reader->database.tables[i];
    if (table->refused == NULL && !nsys_takes_table(table->name) && is_plain_name(table->name))
      XSP_TRY(count_rows(reader, table->name, err));
  }
  return STATUS_OK;
}
