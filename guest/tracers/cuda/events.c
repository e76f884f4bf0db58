// SPDX-License-Identifier: Apache-2.0
// By CUPTI's callbacks on the program's threads, of the driver's calls alone: the runtime's are made of these. The calls are
// those that have records.
#include "tracers/cuda/events.h"

#include "tracers/cuda/calls.h"
#include "tracers/device/call_event.h"

static const char *names[CALLS_MOST]; // by number of the call; NULL: no events

void cuda_events_start(const struct cupti *cupti)
{
  if (!device_call_is_wanted() || cupti->enable_callback == NULL)
    return;
  for (uint32_t cbid = 1; cbid < CALLS_MOST; cbid++) {
    const struct cuda_call *call =
        cuda_call_is_chosen(cupti, CUPTI_DOMAIN_DRIVER, cbid) ? cuda_call_of(cupti, CUPTI_DOMAIN_DRIVER, cbid) : NULL;
    if (call == NULL)
      continue;
    names[cbid] = call->site->name; // before the first callback
    if (cupti->enable_callback(1, cupti->subscriber, CUPTI_DOMAIN_DRIVER, cbid) != CUPTI_OK)
      names[cbid] = NULL;
  }
}

bool cuda_events_has(uint32_t cbid)
{
  return names[cbid] != NULL;
}

void cuda_events_callback(uint32_t domain, uint32_t cbid, const void *details)
{
  static _Thread_local struct device_call current;
  const struct cupti_call *call = details;
  if (domain != CUPTI_DOMAIN_DRIVER || cbid >= CALLS_MOST || call == NULL || !cuda_events_has(cbid))
    return;
  device_call_nested(&current, call->is_exit, CUDA_TRACER, names[cbid]);
}
