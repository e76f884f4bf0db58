// SPDX-License-Identifier: Apache-2.0
// Operators, compilations and memory for clients of <xsp/monitor.h>. Called by the files that record them, where a client has
// subscribed; the descriptions are made when the client asks for them.
#include "frameworks/pytorch/tracer.h"

#include <xsp/monitor.h>

bool pytorch_monitor_wants(unsigned domain)
{
  return (xsp_monitor_domains_v1 & (1u << domain)) != 0;
}

static size_t describe(const struct xsp_event *event, int of_results, char *text, size_t size)
{
  const struct open_operator *opened = event->subject;
  if (event->phase != (of_results ? XSP_PHASE_END : XSP_PHASE_BEGIN))
    return 0;
  return pytorch_shapes_describe(opened->record, of_results != 0, text, size);
}

static uint64_t id_of(const struct xsp_span *span)
{
  const struct xsp_context context = xsp_span_context(span);
  return context.id == 0 ? 0 : (uint64_t)context.ring << 32 | context.id;
}

void pytorch_monitor_operator(const struct open_operator *opened, const char *name, bool has_ended)
{
  const struct xsp_event event = {
      .size = sizeof event,
      .domain = XSP_DOMAIN_OPERATOR,
      .phase = has_ended ? XSP_PHASE_END : XSP_PHASE_BEGIN,
      .source = TRACER,
      .name = name,
      .module = opened->place.module != NULL ? opened->place.module->text : NULL,
      .id = id_of(&opened->span),
      .sequence = opened->sequence,
      .describe = describe,
      .subject = opened,
  };
  xsp_monitor_report(&event);
}

void pytorch_monitor_compilation(const struct xsp_span *span, const char *name, bool has_ended)
{
  const struct xsp_event event = {
      .size = sizeof event,
      .domain = XSP_DOMAIN_COMPILATION,
      .phase = has_ended ? XSP_PHASE_END : XSP_PHASE_BEGIN,
      .source = TRACER,
      .name = name,
      .id = id_of(span),
      .sequence = -1,
  };
  xsp_monitor_report(&event);
}

void pytorch_monitor_memory(const void *address, int64_t bytes)
{
  const struct xsp_event event = {
      .size = sizeof event,
      .domain = XSP_DOMAIN_MEMORY,
      .phase = XSP_PHASE_POINT,
      .source = TRACER,
      .name = bytes > 0 ? "allocate" : "free",
      .sequence = -1,
      .address = (uint64_t)(uintptr_t)address,
      .bytes = bytes,
  };
  xsp_monitor_report(&event);
}
