// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: PM sampling, by time. Samples follow one another from Start to Stop. A sample has of each kernel's sums
// the part of the kernel's time that lies in the sample, and of its percentages the part of the sample's time. Times are
// those of activity records, as NVIDIA answered pytorch/kineto#1526. Samples of a kernel are there when it has ended. What does not
// fit into the counters has no times when it is decoded later, and after Stop there is one more sample without length, of the time of
// Start. A device's buffer that keeps the oldest and is full gives no samples until it is configured again. Users measured this with
// CUPTI 13.3 on an H100.
#include "profiler_metrics.h"

#include <cupti_pmsampling.h>
#include <dlfcn.h>
#include <pthread.h>

#define BYTES_OF_SAMPLE 4096 // in the hardware's buffer
#define FOREIGN_NS UINT64_C(1000000000000000)

struct CUpti_PmSampling_Object {
  uint32_t device;
  bool is_started;
  size_t counter_least;
  struct config_image config; // a count of 0: not set
  uint64_t interval_ns, most, start_ns, next_ns, stop_ns;
  bool is_first;  // of the samples since Start
  bool has_ended; // and the last sample was decoded
  bool keeps_latest;
  bool is_full;                        // the device's buffer, until the next configuration
  bool is_behind;                      // the counters were full before all was decoded
  struct simulator_operation *kernels; // that ended and may be in samples to come
  size_t kernel_count, kernel_capacity;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_PmSampling_Object *objects[SIMULATOR_DEVICES];

void sampling_kernel_ended(const struct simulator_operation *operation)
{
  pthread_mutex_lock(&lock);
  CUpti_PmSampling_Object *object = objects[operation->device];
  if (object && (object->is_started || operation->start_ns < object->stop_ns)) {
    if (object->kernel_count == object->kernel_capacity) {
      object->kernel_capacity = 2 * object->kernel_capacity + 64;
      object->kernels = realloc(object->kernels, object->kernel_capacity * sizeof *object->kernels);
    }
    object->kernels[object->kernel_count++] = *operation;
  }
  pthread_mutex_unlock(&lock);
}

EXPORTED CUptiResult cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *given)
{
  PARAMETERS(given, CUpti_PmSampling_GetCounterAvailability_Params);
  if (given->deviceIndex >= SIMULATOR_DEVICES)
    return CUPTI_ERROR_INVALID_PARAMETER;
  return metrics_availability(&given->counterAvailabilityImageSize, given->pCounterAvailabilityImage);
}

EXPORTED CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *given)
{
  PARAMETERS(given, CUpti_PmSampling_Enable_Params);
  CUptiResult result = simulator_has_fault("enable-refused") ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : metrics_refusal();
  if (!metrics_are_initialized())
    return CUPTI_ERROR_NOT_INITIALIZED;
  if (given->deviceIndex >= SIMULATOR_DEVICES)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (result != CUPTI_SUCCESS)
    return result;
  pthread_mutex_lock(&lock);
  if (objects[given->deviceIndex]) {
    result = CUPTI_ERROR_INVALID_OPERATION;
  } else {
    given->pPmSamplingObject = objects[given->deviceIndex] = calloc(1, sizeof *given->pPmSamplingObject);
    given->pPmSamplingObject->device = (uint32_t)given->deviceIndex;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

#define OBJECT(given, type)                                                                                            \
  PARAMETERS(given, type);                                                                                             \
  CUpti_PmSampling_Object *object = (given)->pPmSamplingObject;                                                        \
  if (!object)                                                                                                         \
  return CUPTI_ERROR_INVALID_PARAMETER

EXPORTED CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *given)
{
  OBJECT(given, CUpti_PmSampling_Disable_Params);
  pthread_mutex_lock(&lock);
  objects[object->device] = NULL;
  pthread_mutex_unlock(&lock);
  free(object->kernels);
  free(object);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *given)
{
  PARAMETERS_SINCE(26, given, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
  CUpti_PmSampling_Object *object = given->pPmSamplingObject;
  bool is_short = given->structSize < CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE;
  const struct config_image *config = config_of(given->pConfig, given->configSize);
  if (!object || !config || config->profiler != CUPTI_PROFILER_TYPE_PM_SAMPLING || given->samplingInterval == 0 ||
      given->triggerMode != CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL ||
      given->hardwareBufferSize < BYTES_OF_SAMPLE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (config->passes != 1)
    return CUPTI_ERROR_NOT_SUPPORTED;
  if (object->is_started)
    return CUPTI_ERROR_INVALID_OPERATION;
  memcpy(&object->config, config, offsetof(struct config_image, metrics) + config->count);
  object->is_full = object->is_behind = false;
  bool is_small = simulator_has_fault("sampling-overflow") && object->interval_ns == 0; // once
  object->most = is_small ? 400 : given->hardwareBufferSize / BYTES_OF_SAMPLE;
  object->interval_ns = given->samplingInterval;
  object->keeps_latest =
      !is_short && given->hwBufferAppendMode == CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *given)
{
  OBJECT(given, CUpti_PmSampling_GetCounterDataSize_Params);
  if (!given->pMetricNames || given->numMetrics == 0 || given->maxSamples == 0)
    return CUPTI_ERROR_INVALID_PARAMETER;
  int chip = metrics_chip_index(metrics_chip());
  for (size_t i = 0; i < given->numMetrics; i++)
    if (metrics_find(chip, CUPTI_PROFILER_TYPE_PM_SAMPLING, given->pMetricNames[i]) < 0)
      return CUPTI_ERROR_INVALID_PARAMETER;
  given->counterDataSize = object->counter_least = counters_size(given->maxSamples);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult
cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params *given)
{
  OBJECT(given, CUpti_PmSampling_CounterDataImage_Initialize_Params);
  return counters_initialize(given->pCounterData, given->counterDataSize, object->counter_least);
}

EXPORTED CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *given)
{
  OBJECT(given, CUpti_PmSampling_Start_Params);
  if (object->is_started || object->config.count == 0)
    return CUPTI_ERROR_INVALID_OPERATION;
  if (simulator_has_fault("counters-busy"))
    return CUPTI_ERROR_HARDWARE_BUSY;
  pthread_mutex_lock(&lock);
  object->is_started = true;
  object->start_ns = object->next_ns = now_ns();
  object->is_first = true;
  object->has_ended = false;
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *given)
{
  OBJECT(given, CUpti_PmSampling_Stop_Params);
  if (!object->is_started)
    return CUPTI_ERROR_INVALID_OPERATION;
  pthread_mutex_lock(&lock);
  object->is_started = false;
  object->stop_ns = now_ns();
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

// ---- decoding
static struct counter_entry sample(CUpti_PmSampling_Object *object)
{
  uint64_t start = object->next_ns, end = start + object->interval_ns;
  struct counter_entry entry = {.start_ns = start, .end_ns = end};
  for (size_t i = 0; i < object->kernel_count; i++) {
    const struct simulator_operation *kernel = &object->kernels[i];
    uint64_t from = kernel->start_ns > start ? kernel->start_ns : start;
    uint64_t to = kernel->end_ns < end ? kernel->end_ns : end;
    if (from < to)
      metrics_add(&entry, object->config.metrics, object->config.count, kernel,
                  (double)(to - from) / (double)(kernel->end_ns - kernel->start_ns),
                  (double)(to - from) / (double)object->interval_ns);
  }
  for (size_t i = 0; object->is_first && simulator_has_fault("first-sample") && i < object->config.count; i++)
    entry.sums[i] += 1e9; // NVIDIA: "may occasionally contain outlier values"
  object->is_first = false;
  if (simulator_has_fault("sample-times")) {
    entry.start_ns -= FOREIGN_NS;
    entry.end_ns -= FOREIGN_NS;
  }
  if (object->is_behind)
    entry.start_ns = entry.end_ns = 0;
  count(COUNT_SAMPLES);
  return entry;
}

static void forget_kernels(CUpti_PmSampling_Object *object)
{
  size_t kept = 0;
  for (size_t i = 0; i < object->kernel_count; i++)
    if (object->kernels[i].end_ns > object->next_ns)
      object->kernels[kept++] = object->kernels[i];
  object->kernel_count = kept;
}

// Whether the hardware had no room for all samples. Then there are the latest, or none any more.
static bool lose(CUpti_PmSampling_Object *object, uint64_t until_ns)
{
  uint64_t due = until_ns > object->next_ns ? (until_ns - object->next_ns) / object->interval_ns : 0;
  if (!object->is_full && due <= object->most)
    return false;
  if (object->keeps_latest)
    object->next_ns += (due - object->most) * object->interval_ns;
  object->is_full = !object->keeps_latest;
  return true;
}

EXPORTED CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *given)
{
  OBJECT(given, CUpti_PmSampling_DecodeData_Params);
  if (object->config.count == 0)
    return CUPTI_ERROR_INVALID_OPERATION;
  struct counter_image *image = counters_of(given->pCounterDataImage, given->counterDataImageSize);
  if (!image)
    return CUPTI_ERROR_INVALID_PARAMETER;
  void *driver = activity_connect();
  uint64_t settled_ns = ((__typeof__(&simulator_settled_ns))dlsym(driver, "simulator_settled_ns"))(object->device);
  pthread_mutex_lock(&lock);
  uint64_t until_ns = object->is_started || settled_ns < object->stop_ns ? settled_ns : object->stop_ns;
  given->overflow = lose(object, until_ns);
  if (object->is_full) {
    pthread_mutex_unlock(&lock);
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  given->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  while (object->next_ns + object->interval_ns <= until_ns) {
    if (image->entries == image->entries_maximum) {
      given->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
      break;
    }
    struct counter_entry entry = sample(object);
    counters_append(image, &object->config, &entry);
    object->next_ns += object->interval_ns;
  }
  object->is_behind = given->decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  if (!object->is_started && !object->has_ended && !object->is_behind) {
    struct counter_entry last = {.start_ns = object->start_ns, .end_ns = object->start_ns};
    object->has_ended = counters_append(image, &object->config, &last);
  }
  forget_kernels(object);
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *given)
{
  PARAMETERS(given, CUpti_PmSampling_GetCounterDataInfo_Params);
  if (!given->pCounterDataImage)
    return CUPTI_ERROR_INVALID_PARAMETER;
  struct counter_image *image = counters_of(given->pCounterDataImage, given->counterDataImageSize);
  if (!image)
    return CUPTI_ERROR_UNKNOWN;
  given->numTotalSamples = image->entries_maximum;
  given->numPopulatedSamples = given->numCompletedSamples = image->entries;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params *given)
{
  OBJECT(given, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
  struct counter_image *image = counters_of(given->pCounterDataImage, given->counterDataImageSize);
  if (!image || given->sampleIndex >= image->entries)
    return CUPTI_ERROR_INVALID_PARAMETER;
  given->startTimestamp = image->entry[given->sampleIndex].start_ns;
  given->endTimestamp = image->entry[given->sampleIndex].end_ns;
  return CUPTI_SUCCESS;
}
