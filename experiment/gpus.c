// SPDX-License-Identifier: Apache-2.0
// Asks NVML about the machine's GPUs. Called by system.c and model_experiment.c, before anything is measured. No GPU is
// opened: NVML talks to the driver.
#include "experiment/gpus.h"

#include "base/library.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#define NAME_BYTES 96
#define GPUS_MOST 64u

struct nvml_memory {
  unsigned long long total, free, used;
};

// Of nvml.h. Each returns 0, or the number of an error.
#define NVML_FUNCTIONS(X)                                                                                              \
  X(init, "nvmlInit_v2", (void))                                                                                       \
  X(shutdown, "nvmlShutdown", (void))                                                                                  \
  X(driver_version, "nvmlSystemGetDriverVersion", (char *text, unsigned size))                                         \
  X(cuda_version, "nvmlSystemGetCudaDriverVersion", (int *))                                                           \
  X(count, "nvmlDeviceGetCount_v2", (unsigned *))                                                                      \
  X(device, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, void **))                                                \
  X(name, "nvmlDeviceGetName", (void *device, char *text, unsigned size))                                              \
  X(memory, "nvmlDeviceGetMemoryInfo", (void *device, struct nvml_memory *))

struct nvml {
#define X(member, symbol, parameters) int(*member) parameters;
  NVML_FUNCTIONS(X)
#undef X
};

static bool open_nvml(struct nvml *nvml)
{
  char variable[LIBRARY_VARIABLE_SIZE];
  const char *given = library_variable("nvml", variable);
  void *handle = dlopen(given != NULL ? given : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  bool is_whole = handle != NULL;
#define X(member, symbol, parameters)                                                                                  \
  if (is_whole) {                                                                                                      \
    void *address = dlsym(handle, symbol);                                                                             \
    memcpy(&nvml->member, &address, sizeof address);                                                                   \
    is_whole = address != NULL;                                                                                        \
  }
  NVML_FUNCTIONS(X)
#undef X
  return is_whole && nvml->init() == 0;
}

static void add_gpu(const struct nvml *nvml, unsigned index, struct arena *arena, struct gpus *gpus)
{
  void *device = NULL;
  char name[NAME_BYTES] = "";
  struct nvml_memory memory = {0};
  if (nvml->device(index, &device) != 0 || nvml->name(device, name, sizeof name) != 0 || name[0] == 0)
    memcpy(name, "unknown", sizeof "unknown");
  double bytes = device != NULL && nvml->memory(device, &memory) == 0 ? (double)memory.total : NAN;
  bool is_first = gpus->names == NULL;
  if (is_first)
    gpus->model = arena_copy(arena, name, strlen(name));
  else if (gpus->model != NULL && strcmp(gpus->model, name) != 0)
    gpus->model = NULL;
  gpus->memory_bytes = is_first || gpus->memory_bytes == bytes ? bytes : NAN;
  gpus->names = arena_format(arena, "%s%s%s", is_first ? "" : gpus->names, is_first ? "" : ", ", name);
}

void gpus_read(struct arena *arena, struct gpus *ret_gpus)
{
  struct nvml nvml = {0};
  char driver[NAME_BYTES] = "";
  *ret_gpus = (struct gpus){.memory_bytes = NAN};
  if (!open_nvml(&nvml))
    return;
  if (nvml.driver_version(driver, sizeof driver) == 0 && driver[0] != 0)
    ret_gpus->driver = arena_copy(arena, driver, strlen(driver));
  if (nvml.cuda_version(&ret_gpus->cuda_version) != 0)
    ret_gpus->cuda_version = 0;
  if (nvml.count(&ret_gpus->count) != 0 || ret_gpus->count > GPUS_MOST)
    ret_gpus->count = 0;
  for (unsigned i = 0; i < ret_gpus->count; i++)
    add_gpu(&nvml, i, arena, ret_gpus);
  nvml.shutdown();
}
