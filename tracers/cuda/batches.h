// SPDX-License-Identifier: Apache-2.0
// Metrics of launches: contexts, the launches that are measured together, and their spans. All calls under one lock of the
// caller's: ranges match launches only in their order.
#ifndef XSP_TRACERS_CUDA_BATCHES_H
#define XSP_TRACERS_CUDA_BATCHES_H

#include "tracers/cuda/ranges.h"

#include <xsp/span.h>

struct batch_launch {
  uint64_t start, end; // of the call, CLOCK_REALTIME
  struct xsp_site *call;
  uint32_t thread_id, stream, result;
  struct xsp_site *kernel;         // what it launched; NULL: `kernels`
  struct xsp_site *const *kernels; // of a graph, in their order; the caller's until batches_end
  size_t kernel_count;             // as many ranges; 0: it launched nothing that is known
  bool is_measured;
};

void batches_start(const struct cupti *cupti, const struct ranges_wish *wish);
// The context's next launch, of so many kernels, is measured: in the open batch if that has room. False: it is not.
bool batches_begin(void *context, uint32_t context_id, size_t kernels);
void batches_add(void *context, uint32_t context_id, const struct batch_launch *launch); // after the call
void batches_end(void);             // publishes all that was measured; nothing is until batches_begin
void batches_next(void);            // the next execution begins, of those that one pass each is measured in
void batches_forget(void *context); // it is about to be destroyed

extern struct batch_counts {
  uint64_t unmatched; // kernels that have no metrics since CUPTI's ranges are not those of the launches
  uint64_t failed;    // whose values CUPTI could not compute
} batch_counts;

#endif
