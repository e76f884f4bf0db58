// SPDX-License-Identifier: Apache-2.0
// Metrics of launches: contexts, the launches that are measured together, and their spans. Any thread; a call may wait for a
// launch that is measured on the same device, never for one on another.
#ifndef XSP_TRACERS_CUDA_BATCHES_H
#define XSP_TRACERS_CUDA_BATCHES_H

#include "tracers/cuda/ranges.h"

#include <xsp/span.h>

struct batch_launch {
  uint64_t start, end; // of the call, CLOCK_REALTIME
  struct xsp_site *call;
  uint32_t thread_id, stream, result;
  struct xsp_site *kernel;         // what it launched; NULL: `kernels`
  struct xsp_site *const *kernels; // of a graph, in their order; the caller's: published at once
  size_t kernel_count;             // as many ranges; 0: it launched nothing that is known
  bool is_measured;
  bool is_begun; // by cuda_batches_begin or cuda_batches_exclude
};

void cuda_batches_start(const struct cupti *cupti, const struct ranges_wish *wish);
// The launch of so many kernels that the thread makes next is measured: no other of the device is until cuda_batches_add. False: it is
// not measured.
bool cuda_batches_begin(void *context, uint32_t context_id, size_t kernels);
// The launch that the thread makes next has to run outside of all batches: nothing of the device is measured until cuda_batches_add or
// cuda_batches_release. False: there is no room for the context, and nothing of it is measured.
bool cuda_batches_exclude(void *context, uint32_t context_id);
void cuda_batches_release(void *context, uint32_t context_id); // instead of cuda_batches_add: nothing was launched
void cuda_batches_add(void *context, uint32_t context_id, const struct batch_launch *launch); // after the call
void cuda_batches_end(
    const void *context);       // publishes all of the context's device: nothing is measured until cuda_batches_begin
void cuda_batches_finish(void); // publishes all: an execution of those that measure one pass each is over
void cuda_batches_forget(const void *context); // it is about to be destroyed

extern struct batch_counts { // stable after cuda_batches_finish
  uint64_t unmatched;        // kernels that have no metrics since CUPTI's ranges are not those of the launches
  uint64_t failed;           // whose values CUPTI could not compute
} cuda_batch_counts;

#endif
