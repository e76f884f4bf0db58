// SPDX-License-Identifier: Apache-2.0
// Counters of each kernel, by rocprofiler-sdk's dispatch counting: level sets `…+metrics`.
#ifndef XSP_TRACERS_ROCM_METRICS_H
#define XSP_TRACERS_ROCM_METRICS_H

#include "tracers/rocm/abi.h"

#define METRICS_MOST 32u
#define METRIC_TERMS_MOST 6u

struct rocm_metric { // the sum of what it counts
  const char *tag;   // "dram_read_bytes", or the counter's name
  bool needs_all;    // its counters; else those that the GPU has
  struct rocm_metric_term {
    const char *counter; // rocprofiler-sdk's; NULL after the last
    double factor;       // the counter's value by this is the term
    struct rocm_id id;   // 0: the GPU does not have it
  } terms[METRIC_TERMS_MOST];
};
// What is counted on one GPU. A group is a single pass; each execution of the program counts one.
struct rocm_metric_plan {
  struct rocm_metric metrics[METRICS_MOST];
  size_t count;
  uint8_t group_of[METRICS_MOST]; // from 1; 0: left out
  uint32_t precisions;            // in which the GPU counts flops; 0: one group has all
};

struct metrics_wish {
  const char *names; // of counters, with '+' between them; "xsp" among them; NULL: "xsp". Stays
  // From 0: where the counters need several passes, each execution has one. rocm_metrics_next counts on.
  size_t execution;
  void (*say)(const char *line);
  // On any thread: a kernel has ended.
  void (*publish)(const struct rocm_dispatch *dispatch, const struct rocm_metric_plan *plan, size_t group,
                  const double *values);
};

// While rocprofiler-sdk is being configured. False: `why`; kernels are recorded as ever.
bool rocm_metrics_start(const struct rocm *rocm, struct rocm_id context, const struct metrics_wish *wish, char *why,
                        size_t why_size);
// The next kernels are of another execution, as after each inference of a model. Any thread.
void rocm_metrics_next(void);
// Whether kernels of this GPU are given to `publish`. Any thread.
bool rocm_metrics_are_of(struct rocm_id agent);

#endif
