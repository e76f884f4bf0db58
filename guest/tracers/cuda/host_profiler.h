// SPDX-License-Identifier: Apache-2.0
// The host half of CUPTI's profilers: which metrics a chip has, what measuring them takes, and their values from counters. It
// needs no device. One thread at a time for each configuration.
#ifndef XSP_TRACERS_CUDA_HOST_PROFILER_H
#define XSP_TRACERS_CUDA_HOST_PROFILER_H

#include "tracers/cuda/abi.h"
#include "tracers/cuda/profiler_abi.h"

#include <stdbool.h>

// The functions of the libcupti in `file`, which is loaded. False: `why`, as a line: CUPTI before 12.6 has none of them.
bool host_profiler_load(const char *file, struct cupti_profiler *ret_profiler, char *why, size_t why_size);

struct host_chip {
  const struct cupti_profiler *profiler;
  enum cupti_profiler_type type;
  const char *name;            // "GH100"
  const uint8_t *availability; // of counters, by cuptiProfilerGetCounterAvailability; NULL: all of the chip
};
struct host_config {
  void *host;     // of CUPTI
  uint8_t *image; // what the device is configured with, owned
  size_t image_size;
  size_t passes; // runs of a kernel that it takes
};

// For these metrics, by CUPTI's names. Returns CUPTI's error; one of an unknown name leaves nothing to release.
uint32_t host_config_make(const struct host_chip *chip, const char **names, size_t count,
                          struct host_config *ret_config);
void host_config_done(const struct host_chip *chip, struct host_config *config); // safe on {0}
// Passes alone; 0: the chip lacks one of the metrics.
size_t host_config_passes(const struct host_chip *chip, const char **names, size_t count);

// What an error of the device half is due to and which setting lifts it; "" for others.
const char *host_profiler_advice(uint32_t error);
// True: `error` is one, and a line was said that there are no metrics for it.
bool host_profiler_failed(void (*say)(const char *line), const char *call, uint32_t error);
// Starts CUPTI's profilers. Returns the device's chip, static text of CUPTI; NULL: a line says why.
const char *host_profiler_chip(const struct cupti_profiler *profiler, uint32_t device, void (*say)(const char *line));

#endif
