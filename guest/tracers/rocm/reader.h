// SPDX-License-Identifier: Apache-2.0
// rocprofiler-sdk's buffer of records: emptied on its thread, read on the tracer's own (guest/tracers/device/worker.h).
#ifndef XSP_TRACERS_ROCM_READER_H
#define XSP_TRACERS_ROCM_READER_H

#include "tracers/rocm/abi.h"

struct reader_options {
  size_t buffer_bytes;
  uint64_t exit_wait_ns;          // how long the program's exit may wait
  void (*lost)(uint64_t records); // called on the tracer's thread: so many more cannot be published
};

// While rocprofiler-sdk is being configured: makes the buffer, and the thread begins. False: why.
bool rocm_reader_start(const struct rocm *rocm, struct rocm_id context, const struct reader_options *options,
                       struct rocm_id *ret_buffer, char *why, size_t why_size);

extern struct reader_counts { // atomic
  uint64_t dropped;           // records, by rocprofiler-sdk's count
  uint64_t without_room;      // records for which no buffer was free
} rocm_reader_counts;

#endif
