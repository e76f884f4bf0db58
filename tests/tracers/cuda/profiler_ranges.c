// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: the Range Profiler. Auto ranges with kernel replay, where each kernel is a range and runs once a
// pass; user ranges with user replay, where the client repeats Start to Stop. One nesting level. SetConfig must come before each
// collection: a Start after all passes are submitted is refused, as the vendor does not document what it would do.
#include "profiler_metrics.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define OBJECTS_MAXIMUM 64

struct CUpti_RangeProfiler_Object {
  CUcontext context;
  bool is_started, is_complete, is_open; // all passes are submitted; a user's range is open
  size_t counter_least;                  // bytes that the image needs
  CUpti_RangeProfiler_SetConfig_Params wishes;
  struct config_image config; // a count of 0: not set
  uint32_t passes_done;
  struct counter_entry *collected; // of the hardware, until they are decoded
  struct counter_entry *open;      // the user's range; NULL: none, or it was dropped
  size_t collected_count, lost;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_RangeProfiler_Object *objects[OBJECTS_MAXIMUM]; // of contexts where it is enabled
static bool is_initialized;

// Under the lock.
static CUpti_RangeProfiler_Object **find(CUcontext context)
{
  size_t i = 0;
  while (i < OBJECTS_MAXIMUM && (!objects[i] || objects[i]->context != context))
    i++;
  return i < OBJECTS_MAXIMUM ? &objects[i] : NULL;
}

static void wait_for(CUcontext context)
{
  void *driver = activity_connect();
  ((__typeof__(&simulator_finish))dlsym(driver, "simulator_finish"))(context);
}

// ---- what the device does
unsigned ranges_replays(CUcontext context, const char *kernel)
{
  pthread_mutex_lock(&lock);
  CUpti_RangeProfiler_Object **found = find(context);
  bool is_replayed = found && (*found)->is_started && (*found)->wishes.replayMode == CUPTI_KernelReplay;
  unsigned passes = is_replayed ? (*found)->config.passes : 0;
  pthread_mutex_unlock(&lock);
  while (is_replayed && strncmp(kernel, "nccl", 4) == 0) // waits for a kernel that is not launched before this one ends
    pause();
  return passes;
}

static struct counter_entry *new_entry(CUpti_RangeProfiler_Object *object, const char *name)
{
  if (object->collected_count == object->wishes.maxRangesPerPass || faults_hits("ranges-dropped", 3)) {
    object->lost++;
    count(COUNT_RANGES_DROPPED);
    return NULL;
  }
  struct counter_entry *entry = &object->collected[object->collected_count++];
  *entry = (struct counter_entry){.kernels = 0};
  snprintf(entry->name, sizeof entry->name, "%s", name);
  count(COUNT_RANGES);
  return entry;
}

void ranges_kernel_ended(const struct simulator_operation *operation)
{
  pthread_mutex_lock(&lock);
  CUpti_RangeProfiler_Object **found = find(operation->context), *object = found ? *found : NULL;
  if (object && object->is_started && object->passes_done == 0) {
    struct counter_entry *entry = NULL;
    char name[24];
    snprintf(name, sizeof name, "%zu", object->collected_count + object->lost);
    if (object->wishes.range == CUPTI_AutoRange)
      entry = new_entry(object, name);
    else
      entry = object->open;
    if (entry)
      metrics_add(entry, object->config.metrics, object->config.count, operation, 1, 1);
  }
  pthread_mutex_unlock(&lock);
}

// ---- the target's other calls
EXPORTED CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *given)
{
  count(COUNT_ENTRIES);
  if (!activity_connect())
    return CUPTI_ERROR_UNKNOWN;
  if (!given || given->structSize != CUpti_Profiler_Initialize_Params_STRUCT_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  is_initialized = true;
  return CUPTI_SUCCESS;
}

bool metrics_are_initialized(void)
{
  return is_initialized;
}

EXPORTED CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *given)
{
  PARAMETERS(given, CUpti_Profiler_DeInitialize_Params);
  is_initialized = false;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *given)
{
  PARAMETERS(given, CUpti_Device_GetChipName_Params);
  if (given->deviceIndex >= SIMULATOR_DEVICES)
    return CUPTI_ERROR_INVALID_DEVICE;
  given->pChipName = metrics_chip();
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *given)
{
  PARAMETERS_SINCE(130101, given, CUpti_Profiler_DeviceSupported_Params, sku);
  bool is_virtual = simulator_has_fault("counters-virtual");
  given->architecture = given->sli = given->confidentialCompute = given->cmp = given->wsl =
      CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  given->vGpu = is_virtual ? CUPTI_PROFILER_CONFIGURATION_DISABLED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  given->isSupported = is_virtual ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  return CUPTI_SUCCESS;
}

// The image has no contents: all counters are there.
EXPORTED CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *given)
{
  PARAMETERS_SINCE(130101, given, CUpti_Profiler_GetCounterAvailability_Params, bAllowDeviceLevelCounters);
  if (!is_initialized)
    return CUPTI_ERROR_NOT_INITIALIZED;
  return metrics_availability(&given->counterAvailabilityImageSize, given->pCounterAvailabilityImage);
}

// ---- the range profiler
EXPORTED CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *given)
{
  PARAMETERS(given, CUpti_RangeProfiler_Enable_Params);
  if (!is_initialized)
    return CUPTI_ERROR_NOT_INITIALIZED;
  if (!given->ctx)
    return CUPTI_ERROR_INVALID_PARAMETER;
  CUptiResult result = simulator_has_fault("enable-refused") ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : metrics_refusal();
  if (result != CUPTI_SUCCESS)
    return result;
  pthread_mutex_lock(&lock);
  size_t i = 0;
  while (i < OBJECTS_MAXIMUM && objects[i])
    i++;
  if (find(given->ctx) || i == OBJECTS_MAXIMUM) {
    result = CUPTI_ERROR_INVALID_OPERATION;
  } else {
    objects[i] = calloc(1, sizeof *objects[i]);
    objects[i]->context = given->ctx;
    given->pRangeProfilerObject = objects[i];
  }
  pthread_mutex_unlock(&lock);
  return result;
}

#define OBJECT(given, type)                                                                                            \
  PARAMETERS(given, type);                                                                                             \
  CUpti_RangeProfiler_Object *object = (given)->pRangeProfilerObject;                                                  \
  if (!object)                                                                                                         \
  return CUPTI_ERROR_INVALID_PARAMETER

EXPORTED CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_Disable_Params);
  pthread_mutex_lock(&lock);
  *find(object->context) = NULL;
  pthread_mutex_unlock(&lock);
  free(object->collected);
  free(object);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_GetCounterDataSize_Params);
  if (!given->pMetricNames || given->numMetrics == 0 || given->maxNumOfRanges == 0 ||
      given->maxNumRangeTreeNodes < given->maxNumOfRanges)
    return CUPTI_ERROR_INVALID_PARAMETER;
  int chip = metrics_chip_index(metrics_chip());
  for (size_t i = 0; i < given->numMetrics; i++)
    if (metrics_find(chip, CUPTI_PROFILER_TYPE_RANGE_PROFILER, given->pMetricNames[i]) < 0)
      return CUPTI_ERROR_INVALID_PARAMETER;
  given->counterDataSize = object->counter_least = counters_size(given->maxNumOfRanges);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult
cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  return counters_initialize(given->pCounterData, given->counterDataSize, object->counter_least);
}

EXPORTED CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_SetConfig_Params);
  const struct config_image *config = config_of(given->pConfig, given->configSize);
  bool is_automatic = given->range == CUPTI_AutoRange && given->replayMode == CUPTI_KernelReplay;
  bool is_users = given->range == CUPTI_UserRange && given->replayMode == CUPTI_UserReplay;
  if (!config || config->profiler != CUPTI_PROFILER_TYPE_RANGE_PROFILER || !(is_automatic || is_users) ||
      !counters_of(given->pCounterDataImage, given->counterDataImageSize) || given->maxRangesPerPass == 0 ||
      given->numNestingLevels != 1 || given->minNestingLevel != 1 || given->passIndex != 0)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (object->is_started)
    return CUPTI_ERROR_INVALID_OPERATION;
  pthread_mutex_lock(&lock);
  object->wishes = *given;
  memcpy(&object->config, config, offsetof(struct config_image, metrics) + config->count);
  free(object->collected);
  object->collected = calloc(given->maxRangesPerPass, sizeof *object->collected);
  object->collected_count = object->lost = object->passes_done = 0;
  object->is_complete = false;
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_Start_Params);
  if (object->is_started || object->config.count == 0 || object->is_complete)
    return CUPTI_ERROR_INVALID_OPERATION;
  if (simulator_has_fault("counters-busy"))
    return CUPTI_ERROR_HARDWARE_BUSY;
  wait_for(object->context);
  pthread_mutex_lock(&lock);
  object->is_started = true;
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_Stop_Params);
  if (!object->is_started || object->is_open)
    return CUPTI_ERROR_INVALID_OPERATION;
  wait_for(object->context);
  pthread_mutex_lock(&lock);
  object->is_started = false;
  object->passes_done =
      object->wishes.replayMode == CUPTI_KernelReplay ? object->config.passes : object->passes_done + 1;
  object->is_complete = object->passes_done == object->config.passes;
  given->passIndex = object->is_complete ? 0 : object->passes_done;
  given->targetNestingLevel = 1;
  given->isAllPassSubmitted = object->is_complete;
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

static CUptiResult mark(CUpti_RangeProfiler_Object *object, bool is_begin, const char *name)
{
  if (!object->is_started || object->wishes.range != CUPTI_UserRange || object->is_open == is_begin)
    return CUPTI_ERROR_INVALID_OPERATION;
  wait_for(object->context);
  pthread_mutex_lock(&lock);
  object->is_open = is_begin;
  object->open = is_begin && object->passes_done == 0 ? new_entry(object, name) : NULL;
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_PushRange_Params);
  return given->pRangeName ? mark(object, true, given->pRangeName) : CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORTED CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_PopRange_Params);
  return mark(object, false, NULL);
}

// Ranges come into the image when all their passes are there.
EXPORTED CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *given)
{
  OBJECT(given, CUpti_RangeProfiler_DecodeData_Params);
  if (object->config.count == 0 || object->is_started)
    return CUPTI_ERROR_INVALID_OPERATION;
  struct counter_image *image = counters_of(object->wishes.pCounterDataImage, object->wishes.counterDataImageSize);
  if (!image)
    return CUPTI_ERROR_INVALID_PARAMETER;
  for (size_t i = 0; object->is_complete && i < object->collected_count; i++)
    if (!counters_append(image, &object->config, &object->collected[i])) {
      object->lost++;
      count(COUNT_RANGES_DROPPED);
    }
  if (object->is_complete)
    object->collected_count = 0;
  given->numOfRangeDropped = object->lost;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *given)
{
  PARAMETERS(given, CUpti_RangeProfiler_GetCounterDataInfo_Params);
  if (!given->pCounterDataImage)
    return CUPTI_ERROR_INVALID_PARAMETER;
  struct counter_image *image = counters_of(given->pCounterDataImage, given->counterDataImageSize);
  if (!image)
    return CUPTI_ERROR_UNKNOWN;
  given->numTotalRanges = image->entries;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult
cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *given)
{
  PARAMETERS(given, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
  struct counter_image *image = counters_of(given->pCounterDataImage, given->counterDataImageSize);
  if (!image || given->rangeIndex >= image->entries || !given->rangeDelimiter)
    return CUPTI_ERROR_INVALID_PARAMETER;
  given->rangeName = image->entry[given->rangeIndex].name;
  return CUPTI_SUCCESS;
}
