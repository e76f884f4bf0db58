// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, opened at run time: what GPUs there are, and what they do. No GPU is opened: it talks to the driver.
#ifndef XSP_BASE_NVML_H
#define XSP_BASE_NVML_H

#include "base/error.h"

#include <stdbool.h>

#define NVML_NAME_BYTES 96
#define NVML_GPUS_MOST 64u

struct nvml_memory {
  unsigned long long total, free, used;
};
struct nvml_use {
  unsigned gpu_pct, memory_pct;
};

// Of nvml.h: X(member, symbol, parameters, whether it may be missing). Each returns 0, or the number of an error.
#define NVML_FUNCTIONS(X)                                                                                              \
  X(init, "nvmlInit_v2", (void), false)                                                                                \
  X(shutdown, "nvmlShutdown", (void), false)                                                                           \
  X(driver_version, "nvmlSystemGetDriverVersion", (char *text, unsigned size), false)                                  \
  X(cuda_version, "nvmlSystemGetCudaDriverVersion", (int *), false)                                                    \
  X(count, "nvmlDeviceGetCount_v2", (unsigned *), false)                                                               \
  X(device, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, void **), false)                                         \
  X(name, "nvmlDeviceGetName", (void *device, char *text, unsigned size), false)                                       \
  X(memory, "nvmlDeviceGetMemoryInfo", (void *device, struct nvml_memory *), false)                                    \
  X(use, "nvmlDeviceGetUtilizationRates", (void *device, struct nvml_use *), true)                                     \
  X(energy_mj, "nvmlDeviceGetTotalEnergyConsumption", (void *device, unsigned long long *), true)

struct nvml {
#define X(member, symbol, parameters, is_optional) int(*member) parameters;
  NVML_FUNCTIONS(X)
#undef X
};

// Opens XSP_LIBRARY_NVML, else libnvidia-ml.so.1, and initialises it; shutdown ends that. *ret_is_open is false without NVML, and
// without a driver that it can talk to. STATUS_SYSTEM: XSP_LIBRARY_NVML does not open, or is not NVML.
enum status nvml_open(struct nvml *ret_nvml, bool *ret_is_open, struct error *err) MUST_CHECK;

#endif
