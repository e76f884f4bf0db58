// SPDX-License-Identifier: Apache-2.0
// Asks NVML about the machine's GPUs. Called by system.c and model_experiment.c, before anything is measured.
#include "experiment/gpus.h"

#include "base/nvml.h"

#include <math.h>
#include <string.h>

static void add_gpu(const struct nvml *nvml, unsigned index, struct arena *arena, struct gpus *gpus)
{
  void *device = NULL;
  char name[NVML_NAME_BYTES] = "";
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
  char driver[NVML_NAME_BYTES] = "";
  *ret_gpus = (struct gpus){.memory_bytes = NAN};
  XSP_TRY(nvml_open(&nvml, &is_open, err));
  if (!is_open)
    return STATUS_OK;
  if (nvml.driver_version(driver, sizeof driver) == 0 && driver[0] != 0)
    ret_gpus->driver = arena_copy(arena, driver, strlen(driver));
  if (nvml.cuda_version(&ret_gpus->cuda_version) != 0)
    ret_gpus->cuda_version = 0;
  if (nvml.count(&ret_gpus->count) != 0 || ret_gpus->count > NVML_GPUS_MOST)
    ret_gpus->count = 0;
  for (unsigned i = 0; i < ret_gpus->count; i++)
    add_gpu(&nvml, i, arena, ret_gpus);
  nvml.shutdown();
  return STATUS_OK;
}
