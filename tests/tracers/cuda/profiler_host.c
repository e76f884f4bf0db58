// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: the Profiler Host API. Like the vendor's, it needs no driver. Results of wrong arguments are those of the
// vendor's 13.1, where it answers without a driver.
#include "profiler_metrics.h"

struct CUpti_Profiler_Host_Object {
  int chip;
  struct config_image config;
};

static size_t config_size(const struct config_image *config)
{
  return offsetof(struct config_image, metrics) + config->count;
}

EXPORTED CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_Host_GetSupportedChips_Params);
  given->ppChipNames = metrics_chips(&given->numChips);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_Host_Initialize_Params);
  if (!given->pChipName || (unsigned)given->profilerType >= CUPTI_PROFILER_TYPE_PROFILER_INVALID)
    return CUPTI_ERROR_INVALID_PARAMETER;
  int chip = metrics_chip_index(given->pChipName);
  if (chip < 0)
    return CUPTI_ERROR_INVALID_CHIP_NAME;
  struct CUpti_Profiler_Host_Object *host = calloc(1, sizeof *host);
  host->chip = chip;
  host->config.magic = CONFIG_MAGIC;
  host->config.profiler = given->profilerType;
  given->pHostObject = host;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_Host_Deinitialize_Params);
  if (!given->pHostObject)
    return CUPTI_ERROR_INVALID_PARAMETER;
  free(given->pHostObject);
  return CUPTI_SUCCESS;
}

// Each call adds passes of its own: metrics that could share a pass are to be added by one call.
EXPORTED CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_Host_ConfigAddMetrics_Params);
  if (!given->pHostObject || !given->ppMetricNames || given->numMetrics == 0)
    return CUPTI_ERROR_INVALID_PARAMETER;
  struct config_image added = given->pHostObject->config;
  uint32_t before = added.count;
  for (size_t i = 0; i < given->numMetrics; i++) {
    int metric = metrics_find(given->pHostObject->chip, (CUpti_ProfilerType)added.profiler, given->ppMetricNames[i]);
    if (metric < 0)
      return CUPTI_ERROR_INVALID_PARAMETER;
    if (memchr(added.metrics + before, metric, added.count - before))
      continue;
    if (added.count == METRICS_MAXIMUM)
      return CUPTI_ERROR_OUT_OF_MEMORY;
    added.metrics[added.count++] = (uint8_t)metric;
  }
  added.passes += metrics_passes(given->pHostObject->chip, added.metrics + before, added.count - before);
  given->pHostObject->config = added;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_Host_GetConfigImageSize_Params);
  if (!given->pHostObject)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (given->pHostObject->config.count == 0)
    return CUPTI_ERROR_UNKNOWN;
  given->configImageSize = config_size(&given->pHostObject->config);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_Host_GetConfigImage_Params);
  if (!given->pHostObject || !given->pConfigImage || given->configImageSize < config_size(&given->pHostObject->config))
    return CUPTI_ERROR_INVALID_PARAMETER;
  memcpy(given->pConfigImage, &given->pHostObject->config, config_size(&given->pHostObject->config));
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_Host_GetNumOfPasses_Params);
  if (!given->pConfigImage)
    return CUPTI_ERROR_INVALID_PARAMETER;
  const struct config_image *config = config_of(given->pConfigImage, given->configImageSize);
  given->numOfPasses = config ? config->passes : 0;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  const struct counter_image *counters = counters_of(given->pCounterDataImage, given->counterDataImageSize);
  if (!given->pHostObject || !counters || given->rangeIndex >= counters->entries || !given->ppMetricNames ||
      !given->pMetricValues)
    return CUPTI_ERROR_INVALID_PARAMETER;
  CUpti_ProfilerType type = (CUpti_ProfilerType)given->pHostObject->config.profiler;
  for (size_t i = 0; i < given->numMetrics; i++) {
    int metric = metrics_find(given->pHostObject->chip, type, given->ppMetricNames[i]);
    const uint8_t *found = metric < 0 ? NULL : memchr(counters->metrics, metric, counters->count);
    if (!found)
      return CUPTI_ERROR_INVALID_METRIC_NAME;
    given->pMetricValues[i] =
        metrics_of(&counters->entry[given->rangeIndex], (size_t)(found - counters->metrics), metric);
  }
  return CUPTI_SUCCESS;
}
