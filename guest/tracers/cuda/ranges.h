// SPDX-License-Identifier: Apache-2.0
// CUPTI's range profiler of one context: each kernel between start and stop is a range, in the order of launches. Calls for one
// context come one at a time; the context need not be current.
#ifndef XSP_TRACERS_CUDA_RANGES_H
#define XSP_TRACERS_CUDA_RANGES_H

#include "tracers/cuda/metrics.h"

#define RANGES_MOST 256u // between start and stop

struct ranges_wish {
  const struct cupti_profiler *profiler;
  const struct cuda_choice *choice;
  size_t execution;              // number of the execution of the program, from 0
  void (*say)(const char *line); // why there are no metrics, and what is measured
};

struct ranges;
// NULL: there are no metrics of the context, and a line says why.
struct ranges *cuda_ranges_open(const struct ranges_wish *wish, void *context, uint32_t device);
void cuda_ranges_close(struct ranges *ranges);        // stopped before; safe on NULL
size_t cuda_ranges_most(const struct ranges *ranges); // in one batch; at most RANGES_MOST
const struct cuda_metric_plan *cuda_ranges_plan(const struct ranges *ranges);

bool cuda_ranges_start(struct ranges *ranges); // false: a line says why
// Ends the batch. True: exactly `expected` ranges were measured.
bool cuda_ranges_stop(struct ranges *ranges, size_t expected);
// Values of the plan's names for a range of the batch that was stopped last; valid until the next call. NULL: CUPTI has none.
const double *cuda_ranges_values(struct ranges *ranges, size_t range);

#endif
