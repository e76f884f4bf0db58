// SPDX-License-Identifier: Apache-2.0
#include "tracers/cuda/pc_launches.h"

#include "tracers/cuda/calls.h"

#include <string.h>
#include <xsp/monitor.h>

#define NOTES 4096u // kernels run one after the other: as many launches wait as there are threads

static uint64_t notes[NOTES]; // atomic: correlation id << 32 | path

void pc_launches_start(const struct cupti *cupti)
{
  static const char launch[] = "cuLaunch";
  for (uint32_t cbid = 1; cbid < CALLS_MOST; cbid++) {
    const char *name = cuda_call_name(cupti, CUPTI_DOMAIN_DRIVER, cbid);
    if (name != NULL && strncmp(name, launch, sizeof launch - 1) == 0)
      cupti->enable_callback(1, cupti->subscriber, CUPTI_DOMAIN_DRIVER, cbid);
  }
}

void pc_launches_note(uint32_t correlation_id)
{
  uint64_t path = xsp_monitor_path(XSP_SOURCE_PYTHON | XSP_SOURCE_FRAMEWORK);
  __atomic_store_n(&notes[correlation_id % NOTES], (uint64_t)correlation_id << 32 | path, __ATOMIC_RELEASE);
}

uint32_t pc_launches_path(uint32_t correlation_id)
{
  uint64_t note = __atomic_load_n(&notes[correlation_id % NOTES], __ATOMIC_ACQUIRE);
  return note >> 32 == correlation_id ? (uint32_t)note : 0;
}
