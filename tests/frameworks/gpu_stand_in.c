// SPDX-License-Identifier: Apache-2.0
// NVML and cuDNN of test_devices.py, without NVIDIA's software. XSP_STAND_IN_GPU_NAMES: names of the GPUs, by commas.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION(result, name, parameters)                                                                             \
  __attribute__((visibility("default"))) result name parameters;                                                       \
  result name parameters

struct memory {
  unsigned long long total, free, used;
};

static const char *names(void)
{
  const char *value = getenv("XSP_STAND_IN_GPU_NAMES");
  return value != NULL ? value : "";
}

FUNCTION(int, nvmlInit_v2, (void))
{
  return 0;
}

FUNCTION(int, nvmlShutdown, (void))
{
  return 0;
}

FUNCTION(int, nvmlSystemGetDriverVersion, (char *text, unsigned size))
{
  snprintf(text, size, "570.86.15");
  return 0;
}

FUNCTION(int, nvmlSystemGetCudaDriverVersion, (int *ret_version))
{
  *ret_version = 12080;
  return 0;
}

FUNCTION(int, nvmlDeviceGetCount_v2, (unsigned *ret_count))
{
  *ret_count = names()[0] != 0;
  for (const char *at = names(); *at != 0; at++)
    *ret_count += *at == ',';
  return 0;
}

FUNCTION(int, nvmlDeviceGetHandleByIndex_v2, (unsigned index, void **ret_device))
{
  const char *at = names();
  for (; index > 0; index--)
    at = strchr(at, ',') + 1;
  *ret_device = (void *)at;
  return 0;
}

FUNCTION(int, nvmlDeviceGetName, (void *device, char *text, unsigned size))
{
  snprintf(text, size, "%.*s", (int)strcspn(device, ","), (const char *)device);
  return 0;
}

FUNCTION(int, nvmlDeviceGetMemoryInfo, (void *device, struct memory *ret_memory))
{
  *ret_memory = (struct memory){.total = 150754820096};
  return 0;
}

FUNCTION(size_t, cudnnGetVersion, (void))
{
  return 90701;
}
