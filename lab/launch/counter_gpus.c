// SPDX-License-Identifier: Apache-2.0
// Counters of NVIDIA's GPUs, by NVML: how busy they are, their memory and their energy. Called by counters.c.
#include "launch/counters.h"

#include <stdio.h>

// Asked of the driver, not of a program: other programs' work is in it.
static enum status read_gpu(struct counters *counters, unsigned number, struct error *err)
{
  const struct nvml *nvml = &counters->nvml;
  void *device = NULL;
  char source[24];
  struct nvml_use use;
  struct nvml_memory memory;
  unsigned long long energy_mj;
  if (nvml->device(number, &device) != 0)
    return STATUS_OK;
  snprintf(source, sizeof source, "GPU %u", number);
  struct counter_of of = {.name = COUNTER_GPU_PCT, .source_number = number, .source = source};
  if (nvml->use != NULL && nvml->use(device, &use) == 0)
    XSP_TRY(counters_put(counters, &of, use.gpu_pct, err));
  of.name = COUNTER_GPU_BYTES;
  if (nvml->memory(device, &memory) == 0)
    XSP_TRY(counters_put(counters, &of, (double)memory.used, err));
  of.name = COUNTER_GPU_ENERGY_J;
  if (nvml->energy_mj != NULL && nvml->energy_mj(device, &energy_mj) == 0)
    XSP_TRY(counters_put(counters, &of, (double)energy_mj / 1e3, err));
  return STATUS_OK;
}

void counters_open_gpus(struct counters *counters)
{
  bool is_open = false;
  struct error err; // XSP_LIBRARY_NVML was refused before, if it is none
  if (nvml_open(&counters->nvml, &is_open, &err) == STATUS_OK && is_open &&
      (counters->nvml.count(&counters->gpu_count) != 0 || counters->gpu_count > NVML_GPUS_MOST))
    counters->gpu_count = 0;
  counters->has_nvml = is_open;
}

enum status counters_read_gpus(struct counters *counters, struct error *err)
{
  for (unsigned i = 0; i < counters->gpu_count; i++)
    XSP_TRY(read_gpu(counters, i, err));
  return STATUS_OK;
}
