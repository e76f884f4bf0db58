// SPDX-License-Identifier: Apache-2.0
// What CUPTI calls for buffers, on the program's threads, and what the tracer's thread does with full ones.
#include "tracers/cuda/worker.h"

#include "base/clock.h"
#include "tracers/cuda/allocations.h"
#include "tracers/cuda/pc_sampling.h"
#include "tracers/cuda/pm_sampling.h"
#include "tracers/cuda/records.h"
#include "tracers/cuda/stolen.h"
#include "tracers/cuda/subscriber.h"
#include "tracers/device/buffers.h"
#include "tracers/device/worker.h"

#include <stdio.h>

static struct buffers buffers;
static uint64_t buffer_uses; // atomic
static struct cupti cupti;
static void (*lost)(uint64_t records);
static void (*finish)(void);
struct worker_counts cuda_worker_counts;

// ---- what CUPTI calls
static void request_buffer(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records)
{
  __atomic_add_fetch(&buffer_uses, 1, __ATOMIC_RELAXED);
  *ret_buffer = device_buffers_take(&buffers);
  *ret_size = *ret_buffer == NULL ? 0 : buffers.size;
  *ret_most_records = 0; // as many as fit
}

static void complete_buffer(void *context, uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid)
{
  __atomic_add_fetch(&buffer_uses, 1, __ATOMIC_RELAXED);
  device_buffers_fill(&buffers, buffer, valid);
  if (valid != 0)
    device_worker_wake();
}

// ---- the thread
// Samples are of a kernel if nothing else ran beside it: then all that a flush has brought is published at once.
static void publish_all(void)
{
  uint32_t most = pm_sampling_is_on() ? BUFFERS_MOST : RECORDS_BUFFERS_MOST;
  for (;;) {
    struct buffer *filled[BUFFERS_MOST];
    uint32_t count = device_buffers_next_some(&buffers, filled, most);
    if (count == 0)
      return;
    cuda_records_publish(&cupti, filled, count);
    for (uint32_t i = 0; i < count; i++)
      device_buffers_release(filled[i]);
  }
}

static void publish(void)
{
  if (pm_sampling_is_on())
    pm_sampling_decode(false);
  else
    publish_all();
}

static void look(bool is_ending)
{
  static uint64_t told;
  size_t dropped = 0;
  if (is_ending)
    finish();
  pc_look(is_ending);
  uint64_t begin = clock_now_ns(CLOCK_REALTIME);
  if (!cuda_records_are_stolen()) // else another's buffers would be flushed
    cupti.flush(is_ending ? CUPTI_FLUSH_FORCED : 0);
  if (pm_sampling_is_on())
    pm_sampling_decode(is_ending);
  if (subscriber_dropped(&cupti, &dropped) == CUPTI_OK && dropped > 0) {
    cuda_worker_counts.dropped += dropped;
    pm_sampling_doubt();
  }
  publish_all();
  cuda_stolen_look(__atomic_load_n(&buffer_uses, __ATOMIC_ACQUIRE), is_ending);
  cuda_allocations_publish(is_ending ? UINT64_MAX : begin);
  uint64_t all = cuda_worker_counts.dropped + cuda_record_counts.without_times + cuda_record_counts.unreadable;
  if (all > told)
    lost(all - told);
  told = all;
}

bool cuda_worker_start(const struct cupti *used, const struct worker_options *wishes, char *why, size_t why_size)
{
  const struct device_worker_options options = {"xsp-cuda", wishes->exit_wait_ns, publish, look,
                                                wishes->sampling_period_ns};
  cupti = *used;
  lost = wishes->lost;
  finish = wishes->finish;
  buffers.size = wishes->buffer_bytes;
  uint32_t error = cuda_subscriber_record(&cupti, request_buffer, complete_buffer);
  if (error == CUPTI_OK)
    return device_worker_start(&options, why, why_size);
  snprintf(why, why_size, "cuptiActivityRegisterCallbacks: error %u", error);
  return false;
}

bool cuda_worker_finish(void)
{
  if (!device_worker_finish())
    return false;
  cuda_worker_counts.refused_buffers = __atomic_load_n(&buffers.refused, __ATOMIC_RELAXED);
  return true;
}
