// SPDX-License-Identifier: Apache-2.0
// What ran on devices, in an Nsight Systems export: kernels, copies, sets, whole graphs, and waits for streams and events.
// Every row is an execution; its parent is its launch's, found by its process's correlation id.
#include "importers/nsys/reader.h"

#include <stdio.h>
#include <string.h>

enum { START, END, DEVICE, STREAM, CORRELATION, PROCESS, CONTEXT, GRAPH_NODE, GRAPH, SPECIAL };
#define COMMON(needs_device)                                                                                           \
  {"start", true}, {"end", true}, {"deviceId", needs_device}, {"streamId", needs_device}, {"correlationId", true},     \
      {"globalPid", false}, {"contextId", false}, {"graphNodeId", false},                                              \
  {                                                                                                                    \
    "graphId", false                                                                                                   \
  }

#define KERNEL_COLUMN_LIST(X)                                                                                          \
  X(DEMANGLED, "demangledName")                                                                                        \
  X(SHORT, "shortName")                                                                                                \
  X(MANGLED, "mangledName")                                                                                            \
  X(REGISTERS, "registersPerThread")                                                                                   \
  X(GRID_X, "gridX")                                                                                                   \
  X(GRID_Y, "gridY")                                                                                                   \
  X(GRID_Z, "gridZ")                                                                                                   \
  X(BLOCK_X, "blockX")                                                                                                 \
  X(BLOCK_Y, "blockY")                                                                                                 \
  X(BLOCK_Z, "blockZ")                                                                                                 \
  X(CLUSTER_X, "clusterX")                                                                                             \
  X(CLUSTER_Y, "clusterY")                                                                                             \
  X(CLUSTER_Z, "clusterZ")                                                                                             \
  X(STATIC_SHARED, "staticSharedMemory")                                                                               \
  X(DYNAMIC_SHARED, "dynamicSharedMemory")                                                                             \
  X(LOCAL, "localMemoryPerThread")                                                                                     \
  X(LAUNCH_TYPE, "launchType")
#define KERNEL_ID(id, name) id,
#define KERNEL_COLUMN(id, name) {name, false},
enum { BEFORE_KERNEL = SPECIAL - 1, KERNEL_COLUMN_LIST(KERNEL_ID) };
static const struct import_column kernel_columns[] = {COMMON(true), KERNEL_COLUMN_LIST(KERNEL_COLUMN)};
enum { BYTES = SPECIAL, COPY_KIND, SOURCE_KIND, DESTINATION_KIND, SOURCE_DEVICE, DESTINATION_DEVICE, COPY_COLUMNS };
static const struct import_column copy_columns[COPY_COLUMNS] = {
    COMMON(true),       {"bytes", true},        {"copyKind", false},    {"srcKind", false},
    {"dstKind", false}, {"srcDeviceId", false}, {"dstDeviceId", false},
};
enum { SET_BYTES = SPECIAL, MEMORY_KIND, SET_COLUMNS };
static const struct import_column set_columns[SET_COLUMNS] = {COMMON(true), {"bytes", true}, {"memKind", false}};
enum { GRAPH_EXEC = SPECIAL, GRAPH_COLUMNS };
static const struct import_column graph_columns[GRAPH_COLUMNS] = {COMMON(false), {"graphExecId", false}};
enum { SYNC_TYPE = SPECIAL, SYNC_COLUMNS };
static const struct import_column sync_columns[SYNC_COLUMNS] = {COMMON(false), {"syncType", false}};

struct device_table {
  const char *name;
  const struct import_column *columns;
  size_t column_count;
  size_t category; // offset into struct nsys_keys
  enum status (*read)(struct nsys_reader *reader, struct import_scan *scan, struct store_span *span, struct error *err);
};

// ---- tracks ----------------------------------------------------------------------------------------------------------
// Of a stream, or (is_wait) of the waits for it, which overlap what runs on it.
static enum status stream_track(struct nsys_reader *reader, struct import_scan *scan, bool is_wait, uint32_t *ret_track,
                                struct error *err)
{
  struct nsys_map *map = is_wait ? &reader->wait_tracks : &reader->stream_tracks;
  struct nsys_key key = {import_scan_int(scan, PROCESS, 0), import_scan_int(scan, DEVICE, STORE_NONE),
                         import_scan_int(scan, STREAM, STORE_NONE)};
  if (key.c == UINT32_MAX || key.c == -1) // CUPTI's "no stream"
    key.c = STORE_NONE;
  if (nsys_map_find(map, key, ret_track))
    return STATUS_OK;
  char name[96];
  if (key.c != STORE_NONE)
    snprintf(name, sizeof name, "GPU %lld stream %lld%s", (long long)key.b, (long long)key.c, is_wait ? " waits" : "");
  else
    snprintf(name, sizeof name, "GPU %lld%s", (long long)key.b, is_wait ? " waits" : "");
  struct store_track track = {
      .name = key.b == STORE_NONE ? "GPU" : name,
      .host = reader->host,
      .process_id =
          import_scan_type(scan, PROCESS) == IMPORT_NULL ? STORE_NONE : (int64_t)((uint64_t)key.a >> 24 & 0xffffff),
      .thread_id = STORE_NONE,
      .device_id = key.b,
      .stream_id = key.c,
  };
  XSP_TRY(import_track(reader->import, &track, ret_track, err));
  nsys_map_put(map, key, *ret_track);
  return STATUS_OK;
}

// ---- tags ------------------------------------------------------------------------------------------------------------
static void tag_number(struct nsys_reader *reader, struct import_scan *scan, size_t column, int64_t span_id,
                       uint32_t key)
{
  if (import_scan_type(scan, column) != IMPORT_NULL)
    import_tag_int(reader->import, span_id, key, import_scan_int(scan, column, 0));
}

// "[50,4,1]", as Kineto writes it; nothing where a number is missing.
static void tag_three(struct nsys_reader *reader, struct import_scan *scan, size_t first, int64_t span_id, uint32_t key,
                      int64_t otherwise)
{
  char text[72];
  int64_t numbers[3];
  bool is_otherwise = true;
  for (size_t i = 0; i < 3; i++) {
    if (import_scan_type(scan, first + i) == IMPORT_NULL)
      return;
    numbers[i] = import_scan_int(scan, first + i, 0);
    is_otherwise &= numbers[i] == otherwise;
  }
  if (is_otherwise)
    return;
  int length = snprintf(text, sizeof text, "[%lld,%lld,%lld]", (long long)numbers[0], (long long)numbers[1],
                        (long long)numbers[2]);
  import_tag_text(reader->import, span_id, key, import_string(reader->import, text, (size_t)length));
}

// ---- kernels ---------------------------------------------------------------------------------------------------------
static enum status kernel_names(struct nsys_reader *reader, struct import_scan *scan, struct store_span *span,
                                struct error *err)
{
  uint32_t demangled, base, mangled;
  XSP_TRY(nsys_column_string(reader, scan, DEMANGLED, &demangled, err));
  XSP_TRY(nsys_column_string(reader, scan, SHORT, &base, err));
  XSP_TRY(nsys_column_string(reader, scan, MANGLED, &mangled, err));
  span->name = demangled != 0 ? demangled : base != 0 ? base : mangled;
  if (base != 0 && base != span->name)
    import_tag_text(reader->import, span->span_id, reader->keys.short_name, base);
  if (mangled != 0 && mangled != span->name)
    import_tag_text(reader->import, span->span_id, reader->keys.mangled_name, mangled);
  return STATUS_OK;
}

static enum status read_kernel(struct nsys_reader *reader, struct import_scan *scan, struct store_span *span,
                               struct error *err)
{
  const struct nsys_keys *keys = &reader->keys;
  int64_t shared, id = span->span_id;
  if (!import_scan_has(scan, DEMANGLED) && !import_scan_has(scan, SHORT) && !import_scan_has(scan, MANGLED))
    return import_scan_broken(scan, err, "it has neither column demangledName nor shortName");
  XSP_TRY(kernel_names(reader, scan, span, err));
  tag_three(reader, scan, GRID_X, id, keys->grid, INT64_MIN);
  tag_three(reader, scan, BLOCK_X, id, keys->block, INT64_MIN);
  tag_three(reader, scan, CLUSTER_X, id, keys->cluster, 0);
  tag_number(reader, scan, REGISTERS, id, keys->registers);
  if (import_scan_type(scan, STATIC_SHARED) != IMPORT_NULL || import_scan_type(scan, DYNAMIC_SHARED) != IMPORT_NULL)
    if (!__builtin_add_overflow(import_scan_int(scan, STATIC_SHARED, 0), import_scan_int(scan, DYNAMIC_SHARED, 0),
                                &shared))
      import_tag_int(reader->import, id, keys->shared_bytes, shared);
  if (import_scan_int(scan, LOCAL, 0) != 0)
    tag_number(reader, scan, LOCAL, id, keys->local_bytes);
  int64_t launch = import_scan_int(scan, LAUNCH_TYPE, 0);
  if (launch == 2 || launch == 3)
    import_tag_int(reader->import, id, keys->cooperative, 1);
  return STATUS_OK;
}

// ---- copies, sets, graphs, waits -------------------------------------------------------------------------------------
// CUPTI's numbers of directions and of kinds of memory, which no version has changed.
static const char *const directions[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH",     "AtoA",     "AtoD",
                                         "DtoA",    "DtoD", "HtoH", "PtoP", "UVM HtoD", "UVM DtoH", "UVM DtoD"};
static const char *const memories[] = {"Pageable", "Pinned",        "Device",        "Array",
                                       "Managed",  "Device Static", "Managed Static"};
static const char *const waits[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
#define NAME_OF(names, number)                                                                                         \
  ((number) >= 0 && (uint64_t)(number) < sizeof(names) / sizeof(names)[0] ? (names)[number] : "Unknown")

static enum status read_copy(struct nsys_reader *reader, struct import_scan *scan, struct store_span *span,
                             struct error *err)
{
  const struct nsys_keys *keys = &reader->keys;
  int64_t id = span->span_id;
  const char *direction = NAME_OF(directions, import_scan_int(scan, COPY_KIND, -1));
  char name[96];
  if (import_scan_type(scan, SOURCE_KIND) != IMPORT_NULL && import_scan_type(scan, DESTINATION_KIND) != IMPORT_NULL)
    snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", direction,
             NAME_OF(memories, import_scan_int(scan, SOURCE_KIND, -1)),
             NAME_OF(memories, import_scan_int(scan, DESTINATION_KIND, -1)));
  else
    snprintf(name, sizeof name, "Memcpy %s", direction);
  span->name = import_word(reader->import, name);
  tag_number(reader, scan, BYTES, id, keys->bytes);
  import_tag_text(reader->import, id, keys->copy_kind, import_word(reader->import, direction));
  tag_number(reader, scan, SOURCE_DEVICE, id, keys->source_device);
  tag_number(reader, scan, DESTINATION_DEVICE, id, keys->destination_device);
  return STATUS_OK;
}

static enum status read_set(struct nsys_reader *reader, struct import_scan *scan, struct store_span *span,
                            struct error *err)
{
  char name[48] = "Memset";
  if (import_scan_type(scan, MEMORY_KIND) != IMPORT_NULL)
    snprintf(name, sizeof name, "Memset (%s)", NAME_OF(memories, import_scan_int(scan, MEMORY_KIND, -1)));
  span->name = import_word(reader->import, name);
  tag_number(reader, scan, SET_BYTES, span->span_id, reader->keys.bytes);
  return STATUS_OK;
}

static enum status read_graph(struct nsys_reader *reader, struct import_scan *scan, struct store_span *span,
                              struct error *err)
{
  char name[48] = "CUDA graph";
  if (import_scan_type(scan, GRAPH) != IMPORT_NULL)
    snprintf(name, sizeof name, "CUDA graph %lld", (long long)import_scan_int(scan, GRAPH, 0));
  span->name = import_word(reader->import, name);
  tag_number(reader, scan, GRAPH_EXEC, span->span_id, reader->keys.graph_exec);
  return STATUS_OK;
}

static enum status read_wait(struct nsys_reader *reader, struct import_scan *scan, struct store_span *span,
                             struct error *err)
{
  span->name = import_word(reader->import, waits[0]);
  int64_t type = import_scan_int(scan, SYNC_TYPE, 0);
  if (type > 0)
    span->name = import_word(reader->import, NAME_OF(waits, type));
  return STATUS_OK;
}

// ---- tables ----------------------------------------------------------------------------------------------------------
#define CATEGORY(name) offsetof(struct nsys_keys, name)
#define COLUMNS(array) array, sizeof array / sizeof array[0]
static const struct device_table tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", COLUMNS(kernel_columns), CATEGORY(kernel), read_kernel},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", COLUMNS(copy_columns), CATEGORY(memcpy), read_copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", COLUMNS(set_columns), CATEGORY(memset), read_set},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", COLUMNS(graph_columns), CATEGORY(graph), read_graph},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", COLUMNS(sync_columns), CATEGORY(sync), read_wait},
};

// The launching process: whose correlation ids the row's belongs to. False: nobody knows.
static bool find_process(const struct nsys_reader *reader, struct import_scan *scan, int64_t *ret_process)
{
  bool is_said = import_scan_type(scan, PROCESS) != IMPORT_NULL;
  *ret_process = is_said ? nsys_process(import_scan_int(scan, PROCESS, 0)) : reader->calling_process;
  return is_said || !reader->has_calls_of_several;
}

// Of an execution that does not name its process, where several call CUDA: the launch of the only one that has its id.
static enum status join_caller(struct nsys_reader *reader, int64_t correlation, struct store_span *span,
                               struct error *err)
{
  uint32_t ordinal = 0;
  XSP_TRY(nsys_read_callers(reader, err));
  bool is_called = nsys_map_find(&reader->callers, (struct nsys_key){correlation, 0, 0}, &ordinal);
  if (is_called && ordinal != NSYS_SEVERAL)
    return nsys_correlation(reader, nsys_map_key(&reader->processes, ordinal).a, correlation, span, err);
  if (is_called)
    span->flags |= STORE_FLAG_BASIS(BASIS_AMBIGUOUS);
  import_tag_int(reader->import, span->span_id, reader->keys.recorded_correlation, correlation);
  reader->unowned_executions++;
  return STATUS_OK;
}

struct device_rows {
  struct nsys_reader *reader;
  const struct device_table *table;
};

static enum status read_row(void *context, struct import_scan *scan, struct error *err)
{
  const struct device_rows *rows = context;
  struct nsys_reader *reader = rows->reader;
  const struct device_table *table = rows->table;
  struct store_span span = {.kind = XSP_KIND_EXECUTION, .level = XSP_LEVEL_KERNEL};
  if (import_scan_type(scan, START) == IMPORT_INTEGER && import_scan_int(scan, START, 1) == 0 &&
      import_scan_int(scan, END, 1) == 0) {
    import_skip(reader->import, "no times"); // the device had no room to note them
    return STATUS_OK;
  }
  XSP_TRY(nsys_begin_span(reader, scan, START, END, &span, err));
  if (span.span_id == 0)
    return STATUS_OK;
  span.category = *(const uint32_t *)((const char *)&reader->keys + table->category);
  XSP_TRY(stream_track(reader, scan, table->read == read_wait, &span.track_id, err));
  int64_t process, correlation = import_scan_int(scan, CORRELATION, 0);
  if (find_process(reader, scan, &process))
    XSP_TRY(nsys_correlation(reader, process, correlation, &span, err));
  else if (correlation != 0)
    XSP_TRY(join_caller(reader, correlation, &span, err));
  tag_number(reader, scan, CONTEXT, span.span_id, reader->keys.context);
  tag_number(reader, scan, GRAPH, span.span_id, reader->keys.graph);
  tag_number(reader, scan, GRAPH_NODE, span.span_id, reader->keys.graph_node);
  XSP_TRY(table->read(reader, scan, &span, err));
  return nsys_add(reader, scan, &span, err);
}

enum status nsys_read_device(struct nsys_reader *reader, struct error *err)
{
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
    XSP_TRY(import_read_rows(&reader->database, tables[i].name, tables[i].columns, tables[i].column_count, read_row,
                             &(struct device_rows){reader, &tables[i]}, err));
  return STATUS_OK;
}
