// SPDX-License-Identifier: Apache-2.0
// The layers of one run and what ran on devices in them, as rows.h loads them.
#ifndef XSP_ANALYZE_LAYERS_LAYER_ROW_H
#define XSP_ANALYZE_LAYERS_LAYER_ROW_H

#include "analyze/kernels/device_rows.h"

enum layer_recomputed { // of a forward operator in the backward pass: computed again what had not been kept
  LAYER_COMPUTED_ONCE,
  LAYER_RECOMPUTED,        // beside the forward pass
  LAYER_RECOMPUTED_LINKED, // a backward operator is linked to it: what ran in the forward pass has none
};
struct layer_row { // one layer span that counts in the chosen mode. There are as many as operators ran: kept small
  uint32_t row;
  int32_t observation;   // index within the run
  uint32_t name, module; // string ids; module: 0 where it is not recorded
  uint32_t forward;      // LAYER_AUTOGRAD: name of the forward operator, which may be the layer itself
  bool is_backward, is_indexed;
  uint8_t recomputed; // LAYER_AUTOGRAD: enum layer_recomputed
  int64_t index;      // recorded, else the position
  int64_t start_ns, duration_ns;
  double latency_ms, alloc_bytes, kernels; // on the host, without nested layers that count; NaN: not measured
  double output_bytes;                     // NaN: not recorded
  uint32_t type, shape, operation, source, source_layers; // string ids; 0: none, or empty
  int64_t turns;                                          // of a loop; 0: it is none
};
struct layer_device_time {
  // The union of its executions, and its time on the host while no device works for a layer of its process. Their sum is its
  // latency on the device basis.
  int64_t executed_ns, alone_ns;
  int64_t gpu_ns; // of a condensed trace: the union of its device rows; -1: it is not one
};
struct layer_rows {
  struct layer_row *items; // by observation, then start, longer first, then file order
  size_t count;
  double *kernels;             // per observation of the run
  size_t outside;              // layers that are in no observation
  size_t open;                 // layers that never finished
  bool has_alloc, has_outputs; // a layer has alloc_bytes, output_bytes
  // where device rows are asked for
  struct layer_device_time *device_times; // by item; NULL: not asked for
  struct device_rows devices;
  int64_t *gpu_ns;             // per observation of the run, the same union; NULL: it is not condensed
  double *covered_ms;          // per observation of the run: while some layer is on the host or executes
  double executed_ms, late_ms; // of all executions in layers, and the part after their layer returned; without warm-up
};

// Whether `row` is a backward operator: it is linked to another one, its forward operator.
static inline bool layer_is_backward(const uint32_t *forward_of, uint32_t row)
{
  return forward_of[row] != ROW_NONE && forward_of[row] != row;
}

#endif
