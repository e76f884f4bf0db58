// SPDX-License-Identifier: Apache-2.0
// From rocprofiler-sdk's records to spans.
#ifndef XSP_TRACERS_ROCM_RECORDS_H
#define XSP_TRACERS_ROCM_RECORDS_H

#include "tracers/device/buffers.h"
#include "tracers/rocm/calls.h"
#include "tracers/rocm/metrics.h"

#define RECORDS_BUFFERS_MOST 16u // in one call of rocm_records_publish

// Asks for all kinds of records in `context`, to be written into `buffer`. What is not there is said by `say`.
void rocm_records_enable(const struct rocm *rocm, struct rocm_id context, struct rocm_id buffer, enum rocm_calls choice,
                         void (*say)(const char *line));
// How many bytes of a record to keep, a multiple of 8; 0: it is not of a kind that is published, or not complete. Any thread.
size_t rocm_records_size(const struct rocm *rocm, const struct rocm_header *header);
// Puts so many bytes of it there.
void rocm_records_copy(const struct rocm_header *header, uint8_t *bytes, size_t size);
// Publishes what is in the buffers, executions by their start: records one after the other, each with its rocm_records_size. Buffers
// stay the caller's. One thread.
void rocm_records_publish(const struct rocm *rocm, struct buffer *const *buffers, uint32_t count);

// A kernel with the metrics of a group, as metrics.h has it. Any thread; waits for others. For runs with metrics only.
void rocm_records_publish_measured(const struct rocm_dispatch *dispatch, const struct rocm_metric_plan *plan,
                                   size_t group, const double *values);

extern struct rocm_record_counts { // atomic
  uint64_t unreadable;             // shorter than their kind, or end before they start
  uint64_t without_times;          // executions
} rocm_record_counts;

#endif
