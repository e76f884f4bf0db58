// SPDX-License-Identifier: Apache-2.0
// Metrics of kernels without repeating them: PM sampling reads a device's counters at an interval, and a kernel has the metrics of
// the samples that are of it alone. Devices are sampled from their first context on.
#ifndef XSP_TRACERS_CUDA_PM_SAMPLING_H
#define XSP_TRACERS_CUDA_PM_SAMPLING_H

#include "tracers/cuda/metrics.h"

#include <xsp/span.h>

struct pm_wish {
  const struct cupti_profiler *profiler;
  const struct cuda_choice *choice;
  void (*say)(const char *line); // any thread
};

// How often samples have to be decoded. 0: nothing is sampled by the choice.
uint64_t pm_sampling_period_ns(const struct cuda_choice *choice);
// `wish` is copied; what it points to stays.
void pm_sampling_start(const struct cupti *cupti, const struct pm_wish *wish);
// CUPTI's callback for resources, on the program's threads. Before pm_sampling_start it does nothing.
void pm_sampling_callback(uint32_t domain, uint32_t cbid, const void *details);

// ---- the tracer's thread
bool pm_sampling_is_on(void);
// Takes what the devices have sampled so far. `is_ending`: and ends the sampling.
void pm_sampling_decode(bool is_ending);
// Records were lost: what ran beside kernels is not known, so none has metrics until the next pm_sampling_decode.
void pm_sampling_doubt(void);
// What ran on a device, kernels and others, before tags are asked for.
void pm_sampling_note(uint32_t device, uint64_t start, uint64_t end);
// The kernel's metrics, and `metric_samples`: of how many samples they are. None where no sample is of it alone.
void pm_sampling_tag(const struct xsp_span *kernel, uint32_t device, uint64_t start, uint64_t end);

extern struct pm_counts { // stable after the program's end
  uint64_t kernels;       // that were asked for
  uint64_t sampled;       // that have metrics
  uint64_t doubted;       // that have none as records were lost
  uint64_t overflows;     // times that the hardware's buffer was full
  uint64_t lost;          // samples that CUPTI gave no times, as there was no room for all
  uint64_t foreign;       // samples whose times are not of this run
  uint64_t late;          // samples in metrics of a kernel, though another that ended later ran beside it
} pm_counts;

#endif
