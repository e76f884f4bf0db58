// SPDX-License-Identifier: Apache-2.0
// What CUDA this machine has. The driver is asked before CUPTI: without one, some versions of CUPTI crash.
#include "tracers/cuda/probe.h"

#include "tracers/cuda/host_profiler.h"
#include "tracers/cuda/library.h"
#include "tracers/device/function.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void advise(const struct xsp_host *host, const char *advice)
{
  if (host->size >= sizeof *host)
    host->advise(host, advice);
}

static int without_driver(const struct xsp_host *host, const char *reason, char *why, size_t why_size)
{
  snprintf(why, why_size, "%s", reason);
  advise(host, "NVIDIA's driver is needed, and in a container its devices (docker: --gpus all)");
  return -1;
}

static bool is_through_mps(void *driver)
{
  int (*attribute)(int *, int, int), is_on = 0;
  return device_function(driver, "cuDeviceGetAttribute", &attribute) && attribute(&is_on, CUDA_MPS_ENABLED, 0) == 0 &&
         is_on != 0;
}

// "driver 13.0, 2 devices: NVIDIA H200, through MPS"; false: it does not work, and `text` says why.
static bool describe_driver(void *driver, char *text, size_t size)
{
  int (*init)(unsigned), (*version)(int *), (*count)(int *), (*name)(char *, int, int);
  int number = 0, devices = 0, error;
  char first[128] = "";
  if (!device_function(driver, "cuInit", &init) || !device_function(driver, "cuDriverGetVersion", &version) ||
      !device_function(driver, "cuDeviceGetCount", &count) || !device_function(driver, "cuDeviceGetName", &name)) {
    snprintf(text, size, "libcuda.so.1 lacks functions of the driver");
    return false;
  }
  if ((error = init(0)) != 0 || (error = version(&number)) != 0 || (error = count(&devices)) != 0) {
    snprintf(text, size, "the driver does not start: CUDA error %d", error);
    return false;
  }
  if (devices > 0 && name(first, sizeof first - 1, 0) != 0)
    first[0] = '\0';
  snprintf(text, size, "driver for CUDA %d.%d, %d device%s%s%s%s", number / 1000, number % 1000 / 10, devices,
           devices == 1 ? "" : "s", first[0] == '\0' ? "" : ": ", first,
           devices > 0 && is_through_mps(driver) ? ", through MPS" : "");
  return true;
}

int cuda_probe(const struct xsp_host *host, char *why, size_t why_size)
{
  const char *session = getenv("XSP_SESSION");
  if (session != NULL && *session != '\0')
    return 0;
  char text[256], reason[300], version[400];
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) {
    snprintf(reason, sizeof reason, "%s", dlerror());
    return without_driver(host, reason, why, why_size);
  }
  if (!describe_driver(driver, text, sizeof text))
    return without_driver(host, text, why, why_size);
  struct cupti cupti;
  const char *file = "libcupti";
  if (!cuda_library_find(&cupti, &file, reason, sizeof reason)) {
    snprintf(why, why_size, "%s: %s", file, reason);
    advise(host, "pip install nvidia-cuda-cupti (CUDA 13) or nvidia-cuda-cupti-cu12, or give the file: "
                 "XSP_LIBRARY_CUPTI or --library cupti=PATH");
    return -1;
  }
  struct cupti_profiler profiler;
  bool has_metrics = host_profiler_load(file, &profiler, reason, sizeof reason);
  snprintf(version, sizeof version, "CUPTI %u%s, %s", cupti.version,
           has_metrics ? "" : " (no hardware metrics: those need CUPTI of CUDA 12.6 or later)", text);
  if (host->size >= sizeof *host)
    host->found(host, file, version);
  return 0;
}
