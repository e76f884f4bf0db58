// SPDX-License-Identifier: Apache-2.0
// Memory of tensors: c10 reports each allocation and release on the thread that makes it. Where the library level is on, each
// is a span without length; else operators get their sums, for which c10 need not keep a table of its blocks.
#include "frameworks/pytorch/tracer.h"

#include <xsp/monitor.h>

#define DEVICE_CPU 0

static bool records_all;
static struct xsp_site *allocate_site, *free_site;

enum pytorch_memory pytorch_tensors_start(void)
{
  const uint32_t levels = xsp_session_levels();
  records_all = (levels & XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY)) != 0;
  if (records_all) {
    allocate_site = xsp_site_create(TRACER, XSP_LEVEL_LIBRARY, "allocate", "memory");
    free_site = xsp_site_create(TRACER, XSP_LEVEL_LIBRARY, "free", "memory");
  }
  return records_all || pytorch_monitor_wants(XSP_DOMAIN_MEMORY) ? PYTORCH_MEMORY_ALL
         : (levels & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0       ? PYTORCH_MEMORY_SUMS
                                                                 : PYTORCH_MEMORY_NONE;
}

static void add(uint64_t bytes)
{
  struct open_operator *opened = pytorch_operator_innermost(thread_get());
  if (opened != NULL)
    opened->allocated += bytes;
}

void pytorch_tensors_allocated(uint64_t bytes)
{
  if (!records_all && !compile_is_running(thread_get()))
    add(bytes);
}

void pytorch_tensors_reported(const void *address, int64_t bytes, uint64_t total_bytes, unsigned device)
{
  if (compile_is_running(thread_get()))
    return;
  if (bytes > 0 && (records_all || device != DEVICE_CPU)) // else pytorch_tensors_allocated has seen it
    add((uint64_t)bytes);
  if (pytorch_monitor_wants(XSP_DOMAIN_MEMORY))
    pytorch_monitor_memory(address, bytes);
  if (!records_all)
    return;
  const uint64_t now = xsp_clock_ticks();
  const struct xsp_interval interval = {.size = sizeof interval,
                                        .start = now,
                                        .end = now,
                                        .call_path =
                                            pytorch_operators_path(thread_get(), bytes > 0 ? "allocate" : "free")};
  struct xsp_span span = xsp_span_emit(bytes > 0 ? allocate_site : free_site, &interval);
  xsp_span_tag_int(&span, "bytes", bytes > 0 ? bytes : -bytes);
  xsp_span_tag_int(&span, "address", (int64_t)(uintptr_t)address);
  xsp_span_tag_int(&span, "total_bytes", (int64_t)total_bytes);
  if (device == DEVICE_CPU)
    return;
  xsp_span_tag_int(&span, "device_type", device % 256);
  xsp_span_tag_int(&span, "device_index", device / 256);
}
