// SPDX-License-Identifier: Apache-2.0
// Each device has an object of CUPTI, made in the callback of its first context, and a ring of samples, read by the tracer's thread.
// The lock is for the making alone. Calls of CUPTI in the order of NVIDIA's samples.
#include "tracers/cuda/pm_sampling.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "tracers/cuda/metric_tags.h"
#include "tracers/cuda/pm_samples.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MOST 64u
#define BUFFER_BYTES (UINT64_C(512) << 20)   // of the hardware: NVIDIA's default. A sample takes some kilobytes
#define COUNTERS_BYTES (UINT64_C(128) << 20) // at most; fewer samples at a time where they take more
#define SAMPLES_OF_A_PERIOD 1024u
// CUPTI loses samples when its counters are full, so there is room for those of a thread that comes late.
#define SAMPLES_AT_A_TIME (4 * SAMPLES_OF_A_PERIOD)
#define SAMPLES_KEPT (UINT32_C(1) << 16)
#define CLOCKS_APART_NS UINT64_C(1000000000)

struct device {
  struct host_chip chip;
  uint8_t *availability;
  struct host_config config;
  struct cuda_metric_plan plan;
  void *sampling; // of CUPTI; NULL: it is not sampled
  uint8_t *counters;
  size_t counters_size;
  bool is_first;        // the next sample is the first since the start
  uint64_t begin, last; // CLOCK_REALTIME; `last`: the end of the latest sample
  struct pm_samples samples;
  double values[METRIC_NAMES_MOST];
};

static const struct cupti *cupti;
static struct pm_wish wish;
static bool is_in_doubt; // the tracer's thread's
static bool is_on;       // atomic; the two above are there
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *devices[DEVICES_MOST]; // atomic; complete when it is there
static uint8_t is_known[DEVICES_MOST];       // under the lock
struct pm_counts pm_counts;

bool pm_sampling_is_on(void)
{
  return __atomic_load_n(&is_on, __ATOMIC_ACQUIRE);
}

uint64_t pm_sampling_period_ns(const struct cuda_choice *choice)
{
  return choice->collect == CUDA_COLLECT_SAMPLING ? choice->interval_us * UINT64_C(1000) * SAMPLES_OF_A_PERIOD : 0;
}

// ---- a device's beginning
static bool failed(const char *call, uint32_t error)
{
  return host_profiler_failed(wish.say, call, error);
}

// Without it all counters of the chip are taken to be there.
static void ask_availability(struct device *device, uint32_t id)
{
  struct cupti_sampling_availability availability = {.size = sizeof availability, .device = id};
  if (wish.profiler->sampling_availability(&availability) != CUPTI_OK || availability.image_size == 0)
    return;
  availability.image = malloc(availability.image_size);
  if (availability.image == NULL || wish.profiler->sampling_availability(&availability) != CUPTI_OK)
    free(availability.image);
  else
    device->availability = availability.image;
}

static bool choose(struct device *device, uint32_t id)
{
  const char *chip = host_profiler_chip(wish.profiler, id, wish.say);
  if (chip == NULL)
    return false;
  ask_availability(device, id);
  device->chip = (struct host_chip){wish.profiler, CUPTI_PM_SAMPLES, chip, device->availability};
  return cuda_metrics_plan(&device->chip, wish.choice, 0, wish.say, &device->plan, &device->config);
}

static bool clear_counters(const struct device *device)
{
  struct cupti_sampling_counters clear = {.size = sizeof clear,
                                          .sampling = device->sampling,
                                          .counters_size = device->counters_size,
                                          .counters = device->counters};
  return !failed("cuptiPmSamplingCounterDataImageInitialize", wish.profiler->sampling_clear_counters(&clear));
}

static bool take_memory(struct device *device)
{
  for (uint32_t most = SAMPLES_AT_A_TIME; most > 0 && device->counters == NULL; most /= 2) {
    struct cupti_sampling_counters_size size = {.size = sizeof size,
                                                .sampling = device->sampling,
                                                .names = device->plan.names,
                                                .count = device->plan.name_count,
                                                .most_samples = most};
    if (failed("cuptiPmSamplingGetCounterDataSize", wish.profiler->sampling_counters_size(&size)))
      return false;
    device->counters_size = size.counters_size;
    if (size.counters_size <= COUNTERS_BYTES)
      device->counters = malloc(size.counters_size);
  }
  if (device->counters != NULL && pm_samples_open(&device->samples, device->plan.name_count, SAMPLES_KEPT))
    return clear_counters(device);
  wish.say("no metrics: there is no memory for their counters");
  return false;
}

static bool configure(const struct device *device)
{
  struct cupti_sampling_config config = {.size = CUPTI_SIZE_TO(cupti_sampling_config, trigger),
                                         .sampling = device->sampling,
                                         .config_size = device->config.image_size,
                                         .config = device->config.image,
                                         .buffer_size = BUFFER_BYTES,
                                         .interval = wish.choice->interval_us * UINT64_C(1000),
                                         .trigger = CUPTI_SAMPLES_BY_TIME};
  return !failed("cuptiPmSamplingSetConfig", wish.profiler->sampling_configure(&config));
}

static bool start(struct device *device)
{
  struct cupti_sampling_object object = {.size = sizeof object, .sampling = device->sampling};
  device->is_first = true;
  return !failed("cuptiPmSamplingStart", wish.profiler->sampling_start(&object));
}

static bool begin(struct device *device, uint32_t id)
{
  struct cupti_sampling_enable enable = {.size = sizeof enable, .device = id};
  if (!choose(device, id) || failed("cuptiPmSamplingEnable", wish.profiler->sampling_enable(&enable)))
    return false;
  device->sampling = enable.sampling;
  device->begin = clock_now_ns(CLOCK_REALTIME);
  return configure(device) && take_memory(device) && start(device);
}

static void finish(struct device *device)
{
  struct cupti_sampling_object object = {.size = sizeof object, .sampling = device->sampling};
  if (device->sampling != NULL)
    wish.profiler->sampling_disable(&object);
  device->sampling = NULL;
}

static void sample_device(uint32_t id)
{
  struct device *device = calloc(1, sizeof *device);
  if (device != NULL && begin(device, id)) {
    __atomic_store_n(&devices[id], device, __ATOMIC_RELEASE);
    return;
  }
  if (device == NULL)
    return;
  finish(device);
  host_config_done(&device->chip, &device->config);
  pm_samples_close(&device->samples);
  free(device->counters);
  free(device->availability);
  free(device);
}

void pm_sampling_start(const struct cupti *used, const struct pm_wish *wanted)
{
  wish = *wanted;
  cupti = used;
  __atomic_store_n(&is_on, true, __ATOMIC_RELEASE);
  cupti->enable_callback(1, cupti->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_BEGINS);
}

void pm_sampling_callback(uint32_t domain, uint32_t cbid, const void *details)
{
  const struct cupti_resource *resource = details;
  uint32_t id;
  if (!pm_sampling_is_on() || domain != CUPTI_DOMAIN_RESOURCE || cbid != CUPTI_CONTEXT_BEGINS ||
      cupti->get_device_id(resource->context, &id) != CUPTI_OK || id >= DEVICES_MOST)
    return;
  SCOPED_LOCK(&lock);
  if (!is_known[id])
    sample_device(id);
  is_known[id] = true;
}

// ---- samples
static void take(struct device *device, size_t place)
{
  struct cupti_sample sample = {.size = sizeof sample,
                                .sampling = device->sampling,
                                .counters = device->counters,
                                .counters_size = device->counters_size,
                                .place = place};
  struct cupti_host_evaluate evaluate = {.size = sizeof evaluate,
                                         .host = device->config.host,
                                         .counters = device->counters,
                                         .counters_size = device->counters_size,
                                         .range = place,
                                         .names = device->plan.names,
                                         .count = device->plan.name_count,
                                         .values = device->values};
  if (wish.profiler->sampling_sample(&sample) != CUPTI_OK)
    return;
  if (sample.start == sample.end) { // of no time: lost ones, and a last one after the sampling
    pm_counts.lost += sample.end == 0;
    return;
  }
  uint64_t latest = clock_now_ns(CLOCK_REALTIME) + CLOCKS_APART_NS;
  bool is_foreign = sample.start + CLOCKS_APART_NS < device->begin || sample.end > latest || sample.end < sample.start;
  if (is_foreign || sample.start < device->last) {
    pm_counts.foreign++;
    return;
  }
  device->last = sample.end;
  bool is_first = device->is_first; // it "may occasionally contain outlier values", by CUPTI's guide
  device->is_first = false;
  if (!is_first && wish.profiler->host_evaluate(&evaluate) == CUPTI_OK)
    pm_samples_add(&device->samples, sample.start, sample.end, device->values);
}

// The device's buffer was full: CUPTI gives no more samples until it is configured again.
static void start_again(struct device *device)
{
  struct cupti_sampling_object object = {.size = sizeof object, .sampling = device->sampling};
  pm_counts.overflows++;
  wish.profiler->sampling_stop(&object);
  if (!configure(device) || !clear_counters(device) || !start(device))
    finish(device);
}

// False: there is nothing more.
static bool decode_some(struct device *device, bool is_ending)
{
  struct cupti_sampling_decode decode = {.size = CUPTI_SIZE_TO(cupti_sampling_decode, overflow),
                                         .sampling = device->sampling,
                                         .counters = device->counters,
                                         .counters_size = device->counters_size};
  struct cupti_sampling_info info = {
      .size = sizeof info, .counters = device->counters, .counters_size = device->counters_size};
  uint32_t error = wish.profiler->sampling_decode(&decode);
  bool is_full = decode.overflow != 0 || error == CUPTI_NO_MEMORY;
  if (error == CUPTI_OK || is_full)
    error = wish.profiler->sampling_info(&info);
  for (size_t i = 0; error == CUPTI_OK && i < info.completed; i++)
    take(device, i);
  if (is_full && !is_ending)
    start_again(device);
  else if (info.populated > 0 && clear_counters(device)) // which takes milliseconds
    return decode.stop_reason == CUPTI_SAMPLES_COUNTERS_FULL && info.completed > 0;
  return false;
}

void pm_sampling_doubt(void)
{
  is_in_doubt = true;
}

void pm_sampling_decode(bool is_ending)
{
  is_in_doubt = false;
  for (uint32_t id = 0; id < DEVICES_MOST; id++) {
    struct device *device = __atomic_load_n(&devices[id], __ATOMIC_ACQUIRE);
    if (device == NULL || device->sampling == NULL)
      continue;
    struct cupti_sampling_object object = {.size = sizeof object, .sampling = device->sampling};
    if (is_ending)
      wish.profiler->sampling_stop(&object);
    while (decode_some(device, is_ending))
      continue;
    if (is_ending)
      finish(device);
  }
}

void pm_sampling_note(uint32_t id, uint64_t start, uint64_t end)
{
  struct device *device = id < DEVICES_MOST ? __atomic_load_n(&devices[id], __ATOMIC_ACQUIRE) : NULL;
  if (device == NULL)
    return;
  uint64_t late = device->samples.late;
  pm_samples_note(&device->samples, start, end);
  pm_counts.late += device->samples.late - late;
}

static double to_whole(double count) // without libm: cuda.so needs libc alone
{
  return count >= 0 && count < 0x1p52 ? (double)(uint64_t)(count + 0.5) : count;
}

// Counts are of the samples' time alone: they are taken to go on like this for all of the kernel's. Others are means.
static void scale(struct device *device, const struct pm_share *share, uint64_t duration)
{
  for (size_t i = 0; i < device->plan.name_count; i++) {
    size_t length = strlen(device->plan.names[i]);
    bool is_sum = length > 4 && strcmp(device->plan.names[i] + length - 4, ".sum") == 0;
    double sum = device->values[i];
    if (is_sum)
      device->values[i] = to_whole(sum * (double)duration / (double)share->covered_ns);
    else
      device->values[i] = sum / (double)share->count;
  }
}

void pm_sampling_tag(const struct xsp_span *kernel, uint32_t id, uint64_t start, uint64_t end)
{
  struct device *device = id < DEVICES_MOST ? __atomic_load_n(&devices[id], __ATOMIC_ACQUIRE) : NULL;
  pm_counts.kernels += device != NULL;
  pm_counts.doubted += device != NULL && is_in_doubt;
  struct pm_share share = {0};
  if (device != NULL && !is_in_doubt)
    share = pm_samples_of(&device->samples, start, end, device->values);
  if (share.count == 0)
    return;
  scale(device, &share, end - start);
  cuda_metric_tags(kernel, &device->plan, device->values);
  xsp_span_tag_int(kernel, "metric_samples", (int64_t)share.count);
  pm_counts.sampled++;
}
