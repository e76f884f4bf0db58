// SPDX-License-Identifier: Apache-2.0
// A driver's call as events of <xsp/monitor.h>, on its thread: after its span has begun, and before it ends.
#ifndef XSP_TRACERS_DEVICE_CALL_EVENT_H
#define XSP_TRACERS_DEVICE_CALL_EVENT_H

#include <xsp/monitor.h>

static inline void device_call_event(enum xsp_phase phase, const struct xsp_site *site, const struct xsp_span *span)
{
  if (span->start == 0 || (xsp_monitor_domains_v1 & (1u << XSP_DOMAIN_GPU)) == 0)
    return;
  const struct xsp_context id = xsp_span_context(span);
  const struct xsp_event event = {.size = sizeof event,
                                  .domain = XSP_DOMAIN_GPU,
                                  .phase = (uint8_t)phase,
                                  .source = site->tracer,
                                  .name = site->name,
                                  .id = (uint64_t)id.ring << 32 | id.id,
                                  .sequence = -1};
  xsp_monitor_report(&event);
}

#endif
