// SPDX-License-Identifier: Apache-2.0
// How much of a trace a question needs. A source that can add spans up, such as a database, leaves the rest out: such a trace is
// condensed. What it adds up is in tags of spans. The spans of applications come with collectives, also those of the library level.
#ifndef XSP_FORMAT_DETAIL_H
#define XSP_FORMAT_DETAIL_H

#include <stdbool.h>

enum trace_detail {
  TRACE_EVERYTHING,      // all spans
  TRACE_LAYERS,          // the spans of applications, models and layers; no kernels
  TRACE_KERNELS_BY_NAME, // the spans of models, and one span for the kernels of a name in an observation
  TRACE_KERNELS_BY_OBSERVATION, // the spans of models, one span for all kernels of an observation, and how long devices work in it
  TRACE_KERNELS_BY_LAYER, // the spans of applications, models and layers, and one span for the kernels of a layer's span
  TRACE_DEVICES_BY_LAYER, // the spans of applications, models and layers, and how long devices work for layers and observations
  TRACE_KERNELS_AND_DEVICES_BY_LAYER // both
};

static inline bool trace_detail_adds_kernels_up(enum trace_detail detail)
{
  return detail >= TRACE_KERNELS_BY_NAME && detail != TRACE_DEVICES_BY_LAYER;
}
static inline bool trace_detail_is_without_layers(enum trace_detail detail) // and adds kernels up
{
  return detail == TRACE_KERNELS_BY_NAME || detail == TRACE_KERNELS_BY_OBSERVATION;
}
static inline bool trace_detail_has_devices(enum trace_detail detail)
{
  return detail == TRACE_KERNELS_BY_OBSERVATION || detail == TRACE_DEVICES_BY_LAYER ||
         detail == TRACE_KERNELS_AND_DEVICES_BY_LAYER;
}
// What answers two questions at once.
static inline enum trace_detail trace_detail_of_both(enum trace_detail a, enum trace_detail b)
{
  if (a == b || a == TRACE_EVERYTHING || b == TRACE_EVERYTHING)
    return a == b ? a : TRACE_EVERYTHING;
  if (trace_detail_is_without_layers(a) || trace_detail_is_without_layers(b))
    return TRACE_EVERYTHING;
  bool are_both = (a == TRACE_KERNELS_BY_LAYER && b == TRACE_DEVICES_BY_LAYER) ||
                  (b == TRACE_KERNELS_BY_LAYER && a == TRACE_DEVICES_BY_LAYER);
  return are_both ? TRACE_KERNELS_AND_DEVICES_BY_LAYER : a > b ? a : b;
}

// X(NAME, "tag"): all are whole numbers. Where a run has one of those in ns, it has all of them. Executions are kernels, copies
// and memory sets on devices. docs/internals/clickhouse.md
#define TRACE_CONDENSED_LIST(X)                                                                                        \
  X(CALLS, "condensed_calls")          /* of a kernel: how many were added up to it; its duration is their sum */      \
  X(GPU, "condensed_gpu_ns")           /* of a layer or an observation: the union of what ran on devices in it */      \
  X(EXECUTED, "condensed_executed_ns") /* of a layer: the union of its executions */                                   \
  X(SUM, "condensed_sum_ns")           /* of a layer: their sum */                                                     \
  X(LATE, "condensed_late_ns")         /* of a layer: the part of the sum after the layer returned */                  \
  X(BUSY_START, "condensed_start_ns")  /* of a layer: how long executions in layers of its process, before it began */ \
  X(BUSY_END, "condensed_end_ns")      /* the same, before it returned */                                              \
  X(COVERED, "condensed_covered_ns")   /* of an observation: while some layer is on the host or executes */

enum trace_condensed {
#define X(name, tag) CONDENSED_##name,
  TRACE_CONDENSED_LIST(X)
#undef X
      CONDENSED_COUNT
};

// A note of a run: how many spans it has in full.
#define TRACE_NOTE_SPANS "condensed_spans"

#endif
