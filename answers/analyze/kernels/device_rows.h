// SPDX-License-Identifier: Apache-2.0
// Device work (and primitives on the CPU) in the observations of one run: kernels, copies, memory sets;
// and the metrics of kernels. Used by layers/rows.c and kernels.c.
#ifndef XSP_ANALYZE_KERNELS_DEVICE_ROWS_H
#define XSP_ANALYZE_KERNELS_DEVICE_ROWS_H

#include "analyze/kernels/roofs.h"
#include "analyze/run_columns.h"

enum kernel_metric { // tags of kernels
  KERNEL_FLOPS,      // "flops"; where that is absent the sum of those by precision
  KERNEL_DRAM_READ,  // bytes
  KERNEL_DRAM_WRITE,
  KERNEL_OCCUPANCY,                                                // per cent
  KERNEL_FLOPS_BY_PRECISION,                                       // in the order of enum precision
  KERNEL_PRECISIONS = KERNEL_FLOPS_BY_PRECISION + PRECISION_COUNT, // "flops_precisions": that make up the flops
  KERNEL_FURTHER,                                                  // --metric
  KERNEL_METRICS = KERNEL_FURTHER + ANALYZE_METRICS_MOST,
};

// How the metric of a tag adds up over kernels, and its unit, by the tag's name.
struct metric_kind {
  bool is_mean; // weighted by latency: shares, rates, sizes of a launch; else a sum
  const char *unit;
};
struct metric_kind metric_kind_of(const char *tag);

#define DEVICE_COPY UINT32_MAX

struct device_row {
  int64_t start_ns, duration_ns;
  uint32_t observation : 31; // index within the run; warm-up is left out
  uint32_t is_execution : 1; // on a device: not a primitive that ran on the CPU
  uint32_t item;             // the layer it is in, of the same observation; ROW_NONE
  uint32_t name;             // of a kernel; DEVICE_COPY for copies and memory sets
  uint32_t row;
};
struct device_rows_wanted {
  bool rows, metrics; // metrics: only with rows
  bool by_capture;    // only with rows: nodes of graphs are in the layer that captured them
};
struct device_rows {
  struct device_row *items; // by observation, then start, longer first, then file order
  size_t count;
  uint32_t *calls;    // by item: how many kernels were added up to it; NULL: each item is one
  uint32_t *launched; // by item: the layer that launched the graph it is a node of; ROW_NONE. NULL: of none
  double *metrics[KERNEL_METRICS]; // by item, NaN: not measured; NULL: of none
  size_t open, unobserved;         // kernels left out
};

// Whether a span is a kernel, a copy or a memory set, on a device or on the CPU; not a host call.
bool device_row_counts(const struct run_columns *columns, size_t row);
// `item_of`: by row: the layer that a layer span counts as; ROW_NONE.
void device_rows_find(const struct run_columns *columns, const uint32_t *item_of, struct arena *arena,
                      struct device_rows *ret_devices);
// Where device rows ran: devices have numbers on their host. id: STORE_NONE, on processors, whatever the host.
struct kernel_place {
  const char *host; // "": unknown
  int64_t id;
};
// All places of a set's tracks, by host and number.
enum status kernel_places_load(struct store *store, const struct view_set *set, struct arena *arena,
                               struct kernel_place **ret_places, size_t *ret_count, struct error *err) MUST_CHECK;
// Leaves out the rows of other places. Before metrics are read.
enum status device_rows_keep(const struct run_columns *columns, const struct kernel_place *place, struct arena *scratch,
                             struct device_rows *devices, struct error *err) MUST_CHECK;
// Reads the kernels' tags.
enum status device_rows_metrics(const struct run_columns *columns, const struct analyze_request *request,
                                struct arena *arena, struct device_rows *devices, struct error *err) MUST_CHECK;

#endif
