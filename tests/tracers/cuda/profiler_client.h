// SPDX-License-Identifier: Apache-2.0
// What the minimal clients of CUPTI's profilers of counters share: how they call it, and the host half. Each is one file that
// includes this one.
#ifndef XSP_TESTS_PROFILER_CLIENT_H
#define XSP_TESTS_PROFILER_CLIENT_H

#include <stdbool.h> // before CUPTI's, which need it

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define METRICS_MOST 32

static void *cupti;
static const char **metrics;
static size_t metrics_count, entries_most; // ranges or samples that the counters hold
static CUcontext context;
static CUpti_Profiler_Host_Object *host;
static uint8_t *config, *counters;
static size_t config_bytes, counters_bytes;

// Calls a function of CUPTI with parameters of the type's name; the result.
#define CALL(function, type, ...)                                                                                      \
  ((__typeof__(&function))dlsym(cupti, #function))(&(type){.structSize = type##_STRUCT_SIZE, __VA_ARGS__})
#define CALL_WITH(function, params) ((__typeof__(&function))dlsym(cupti, #function))(&(params))
#define PARAMS(type, name, ...) type name = {.structSize = type##_STRUCT_SIZE, __VA_ARGS__}

static void must(int result, const char *what)
{
  if (result == 0)
    return;
  printf("{\"failed\": \"%s\", \"result\": %d}\n", what, result);
  exit(1);
}
#define MUST(call, what) must((int)(call), what)

// `availability`: of counters, freed here.
static void open_host(CUpti_ProfilerType type, uint8_t *availability)
{
  PARAMS(CUpti_Device_GetChipName_Params, chip, .deviceIndex = 0);
  MUST(CALL_WITH(cuptiDeviceGetChipName, chip), "cuptiDeviceGetChipName");
  PARAMS(CUpti_Profiler_Host_Initialize_Params, made, .profilerType = type, .pChipName = chip.pChipName,
         .pCounterAvailabilityImage = availability);
  MUST(CALL_WITH(cuptiProfilerHostInitialize, made), "cuptiProfilerHostInitialize");
  free(availability);
  host = made.pHostObject;
  printf("{\"chip\": \"%s\"}\n", chip.pChipName);
}

// Each call adds passes.
static void configure_host(void)
{
  MUST(CALL(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, .pHostObject = host,
            .ppMetricNames = metrics, .numMetrics = metrics_count),
       "cuptiProfilerHostConfigAddMetrics");
  PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size, .pHostObject = host);
  MUST(CALL_WITH(cuptiProfilerHostGetConfigImageSize, size), "cuptiProfilerHostGetConfigImageSize");
  config_bytes = size.configImageSize;
  config = malloc(config_bytes);
  MUST(CALL(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params, .pHostObject = host,
            .configImageSize = config_bytes, .pConfigImage = config),
       "cuptiProfilerHostGetConfigImage");
  PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes, .configImageSize = config_bytes, .pConfigImage = config);
  MUST(CALL_WITH(cuptiProfilerHostGetNumOfPasses, passes), "cuptiProfilerHostGetNumOfPasses");
  printf("{\"passes\": %zu}\n", passes.numOfPasses);
}

// The rest of a JSON object: each metric's value.
static void print_values(size_t index)
{
  double values[METRICS_MOST];
  MUST(CALL(cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params, .pHostObject = host,
            .pCounterDataImage = counters, .counterDataImageSize = counters_bytes, .rangeIndex = index,
            .ppMetricNames = metrics, .numMetrics = metrics_count, .pMetricValues = values),
       "cuptiProfilerHostEvaluateToGpuValues");
  for (size_t i = 0; i < metrics_count; i++)
    printf(", \"%s\": %.17g", metrics[i], values[i]);
  printf("}\n");
}

static void launch(const char *name, unsigned grid, unsigned block, CUstream stream, void **arguments)
{
  CUfunction kernel = NULL;
  MUST(cuModuleGetFunction(&kernel, NULL, name), "cuModuleGetFunction");
  MUST(cuLaunchKernel(kernel, grid, 2, 1, block, 1, 1, 0, stream, arguments, NULL), "cuLaunchKernel");
}

#define SAY(what, call) printf("{\"call\": \"%s\", \"result\": %d}\n", what, (int)(call))

// LIBCUPTI MODE ENTRIES METRIC…; the mode. CUDA is initialized, with a context.
static const char *begin(int count, char **arguments)
{
  cupti = count > 4 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!cupti || count > 4 + METRICS_MOST)
    exit(2);
  entries_most = strtoul(arguments[3], NULL, 10);
  metrics = (const char **)&arguments[4];
  metrics_count = (size_t)count - 4;
  MUST(cuInit(0), "cuInit");
  MUST(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  MUST(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return arguments[2];
}

#endif
