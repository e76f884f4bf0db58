// SPDX-License-Identifier: Apache-2.0
// One of several subscribers, or the only one: CUPTI has a family of functions for each, which must not be mixed. From 13.3 and
// driver r610 on several tools can record one process at once.
#ifndef XSP_TRACERS_CUDA_SUBSCRIBER_H
#define XSP_TRACERS_CUDA_SUBSCRIBER_H

#include "tracers/cuda/abi.h"

// Comes before any other call. `may_share` false: as the only one, which the profilers of counters and of instructions demand.
// False: why not.
bool cuda_subscriber_start(struct cupti *cupti, cupti_callback *callback, bool may_share, char *why, size_t why_size);
// Numbers of threads are the system's, in buffers that come from these functions. CUPTI's error.
uint32_t cuda_subscriber_record(const struct cupti *cupti, cupti_request_buffer *request,
                                cupti_complete_buffer *complete);

static inline uint32_t subscriber_enable(const struct cupti *cupti, uint32_t kind)
{
  return cupti->is_one_of_several ? cupti->enable_of_one(cupti->subscriber, kind, NULL) : cupti->enable(kind);
}

// A call of CUDA; `domain`: driver or runtime. Where single calls cannot be chosen, see calls.c.
static inline uint32_t subscriber_enable_call(const struct cupti *cupti, uint32_t domain, uint32_t cbid)
{
  bool is_driver = domain == CUPTI_DOMAIN_DRIVER;
  if (cupti->is_one_of_several)
    return (is_driver ? cupti->enable_driver_of_one : cupti->enable_runtime_of_one)(cupti->subscriber, cbid, 1);
  return (is_driver ? cupti->enable_driver : cupti->enable_runtime)(cbid, 1);
}

static inline uint32_t subscriber_next_record(const struct cupti *cupti, uint8_t *buffer, size_t valid, void **record)
{
  return cupti->is_one_of_several ? cupti->next_record_of_one(cupti->subscriber, buffer, valid, record)
                                  : cupti->next_record(buffer, valid, record);
}

static inline uint32_t subscriber_dropped(const struct cupti *cupti, size_t *ret_dropped)
{
  return cupti->is_one_of_several ? cupti->dropped_of_one(cupti->subscriber, NULL, 0, ret_dropped)
                                  : cupti->dropped(NULL, 0, ret_dropped);
}

#endif
