// SPDX-License-Identifier: Apache-2.0
// What rocprofiler-sdk calls with full buffers, and what the tracer's thread does with copies of them. While it calls, threads of
// the program wait for the buffer: so records are only copied there, into a bounded pool.
#include "tracers/rocm/reader.h"

#include "tracers/device/buffers.h"
#include "tracers/device/worker.h"
#include "tracers/rocm/clock.h"
#include "tracers/rocm/records.h"
#include "tracers/rocm/samples.h"

#include <stdio.h>
#include <string.h>

static struct buffers buffers;
static struct rocm rocm;
static struct rocm_id records; // rocprofiler-sdk's buffer
static void (*lost)(uint64_t records);
struct reader_counts rocm_reader_counts;

static uint64_t count_of(const uint64_t *counter)
{
  return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

// ---- on rocprofiler-sdk's thread
static void copy_records(struct rocm_id context, struct rocm_id buffer, struct rocm_header **headers, size_t count,
                         void *data, uint64_t dropped)
{
  uint8_t *bytes = NULL;
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    size_t size = rocm_records_size(&rocm, headers[i]);
    if (size == 0)
      continue;
    if (bytes == NULL || used + size > buffers.size) {
      device_buffers_fill(&buffers, bytes, used);
      bytes = device_buffers_take(&buffers);
      used = 0;
    }
    if (bytes != NULL) {
      rocm_records_copy(headers[i], bytes + used, size);
      used += size;
    } else {
      __atomic_add_fetch(&rocm_reader_counts.without_room, 1, __ATOMIC_RELAXED);
    }
  }
  device_buffers_fill(&buffers, bytes, used);
  __atomic_store_n(&rocm_reader_counts.dropped, dropped, __ATOMIC_RELAXED);
  device_worker_wake();
}

// ---- on the tracer's
static void publish_all(void)
{
  for (;;) {
    struct buffer *filled[RECORDS_BUFFERS_MOST];
    uint32_t count = device_buffers_next_some(&buffers, filled, RECORDS_BUFFERS_MOST);
    if (count == 0)
      return;
    rocm_records_publish(&rocm, filled, count);
    for (uint32_t i = 0; i < count; i++)
      device_buffers_release(filled[i]);
  }
}

static void look(bool is_ending)
{
  static uint64_t told;
  bool are_samples_due = rocm_samples_are_due(is_ending);
  rocm_clock_compare(&rocm);
  rocm.flush_buffer(records);
  publish_all();
  if (are_samples_due)
    rocm_samples_publish();
  uint64_t all = count_of(&rocm_reader_counts.dropped) + count_of(&rocm_reader_counts.without_room) +
                 count_of(&rocm_record_counts.unreadable) + count_of(&rocm_record_counts.without_times);
  if (all > told)
    lost(all - told);
  told = all;
}

bool rocm_reader_start(const struct rocm *used, struct rocm_id context, const struct reader_options *wishes,
                       struct rocm_id *ret_buffer, char *why, size_t why_size)
{
  const struct device_worker_options options = {"xsp-rocm", wishes->exit_wait_ns, publish_all, look, 0};
  rocm = *used;
  lost = wishes->lost;
  buffers.size = wishes->buffer_bytes;
  rocm_clock_compare(&rocm);
  struct rocm_id thread = {0};
  // Lossless: the other policy leaves every second buffer without memory. The program waits while ours are copied.
  int error =
      rocm.create_buffer(context, buffers.size, buffers.size / 2, ROCM_POLICY_LOSSLESS, copy_records, NULL, &records);
  if (error != ROCM_OK) {
    snprintf(why, why_size, "rocprofiler_create_buffer: error %d", error);
    return false;
  }
  if (rocm.create_callback_thread(&thread) == ROCM_OK) // else other tools' buffers are read on the same
    rocm.assign_callback_thread(records, thread);
  *ret_buffer = records;
  return device_worker_start(&options, why, why_size);
}
