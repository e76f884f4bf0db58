// SPDX-License-Identifier: Apache-2.0
// Calls on host threads in an Nsight Systems export: CUDA's runtime and driver, cuDNN, cuBLAS, MPI, UCX. A CUDA call may
// be the launch of what carries its correlation id; which one is, correlate decides.
#include "importers/nsys/reader.h"

#include <strings.h>

enum { START, END, THREAD, NAME, TEXT, SPECIAL };
#define COMMON                                                                                                         \
  {"start", true}, {"end", true}, {"globalTid", true}, {"nameId", IMPORT_EITHER},                                      \
  {                                                                                                                    \
    "textId", IMPORT_EITHER                                                                                            \
  }
static const struct import_column library_columns[] = {COMMON};
enum { CORRELATION = SPECIAL, RETURN, STACK };
static const struct import_column cuda_columns[] = {
    COMMON, {"correlationId", true}, {"returnValue", false}, {"callchainId", false}};
enum { NODE = SPECIAL, ORIGINAL_NODE, GRAPH, GRAPH_EXEC };
static const struct import_column graph_columns[] = {
    COMMON, {"graphNodeId", false}, {"originalGraphNodeId", false}, {"graphId", false}, {"graphExecId", false}};

enum call_class { LIBRARY, CUDA, GRAPH_MAKING };
struct call_table {
  const char *name;
  unsigned level;
  enum call_class class;
  size_t category; // offset into struct nsys_keys
};
#define CATEGORY(name) offsetof(struct nsys_keys, name)
static const struct call_table tables[] = {
    {"CUDNN_EVENTS", XSP_LEVEL_LIBRARY, LIBRARY, CATEGORY(cudnn)},
    {"CUBLAS_EVENTS", XSP_LEVEL_LIBRARY, LIBRARY, CATEGORY(cublas)},
    {"MPI_COLLECTIVES_EVENTS", XSP_LEVEL_APPLICATION, LIBRARY, CATEGORY(mpi)},
    {"MPI_P2P_EVENTS", XSP_LEVEL_APPLICATION, LIBRARY, CATEGORY(mpi)},
    {"MPI_START_WAIT_EVENTS", XSP_LEVEL_APPLICATION, LIBRARY, CATEGORY(mpi)},
    {"MPI_OTHER_EVENTS", XSP_LEVEL_APPLICATION, LIBRARY, CATEGORY(mpi)},
    {"UCP_EVENTS", XSP_LEVEL_APPLICATION, LIBRARY, CATEGORY(ucx)},
    {"UCP_SUBMIT_EVENTS", XSP_LEVEL_APPLICATION, LIBRARY, CATEGORY(ucx)},
    {"UCP_PROGRESS_EVENTS", XSP_LEVEL_APPLICATION, LIBRARY, CATEGORY(ucx)},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", XSP_LEVEL_KERNEL, CUDA, CATEGORY(api)},
    {"CUPTI_ACTIVITY_KIND_DRIVER", XSP_LEVEL_KERNEL, CUDA, CATEGORY(api)},
    {"CUDA_GRAPH_NODE_EVENTS", XSP_LEVEL_KERNEL, GRAPH_MAKING, CATEGORY(graph)},
    {"CUDA_GRAPH_EVENTS", XSP_LEVEL_KERNEL, GRAPH_MAKING, CATEGORY(graph)},
};
#define TABLE_COUNT (sizeof tables / sizeof tables[0])

bool nsys_takes_table(const char *table)
{
  static const char *const others[] = {"NVTX_EVENTS",
                                       "CUPTI_ACTIVITY_KIND_KERNEL",
                                       "CUPTI_ACTIVITY_KIND_MEMCPY",
                                       "CUPTI_ACTIVITY_KIND_MEMSET",
                                       "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                       "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"};
  for (size_t i = 0; i < TABLE_COUNT; i++)
    if (strcasecmp(tables[i].name, table) == 0)
      return true;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcasecmp(others[i], table) == 0)
      return true;
  return false;
}

// Executions of exports that do not say whose they are belong to the only process that calls CUDA, or with their id.
static void note_caller(struct nsys_reader *reader, int64_t process)
{
  reader->has_calls_of_several |= reader->has_calls && reader->calling_process != process;
  reader->has_calls = true;
  reader->calling_process = process;
}

// Which process calls CUDA with an id, as its ordinal; NSYS_SEVERAL: more than one does.
enum { CALLER_THREAD, CALLER_CORRELATION };
static const struct import_column caller_columns[] = {{"globalTid", true}, {"correlationId", true}};

static enum status read_caller(void *context, struct import_scan *scan, struct error *err)
{
  struct nsys_reader *reader = context;
  struct nsys_key process = {nsys_process(import_scan_int(scan, CALLER_THREAD, 0)), 0, 0};
  struct nsys_key id = {import_scan_int(scan, CALLER_CORRELATION, 0), 0, 0};
  uint32_t ordinal = 0, known = 0;
  if (nsys_map_find(&reader->processes, process, &ordinal)) {
    bool is_known = nsys_map_find(&reader->callers, id, &known);
    nsys_map_put(&reader->callers, id, is_known && known != ordinal ? NSYS_SEVERAL : ordinal);
  }
  return import_scan_check(scan, err);
}

enum status nsys_read_callers(struct nsys_reader *reader, struct error *err)
{
  for (size_t i = 0; i < TABLE_COUNT && !reader->has_callers; i++)
    if (tables[i].class == CUDA)
      XSP_TRY(import_read_rows(&reader->database, tables[i].name, caller_columns,
                               sizeof caller_columns / sizeof caller_columns[0], read_caller, reader, err));
  reader->has_callers = true;
  import_database_refill(&reader->database); // the scan that asked goes on
  return STATUS_OK;
}

static enum status read_cuda(struct nsys_reader *reader, struct import_scan *scan, struct store_span *span,
                             struct error *err)
{
  int64_t process = nsys_process(import_scan_int(scan, THREAD, 0));
  uint32_t path = 0;
  note_caller(reader, process);
  XSP_TRY(nsys_correlation(reader, process, import_scan_int(scan, CORRELATION, 0), span, err));
  if (import_scan_type(scan, RETURN) == IMPORT_INTEGER && import_scan_int(scan, RETURN, 0) != 0)
    nsys_tag(reader, scan, RETURN, span->span_id, reader->keys.return_value);
  if (import_scan_type(scan, STACK) != IMPORT_NULL &&
      nsys_map_find(&reader->stacks, (struct nsys_key){import_scan_int(scan, STACK, 0), 0, 0}, &path)) {
    path = import_path(reader->import, path, XSP_FRAME_NATIVE, span->name, 0);
    import_span_path(reader->import, span->span_id, path);
  }
  return STATUS_OK;
}

// A graph or a node of one is made, mostly while a stream is captured: here its operator can be told, which the launch of
// the whole graph cannot.
static void read_graph_making(struct nsys_reader *reader, struct import_scan *scan, const struct store_span *span)
{
  nsys_tag(reader, scan, NODE, span->span_id, reader->keys.graph_node);
  nsys_tag(reader, scan, ORIGINAL_NODE, span->span_id, reader->keys.original_graph_node);
  nsys_tag(reader, scan, GRAPH, span->span_id, reader->keys.graph);
  nsys_tag(reader, scan, GRAPH_EXEC, span->span_id, reader->keys.graph_exec);
}

struct call_rows {
  struct nsys_reader *reader;
  const struct call_table *table;
};

static enum status read_call(void *context, struct import_scan *scan, struct error *err)
{
  const struct call_rows *rows = context;
  struct nsys_reader *reader = rows->reader;
  const struct call_table *table = rows->table;
  struct store_span span = {.kind = XSP_KIND_SYNC, .level = (uint8_t)table->level};
  XSP_TRY(nsys_begin_span(reader, scan, START, END, &span, err));
  if (span.span_id == 0)
    return STATUS_OK;
  span.category = *(const uint32_t *)((const char *)&reader->keys + table->category);
  span.flags = table->class == LIBRARY ? 0 : STORE_SPAN_CALL;
  if (import_scan_type(scan, THREAD) != IMPORT_NULL)
    XSP_TRY(nsys_thread_track(reader, import_scan_int(scan, THREAD, 0), &span.track_id, err));
  XSP_TRY(nsys_column_string(reader, scan, NAME, &span.name, err));
  if (span.name == 0)
    XSP_TRY(nsys_column_string(reader, scan, TEXT, &span.name, err));
  if (table->class == CUDA)
    XSP_TRY(read_cuda(reader, scan, &span, err));
  else if (table->class == GRAPH_MAKING)
    read_graph_making(reader, scan, &span);
  return nsys_add(reader, scan, &span, err);
}

static enum status read_table(struct nsys_reader *reader, const struct call_table *table, struct error *err)
{
#define COLUMNS(array) array, sizeof array / sizeof array[0]
  static const struct {
    const struct import_column *columns;
    size_t count;
  } of_class[] = {[LIBRARY] = {COLUMNS(library_columns)},
                  [CUDA] = {COLUMNS(cuda_columns)},
                  [GRAPH_MAKING] = {COLUMNS(graph_columns)}};
  return import_read_rows(&reader->database, table->name, of_class[table->class].columns, of_class[table->class].count,
                          read_call, &(struct call_rows){reader, table}, err);
}

enum status nsys_read_calls(struct nsys_reader *reader, struct error *err)
{
  for (size_t i = 0; i < TABLE_COUNT; i++)
    XSP_TRY(read_table(reader, &tables[i], err));
  return STATUS_OK;
}
