// SPDX-License-Identifier: Apache-2.0
// What is allocated is a sum over time, so records are published in its order: a flush brings what happened before it. Called by
// records.c for each record, by worker.c after each flush.
#include "tracers/cuda/allocations.h"

#include "tracers/cuda/calls.h"
#include "tracers/cuda/memory_kinds.h"
#include "tracers/device/tracks.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>
#include <xsp/tracer.h>

#define KEPT_MOST (UINT32_C(1) << 16)
#define DEVICES_MOST 256u
#define DEVICE_MEMORY 3u // a kind of memory
#define LOCAL_POOL 1u    // of this process; the figures of others are not reported

enum change { ALLOCATED, RELEASED, POOL_CREATED, POOL_DESTROYED, POOL_TRIMMED };
struct kept {
  uint64_t timestamp, address, bytes, pool, pool_bytes, pool_used_bytes;
  uint32_t device, memory_kind, pool_kind;
  enum change change;
};

static struct kept *kept;
static uint32_t kept_count, kept_capacity;
static uint64_t allocated[DEVICES_MOST];

static void publish(const struct kept *one)
{
  XSP_SITE_FULL(allocation, XSP_LEVEL_LIBRARY, "allocate", "memory", CUDA_TRACER);
  XSP_SITE_FULL(release, XSP_LEVEL_LIBRARY, "free", "memory", CUDA_TRACER);
  XSP_SITE_FULL(creation, XSP_LEVEL_LIBRARY, "create pool", "memory", CUDA_TRACER);
  XSP_SITE_FULL(destruction, XSP_LEVEL_LIBRARY, "destroy pool", "memory", CUDA_TRACER);
  XSP_SITE_FULL(trimming, XSP_LEVEL_LIBRARY, "trim pool", "memory", CUDA_TRACER);
  struct xsp_site *const sites[] = {&allocation, &release, &creation, &destruction, &trimming};
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track =
                                      device_track(&(struct device_place){.device = one->device, .what = " memory"}),
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = one->timestamp,
                                  .end = one->timestamp,
                                  .flags = XSP_INTERVAL_EARLIER};
  struct xsp_span span = {0};
  if (xsp_site_was_on(sites[one->change], one->timestamp))
    span = xsp_span_emit(sites[one->change], &interval);
  if (one->change == ALLOCATED || one->change == RELEASED) {
    xsp_span_tag_int(&span, "bytes", (int64_t)one->bytes);
    xsp_span_tag_int(&span, "address", (int64_t)one->address);
    xsp_span_tag_string(&span, "memory_kind", cuda_name_of_memory(one->memory_kind));
    if (one->memory_kind == DEVICE_MEMORY && one->device < DEVICES_MOST) {
      allocated[one->device] += one->change == RELEASED ? -one->bytes : one->bytes;
      xsp_span_tag_int(&span, "total_bytes", (int64_t)allocated[one->device]);
    }
  }
  if (one->change == POOL_TRIMMED)
    xsp_span_tag_int(&span, "kept_bytes", (int64_t)one->bytes);
  if (one->pool_kind == LOCAL_POOL) {
    xsp_span_tag_int(&span, "pool", (int64_t)one->pool);
    xsp_span_tag_int(&span, "pool_bytes", (int64_t)one->pool_bytes);
    xsp_span_tag_int(&span, "pool_used_bytes", (int64_t)one->pool_used_bytes);
  }
}

SORTED_BY(by_time, struct kept, RISING(timestamp))

void cuda_allocations_publish(uint64_t until_ns)
{
  uint32_t count = 0;
  if (kept_count == 0)
    return;
  qsort(kept, kept_count, sizeof *kept, by_time);
  while (count < kept_count && kept[count].timestamp < until_ns)
    publish(&kept[count++]);
  kept_count -= count;
  memmove(kept, kept + count, kept_count * sizeof *kept);
}

static void keep(const struct kept *one)
{
  if (kept_count == KEPT_MOST)
    cuda_allocations_publish(UINT64_MAX);
  if (kept_count == kept_capacity) {
    uint32_t capacity = kept_capacity == 0 ? 256 : kept_capacity * 2;
    struct kept *grown = realloc(kept, capacity * sizeof *kept);
    if (grown == NULL) { // out of its turn rather than lost
      publish(one);
      return;
    }
    kept = grown;
    kept_capacity = capacity;
  }
  kept[kept_count++] = *one;
}

void cuda_allocations_keep(const struct cupti *cupti, const void *record)
{
  const struct cupti_memory *memory = record;
  keep(&(struct kept){.timestamp = memory->timestamp,
                      .address = memory->address,
                      .bytes = memory->bytes,
                      .pool = memory->pool,
                      .pool_bytes = memory->pool_bytes,
                      .pool_used_bytes = memory->pool_used_bytes,
                      .device = memory->device_id,
                      .memory_kind = memory->memory_kind,
                      .pool_kind = memory->pool_kind,
                      .change = memory->operation == 2 ? RELEASED : ALLOCATED});
}

void cuda_allocations_keep_pool(const struct cupti *cupti, const void *record)
{
  static const enum change changes[] = {[1] = POOL_CREATED, [2] = POOL_DESTROYED, [3] = POOL_TRIMMED};
  const struct cupti_memory_pool *pool = record;
  if (pool->operation == 0 || pool->operation >= sizeof changes / sizeof changes[0])
    return;
  keep(&(struct kept){.timestamp = pool->timestamp,
                      .bytes = pool->kept_bytes,
                      .pool = pool->pool,
                      .pool_bytes = pool->bytes,
                      .pool_used_bytes = pool->used_bytes,
                      .device = pool->device_id,
                      .pool_kind = pool->pool_kind,
                      .change = changes[pool->operation]});
}
