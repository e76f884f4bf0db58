// SPDX-License-Identifier: Apache-2.0
// From CUPTI's records to spans. One thread: the tracer's own.
#ifndef XSP_TRACERS_CUDA_RECORDS_H
#define XSP_TRACERS_CUDA_RECORDS_H

#include "tracers/cuda/abi.h"
#include "tracers/device/buffers.h"

#define RECORDS_BUFFERS_MOST 16u // in one call of cuda_records_publish, but with PM sampling

// Publishes what is in the buffers, executions by their start; memory's changes are kept (memory.h). Buffers stay the caller's.
void cuda_records_publish(const struct cupti *cupti, struct buffer *const *buffers, uint32_t count);

#define OVERHEADS 9u // kinds of overhead: CUPTI's number >> 16
extern struct cuda_record_counts {
  uint64_t without_times;          // the device had no room for them
  uint64_t unreadable;             // cut off, or ends before it starts
  uint64_t buffers_in_part;        // CUPTI could not step through: what follows in them is not read
  uint64_t overhead_ns[OVERHEADS]; // that CUPTI reports of itself and the driver
} cuda_record_counts;

#endif
