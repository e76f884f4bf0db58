// SPDX-License-Identifier: Apache-2.0
// CUPTI's host half. Called by metrics.c, which chooses metrics, and by whoever measures them. Objects of CUPTI keep the metrics
// that were added, so each configuration has its own.
#include "tracers/cuda/host_profiler.h"

#include "tracers/device/function.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// libcupti opens its own parts by name alone, which the loader finds in the toolkit's folder but not in Python packages.
static void open_part(const char *file, const char *name)
{
  char path[PATH_MAX];
  const char *slash = strrchr(file, '/');
  if (slash != NULL && snprintf(path, sizeof path, "%.*s/%s", (int)(slash - file), file, name) < (int)sizeof path)
    dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

bool host_profiler_load(const char *file, struct cupti_profiler *ret_profiler, char *why, size_t why_size)
{
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(why, why_size, "%s", dlerror());
    return false;
  }
#define FIND(field, name, parameters)                                                                                  \
  &&device_function_needed(library, "this libcupti", #name, &ret_profiler->field, why, why_size)
  if (!(true CUPTI_HOST_FUNCTIONS(FIND) CUPTI_RANGE_FUNCTIONS(FIND) CUPTI_SAMPLING_FUNCTIONS(FIND))) {
    size_t used = strlen(why);
    snprintf(why + used, why_size - used, ": hardware metrics need the CUPTI of CUDA 12.6 or later");
    return false;
  }
#undef FIND
  open_part(file, "libnvperf_host.so");
  open_part(file, "libnvperf_target.so");
  return true;
}

static uint32_t fill(const struct cupti_profiler *profiler, struct host_config *config)
{
  struct cupti_host_image_size size = {.size = sizeof size, .host = config->host};
  uint32_t error = profiler->host_image_size(&size);
  if (error != CUPTI_OK)
    return error;
  config->image_size = size.image_size;
  config->image = malloc(config->image_size);
  if (config->image == NULL)
    return CUPTI_NO_MEMORY;
  struct cupti_host_image image = {
      .size = sizeof image, .host = config->host, .image_size = config->image_size, .image = config->image};
  struct cupti_host_passes passes = {.size = sizeof passes, .image_size = config->image_size, .image = config->image};
  error = profiler->host_image(&image);
  if (error == CUPTI_OK)
    error = profiler->host_passes(&passes);
  config->passes = passes.passes;
  return error == CUPTI_OK && passes.passes == 0 ? CUPTI_NOT_COMPATIBLE : error;
}

uint32_t host_config_make(const struct host_chip *chip, const char **names, size_t count,
                          struct host_config *ret_config)
{
  const struct cupti_profiler *profiler = chip->profiler;
  *ret_config = (struct host_config){0};
  struct cupti_host_initialize host = {
      .size = sizeof host, .type = chip->type, .chip = chip->name, .availability = chip->availability};
  uint32_t error = profiler->host_initialize(&host);
  if (error != CUPTI_OK)
    return error;
  ret_config->host = host.host;
  struct cupti_host_metrics add = {.size = sizeof add, .host = host.host, .names = names, .count = count};
  error = profiler->host_add_metrics(&add);
  if (error == CUPTI_OK)
    error = fill(profiler, ret_config);
  if (error != CUPTI_OK)
    host_config_done(chip, ret_config);
  return error;
}

void host_config_done(const struct host_chip *chip, struct host_config *config)
{
  struct cupti_host_object host = {.size = sizeof host, .host = config->host};
  if (config->host != NULL)
    chip->profiler->host_deinitialize(&host);
  free(config->image);
  *config = (struct host_config){0};
}

size_t host_config_passes(const struct host_chip *chip, const char **names, size_t count)
{
  struct host_config config;
  size_t passes = host_config_make(chip, names, count, &config) == CUPTI_OK ? config.passes : 0;
  host_config_done(chip, &config);
  return passes;
}

const char *host_profiler_advice(uint32_t error)
{
  switch (error) {
  case CUPTI_INSUFFICIENT_PRIVILEGES:
    return "counters are for administrators here: run as root or with CAP_SYS_ADMIN, or load the driver's module with "
           "NVreg_RestrictProfilingToAdminUsers=0";
  case CUPTI_VIRTUAL_PRIVILEGES:
    return "the virtual GPU may not read counters: its host has to allow it (vGPU: "
           "pciPassthru0.cfg.enable_profiling=1)";
  case CUPTI_HARDWARE_BUSY:
    return "another tool has the counters: end it; DCGM gives them back while `dcgmi profile --pause` is in effect";
  case CUPTI_MIG_NOT_SUPPORTED:
    return "this MIG instance has no counters: use an instance with all of the GPU, or MIG switched off";
  case CUPTI_VIRTUAL_NOT_SUPPORTED:
    return "virtual GPUs of this kind have no counters";
  case CUPTI_CONFIDENTIAL:
    return "a GPU in confidential computing has no counters";
  default:
    return "";
  }
}

bool host_profiler_failed(void (*say)(const char *line), const char *call, uint32_t error)
{
  const char *advice = host_profiler_advice(error);
  char line[400];
  if (error == CUPTI_OK)
    return false;
  snprintf(line, sizeof line, "no metrics: %s: error %u%s%s", call, error, advice[0] != '\0' ? ": " : "", advice);
  say(line);
  return true;
}

const char *host_profiler_chip(const struct cupti_profiler *profiler, uint32_t device, void (*say)(const char *line))
{
  struct cupti_profiler_initialize initialize = {.size = sizeof initialize};
  struct cupti_chip_name chip = {.size = sizeof chip, .device = device};
  if (host_profiler_failed(say, "cuptiProfilerInitialize", profiler->initialize(&initialize)) ||
      host_profiler_failed(say, "cuptiDeviceGetChipName", profiler->chip_name(&chip)))
    return NULL;
  return chip.name;
}
