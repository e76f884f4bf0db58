// SPDX-License-Identifier: Apache-2.0
// Which metrics of kernels are measured on a chip, and under which tags they are published.
#ifndef XSP_TRACERS_CUDA_METRICS_H
#define XSP_TRACERS_CUDA_METRICS_H

#include "tracers/cuda/choice.h"
#include "tracers/cuda/host_profiler.h"

#define METRICS_MOST (CUDA_METRICS_MOST + 8) // those of xsp, too
#define METRIC_NAMES_MOST 128u
#define METRIC_TEXT_SIZE (CUDA_METRICS_MOST * (CUDA_METRIC_NAME_MOST + 1))

struct cuda_metric {
  const char *tag;     // "dram_read_bytes", or CUPTI's name
  size_t first, count; // its value is the sum of these of the plan's names, each by its factor
};

// What one execution of the program measures of each kernel. Large: not for a stack.
struct cuda_metric_plan {
  const char *names[METRIC_NAMES_MOST]; // CUPTI's
  double factors[METRIC_NAMES_MOST];
  size_t name_count;
  struct cuda_metric metrics[METRICS_MOST];
  size_t metric_count;
  size_t duration;             // the name that is the kernel's time in ns; name_count: none
  size_t groups, group;        // executions that complete the metrics, and which of them this is
  char text[METRIC_TEXT_SIZE]; // the user's names
};

// Chooses the metrics of execution number `execution` (from 0); with the configuration for them, the caller's. Calls `say`, if
// not NULL, with a line about what is measured and what is not. False: nothing is.
bool cuda_metrics_plan(const struct host_chip *chip, const struct cuda_choice *choice, size_t execution,
                       void (*say)(const char *line), struct cuda_metric_plan *ret_plan,
                       struct host_config *ret_config);

// The value of a metric from those of the plan's names.
double cuda_metric_value(const struct cuda_metric_plan *plan, const struct cuda_metric *metric, const double *values);

#endif
