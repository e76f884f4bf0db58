// SPDX-License-Identifier: Apache-2.0
// CUPTI's buffers of records: given to it, taken back, read on the tracer's own thread (guest/tracers/device/worker.h).
#ifndef XSP_TRACERS_CUDA_WORKER_H
#define XSP_TRACERS_CUDA_WORKER_H

#include "tracers/cuda/abi.h"

struct worker_options {
  size_t buffer_bytes;
  uint64_t exit_wait_ns;          // how long the program's exit may wait
  uint64_t sampling_period_ns;    // pm_sampling_period_ns
  void (*lost)(uint64_t records); // called on the thread: so many more cannot be published
  void (*finish)(void);           // called on the thread at exit, before the last records are read
};

// Before any kind of record is enabled: CUPTI is given the buffers, and the thread begins. False: why.
bool cuda_worker_start(const struct cupti *cupti, const struct worker_options *options, char *why, size_t why_size);
// At exit, on any thread: what has been recorded is published, or the time is over (false). A fork's child returns at once.
bool cuda_worker_finish(void);

extern struct worker_counts { // after cuda_worker_finish
  uint64_t dropped;           // records, by CUPTI's count
  uint64_t refused_buffers;
} cuda_worker_counts;

#endif
