// SPDX-License-Identifier: Apache-2.0
// Allocations as spans without length, and the directions of copies. On the program's threads.
#include "tracers/levelzero/allocations.h"

#include "base/scoped.h"

#include <stdio.h>

static const char *const kinds[] = {"Unknown", "Host", "Device", "Shared"};
#define KINDS 4u

static uint32_t kind_of(const void *context, const void *address, void **ret_device)
{
  struct ze_memory_properties properties = {.head = {ZE_MEMORY_PROPERTIES, NULL}};
  if (ze.MemGetAllocProperties((void *)(uintptr_t)context, address, &properties, ret_device) != ZE_OK ||
      properties.type >= KINDS)
    return ZE_MEMORY_UNKNOWN;
  return properties.type;
}

static uint16_t allocation_track(struct levelzero_device *device)
{
  SCOPED_LOCK(&levelzero_lock);
  if (device->memory_track == 0) {
    char name[320];
    snprintf(name, sizeof name, "%s memory", device->name);
    struct xsp_track_options options = {
        .size = sizeof options, .name = name, .device_id = device->number, .stream_id = -1};
    device->memory_track = xsp_track_create(&options);
  }
  return device->memory_track;
}

static void publish(struct xsp_site *site, void *context, const void *address, size_t bytes, bool is_release)
{
  void *handle = NULL;
  uint32_t kind = kind_of(context, address, &handle);
  struct levelzero_device *device = handle == NULL ? NULL : levelzero_device_of(handle);
  uint64_t now = xsp_clock_ticks();
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = device == NULL ? 0 : allocation_track(device),
                                  .clock = XSP_CLOCK_TICKS,
                                  .start = now,
                                  .end = now};
  struct xsp_span span = xsp_span_emit(site, &interval);
  xsp_span_tag_int(&span, "bytes", (int64_t)bytes);
  xsp_span_tag_int(&span, "address", (int64_t)(uintptr_t)address);
  xsp_span_tag_string(&span, "memory_kind", kinds[kind]);
  if (device == NULL || kind != ZE_MEMORY_DEVICE)
    return;
  uint64_t change = is_release ? -(uint64_t)bytes : bytes;
  xsp_span_tag_int(&span, "total_bytes", (int64_t)__atomic_add_fetch(&device->allocated, change, __ATOMIC_RELAXED));
}

void levelzero_allocation_made(void *context, void *address, size_t bytes)
{
  XSP_SITE_FULL(site, XSP_LEVEL_LIBRARY, "allocate", "memory", LEVELZERO_TRACER);
  publish(&site, context, address, bytes, false);
}

void levelzero_allocation_gone(void *context, void *address)
{
  XSP_SITE_FULL(site, XSP_LEVEL_LIBRARY, "free", "memory", LEVELZERO_TRACER);
  void *base = NULL;
  size_t bytes = 0;
  if (address != NULL && ze.MemGetAddressRange(context, address, &base, &bytes) == ZE_OK)
    publish(&site, context, address, bytes, true);
}

static const char *letter(uint32_t kind)
{
  return kind == ZE_MEMORY_DEVICE ? "D" : kind == ZE_MEMORY_SHARED ? "S" : "H"; // memory of no allocation is the host's
}

struct work levelzero_copy_work(const void *to, const void *from, const struct levelzero_context *context,
                                int64_t bytes)
{
  static struct xsp_site *sites[KINDS][KINDS]; // atomic
  void *device = NULL;
  uint32_t source = context == NULL ? 0 : kind_of(context->handle, from, &device);
  uint32_t target = context == NULL ? 0 : kind_of(context->handle, to, &device);
  struct xsp_site *site = __atomic_load_n(&sites[source][target], __ATOMIC_ACQUIRE);
  if (site == NULL) {
    char name[32], direction[8];
    snprintf(direction, sizeof direction, "%sto%s", letter(source), letter(target));
    snprintf(name, sizeof name, "Memcpy %s", direction);
    site = xsp_site_create(LEVELZERO_TRACER, XSP_LEVEL_KERNEL, name, "memcpy");
    if (site != NULL)
      xsp_site_tag_string(site, "copy_kind", direction);
    __atomic_store_n(&sites[source][target], site, __ATOMIC_RELEASE);
  }
  return (struct work){site, bytes};
}
