// SPDX-License-Identifier: Apache-2.0
// Samples of a device's counters, and which of them are of one kernel alone: the sample lies in the kernel's time, and nothing else
// ran on the device during it. Pure; one thread. Times are nanoseconds of one clock.
#ifndef XSP_TRACERS_CUDA_PM_SAMPLES_H
#define XSP_TRACERS_CUDA_PM_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_samples {
  size_t value_count; // of each sample
  size_t capacity;    // samples; a power of two. The oldest make room
  uint64_t added;     // samples so far
  uint64_t late;      // samples that were given to a kernel before something was noted that ran beside it
  struct pm_sample *samples;
  double *values;
};

// False: no memory. `samples` is zero before.
bool pm_samples_open(struct pm_samples *samples, size_t value_count, size_t capacity);
void pm_samples_close(struct pm_samples *samples); // safe on zero
// In the order of their times.
void pm_samples_add(struct pm_samples *samples, uint64_t start, uint64_t end, const double *values);
// Something ran on the device from start to end: a kernel, a copy.
void pm_samples_note(struct pm_samples *samples, uint64_t start, uint64_t end);

struct pm_share {
  size_t count;        // samples of the execution alone
  uint64_t covered_ns; // their time
};
// Sums up the values of the samples that lie in the time of an execution and are of it alone. It has been noted, and so has all that
// may have run beside it.
struct pm_share pm_samples_of(struct pm_samples *samples, uint64_t start, uint64_t end, double *ret_sums);

#endif
