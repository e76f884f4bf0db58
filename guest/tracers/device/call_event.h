// SPDX-License-Identifier: Apache-2.0
// A driver's call as events of <xsp/monitor.h>, on its thread: after its span has begun, and before it ends.
#ifndef XSP_TRACERS_DEVICE_CALL_EVENT_H
#define XSP_TRACERS_DEVICE_CALL_EVENT_H

#include <stdbool.h>
#include <xsp/monitor.h>
#include <xsp/tracer.h>

static inline bool device_call_is_wanted(void)
{
  return (xsp_monitor_domains_v1 & (1u << XSP_DOMAIN_GPU)) != 0;
}

static inline void device_call_report(enum xsp_phase phase, const char *tracer, const char *name, uint64_t id)
{
  const struct xsp_event event = {.size = sizeof event,
                                  .domain = XSP_DOMAIN_GPU,
                                  .phase = (uint8_t)phase,
                                  .source = tracer,
                                  .name = name,
                                  .id = id,
                                  .sequence = -1};
  xsp_monitor_report(&event);
}

// Of a tracer that is called at the beginning and end of each call: by thread.
struct device_call {
  unsigned depth; // calls inside a call are no events
  bool is_begun;  // the level is on
};

static inline void device_call_nested(struct device_call *current, bool is_exit, const char *tracer, const char *name)
{
  if (!is_exit && current->depth++ == 0) {
    current->is_begun = (xsp_tracer_levels(tracer) & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)) != 0;
    if (current->is_begun)
      device_call_report(XSP_PHASE_BEGIN, tracer, name, 0);
  } else if (is_exit && current->depth > 0 && --current->depth == 0 && current->is_begun) {
    device_call_report(XSP_PHASE_END, tracer, name, 0);
  }
}

static inline void device_call_event(enum xsp_phase phase, const struct xsp_site *site, const struct xsp_span *span)
{
  if (span->start == 0 || !device_call_is_wanted())
    return;
  const struct xsp_context id = xsp_span_context(span);
  device_call_report(phase, site->tracer, site->name, (uint64_t)id.ring << 32 | id.id);
}

#endif
