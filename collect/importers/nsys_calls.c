// SPDX-License-Identifier: Apache-2.0
// Calls on host threads in an Nsight Systems export: CUDA's runtime and driver, cuDNN, cuBLAS, MPI, UCX. A CUDA call may
// be the launch of what carries its correlation id; which one is, correlate decides.
#include "collect/importers/nsys_reader.h"

#include <strings.h>

enum { START, END, THREAD, NAME, TEXT, CORRELATION, RETURN, COLUMNS };
// Libraries have no correlation ids; columns up to TEXT are theirs.
static const struct nsys_column columns[COLUMNS] = {
    {"start", true},   {"end", true},           {"globalTid", true},    {"nameId", false},
    {"textId", false}, {"correlationId", true}, {"returnValue", false},
};

struct call_table {
  const char *name;
  unsigned level;
  bool is_cuda;
  size_t category; // offset into struct nsys_keys
};
#define CATEGORY(name) offsetof(struct nsys_keys, name)
static const struct call_table tables[] = {
    {"CUDNN_EVENTS", XSP_LEVEL_LIBRARY, false, CATEGORY(cudnn)},
    {"CUBLAS_EVENTS", XSP_LEVEL_LIBRARY, false, CATEGORY(cublas)},
    {"MPI_COLLECTIVES_EVENTS", XSP_LEVEL_APPLICATION, false, CATEGORY(mpi)},
    {"MPI_P2P_EVENTS", XSP_LEVEL_APPLICATION, false, CATEGORY(mpi)},
    {"MPI_START_WAIT_EVENTS", XSP_LEVEL_APPLICATION, false, CATEGORY(mpi)},
    {"MPI_OTHER_EVENTS", XSP_LEVEL_APPLICATION, false, CATEGORY(mpi)},
    {"UCP_EVENTS", XSP_LEVEL_APPLICATION, false, CATEGORY(ucx)},
    {"UCP_SUBMIT_EVENTS", XSP_LEVEL_APPLICATION, false, CATEGORY(ucx)},
    {"UCP_PROGRESS_EVENTS", XSP_LEVEL_APPLICATION, false, CATEGORY(ucx)},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", XSP_LEVEL_KERNEL, true, CATEGORY(api)},
    {"CUPTI_ACTIVITY_KIND_DRIVER", XSP_LEVEL_KERNEL, true, CATEGORY(api)},
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

// Executions of exports that do not say whose they are belong to the only process that calls CUDA.
static void note_caller(struct nsys_reader *reader, int64_t process)
{
  reader->has_calls_of_several |= reader->has_calls && reader->calling_process != process;
  reader->has_calls = true;
  reader->calling_process = process;
}

static enum status read_call(struct nsys_reader *reader, const struct call_table *table, struct nsys_scan *scan,
                             struct error *err)
{
  struct store_span span = {.kind = XSP_KIND_SYNC, .level = (uint8_t)table->level};
  bool keep = false;
  XSP_TRY(nsys_times(reader, scan, START, END, &span, &keep, err));
  if (!keep)
    return STATUS_OK;
  span.span_id = reader->next_span_id++;
  span.category = *(const uint32_t *)((const char *)&reader->keys + table->category);
  int64_t thread = nsys_int(scan, THREAD, 0);
  if (nsys_type_of(scan, THREAD) != NSYS_NULL)
    XSP_TRY(nsys_thread_track(reader, thread, &span.track_id, err));
  XSP_TRY(nsys_column_string(reader, scan, NAME, &span.name, err));
  if (span.name == 0)
    XSP_TRY(nsys_column_string(reader, scan, TEXT, &span.name, err));
  if (table->is_cuda) {
    span.flags = STORE_SPAN_CALL;
    note_caller(reader, nsys_process(thread));
    XSP_TRY(nsys_correlation(reader, nsys_process(thread), nsys_int(scan, CORRELATION, 0), &span, err));
    if (nsys_type_of(scan, RETURN) == NSYS_INTEGER && nsys_int(scan, RETURN, 0) != 0)
      XSP_TRY(nsys_tag(reader, scan, RETURN, span.span_id, reader->keys.return_value, err));
  }
  return nsys_add(reader, scan, &span, err);
}

static enum status read_table(struct nsys_reader *reader, const struct call_table *table, struct error *err)
{
  struct nsys_scan scan;
  bool has_row = false;
  XSP_TRY(nsys_scan_begin(&reader->database, table->name, columns, table->is_cuda ? COLUMNS : CORRELATION, &scan, err));
  enum status status = STATUS_OK;
  if (scan.statement != NULL && !nsys_has_column(&scan, NAME) && !nsys_has_column(&scan, TEXT))
    status = nsys_scan_broken(&scan, err, "it has neither column nameId nor textId");
  if (status == STATUS_OK)
    status = nsys_scan_next(&scan, &has_row, err);
  while (status == STATUS_OK && has_row) {
    status = read_call(reader, table, &scan, err);
    if (status == STATUS_OK)
      status = nsys_scan_next(&scan, &has_row, err);
  }
  nsys_scan_end(&scan);
  return status;
}

enum status nsys_read_calls(struct nsys_reader *reader, struct error *err)
{
  for (size_t i = 0; i < TABLE_COUNT; i++)
    XSP_TRY(read_table(reader, &tables[i], err));
  return STATUS_OK;
}
