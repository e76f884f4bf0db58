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

// Without NVML, and without a driver that it can talk to, there are no GPUs; but what was named has to be NVML.
static enum status open_nvml(struct nvml *nvml, bool *ret_is_open, struct error *err)
{
  static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
  const struct library_names names = {.name = "nvml", .sonames = sonames};
  char variable[LIBRARY_VARIABLE_SIZE];
  const char *given = library_variable(names.name, variable);
  struct library library;
  const char *missing = NULL;
  *ret_is_open = false;
  enum status status = library_open(&names, given, &library, given != NULL ? err : NULL);
  if (status != STATUS_OK)
    return given != NULL ? status : STATUS_OK;
#define X(member, symbol, parameters)                                                                                  \
  {                                                                                                                    \
    void *address = dlsym(library.handle, symbol);                                                                     \
    memcpy(&nvml->member, &address, sizeof address);                                                                   \
    missing = missing == NULL && address == NULL ? symbol : missing;                                                   \
  }
  NVML_FUNCTIONS(X)
#undef X
  if (missing != NULL && given != NULL)
    return error_set(err, STATUS_SYSTEM, "not an NVML library", given, "the path of libnvidia-ml.so.1", "%s is missing",
                     missing);
  *ret_is_open = missing == NULL && nvml->init() == 0;
  return STATUS_OK;
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

enum status gpus_read(struct arena *arena, struct gpus *ret_gpus, struct error *err)
{
  bool is_open;
  struct nvml nvml = {0};
  char driver[NAME_BYTES] = "";
  *ret_gpus = (struct gpus){.memory_bytes = NAN};
  XSP_TRY(open_nvml(&nvml, &is_open, err));
  if (!is_open)
    return STATUS_OK;
  if (nvml.driver_version(driver, sizeof driver) == 0 && driver[0] != 0)
    ret_gpus->driver = arena_copy(arena, driver, strlen(driver));
  if (nvml.cuda_version(&ret_gpus->cuda_version) != 0)
    ret_gpus->cuda_version = 0;
  if (nvml.count(&ret_gpus->count) != 0 || ret_gpus->count > GPUS_MOST)
    ret_gpus->count = 0;
  for (unsigned i = 0; i < ret_gpus->count; i++)
    add_gpu(&nvml, i, arena, ret_gpus);
  nvml.shutdown();
  return STATUS_OK;
}
