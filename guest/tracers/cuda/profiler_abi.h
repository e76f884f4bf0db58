// SPDX-License-Identifier: Apache-2.0
// CUPTI's interface for hardware metrics, since 12.6: its host half (names, configurations, values; needs no driver), its
// range profiler and PM sampling. Parameters begin with their size and a private pointer, which stays NULL. Each is declared up to the last
// field of 12.6: later versions append. abi_test.c compares it with the vendor's headers.
#ifndef XSP_TRACERS_CUDA_PROFILER_ABI_H
#define XSP_TRACERS_CUDA_PROFILER_ABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_profiler_error {
  CUPTI_INSUFFICIENT_PRIVILEGES = 35,
  CUPTI_HARDWARE_BUSY = 26,
  CUPTI_VIRTUAL_NOT_SUPPORTED = 33,
  CUPTI_VIRTUAL_PRIVILEGES = 40,
  CUPTI_CONFIDENTIAL = 41,
  CUPTI_MIG_NOT_SUPPORTED = 43,
};
enum cupti_profiler_type { CUPTI_RANGES = 0, CUPTI_PM_SAMPLES = 1 };
#define CUPTI_AUTO_RANGE 1u    // each kernel is a range
#define CUPTI_KERNEL_REPLAY 2u // each kernel runs once for each pass

#define CUPTI_HEAD                                                                                                     \
  size_t size;                                                                                                         \
  void *reserved

// ---- host half
struct cupti_host_initialize {
  CUPTI_HEAD;
  uint32_t type;               // enum cupti_profiler_type
  const char *chip;            // "GH100"
  const uint8_t *availability; // NULL: all counters of the chip
  void *host;                  // out
};
struct cupti_host_object {
  CUPTI_HEAD;
  void *host;
};
struct cupti_host_chips {
  CUPTI_HEAD;
  size_t count;
  const char *const *names;
};
struct cupti_host_metrics {
  CUPTI_HEAD;
  void *host;
  const char **names;
  size_t count;
};
struct cupti_host_image_size {
  CUPTI_HEAD;
  void *host;
  size_t image_size; // out
};
struct cupti_host_image {
  CUPTI_HEAD;
  void *host;
  size_t image_size;
  uint8_t *image;
};
struct cupti_host_passes {
  CUPTI_HEAD;
  size_t image_size;
  uint8_t *image;
  size_t passes; // out
};
struct cupti_host_evaluate {
  CUPTI_HEAD;
  void *host;
  const uint8_t *counters;
  size_t counters_size, range;
  const char **names;
  size_t count;
  double *values; // out, in the order of names
};

// ---- device half
struct cupti_profiler_initialize {
  CUPTI_HEAD;
};
struct cupti_chip_name {
  CUPTI_HEAD;
  size_t device;
  const char *name; // out
};
struct cupti_availability {
  CUPTI_HEAD;
  void *context;
  size_t image_size; // in, out
  uint8_t *image;    // NULL: asks for the size
};
struct cupti_range_enable {
  CUPTI_HEAD;
  void *context;
  void *ranges; // out
};
struct cupti_range_object {
  CUPTI_HEAD;
  void *ranges;
};
struct cupti_range_config {
  CUPTI_HEAD;
  void *ranges;
  size_t config_size;
  const uint8_t *config;
  size_t counters_size;
  uint8_t *counters;
  uint32_t range, replay;
  size_t most_ranges;
  uint16_t nesting_levels, least_nesting_level;
  size_t pass;
  uint16_t target_nesting_level; // the last; padding follows
};
struct cupti_range_stop {
  CUPTI_HEAD;
  void *ranges;
  size_t pass, target_nesting_level;
  uint8_t is_complete; // the last; padding follows
};
struct cupti_range_decode {
  CUPTI_HEAD;
  void *ranges;
  size_t dropped; // out
};
struct cupti_range_counters_size {
  CUPTI_HEAD;
  void *ranges;
  const char **names;
  size_t count, most_ranges;
  uint32_t most_nodes;
  size_t counters_size; // out
};
struct cupti_range_counters {
  CUPTI_HEAD;
  void *ranges;
  size_t counters_size;
  uint8_t *counters;
};
struct cupti_range_info {
  CUPTI_HEAD;
  const uint8_t *counters;
  size_t counters_size;
  size_t ranges; // out
};

// ---- PM sampling, of a device
#define CUPTI_SAMPLES_BY_TIME 1u       // the interval is in nanoseconds; not on Turing and GA100
#define CUPTI_SAMPLES_COUNTERS_FULL 1u // why decoding stopped: there may be more
struct cupti_sampling_availability {
  CUPTI_HEAD;
  size_t device, image_size; // the size in, out
  uint8_t *image;            // NULL: asks for the size
};
struct cupti_sampling_enable {
  CUPTI_HEAD;
  size_t device;
  void *sampling; // out
};
struct cupti_sampling_object {
  CUPTI_HEAD;
  void *sampling;
};
struct cupti_sampling_config {
  CUPTI_HEAD;
  void *sampling;
  size_t config_size;
  const uint8_t *config;
  size_t buffer_size; // of the hardware's buffer, in bytes
  uint64_t interval;
  uint32_t trigger; // the last of 12.6; later ones say what a full buffer keeps: the oldest, where it is not given
};
struct cupti_sampling_counters_size {
  CUPTI_HEAD;
  void *sampling;
  const char **names;
  size_t count;
  uint32_t most_samples;
  size_t counters_size; // out
};
struct cupti_sampling_counters {
  CUPTI_HEAD;
  void *sampling;
  size_t counters_size;
  uint8_t *counters;
};
struct cupti_sampling_decode {
  CUPTI_HEAD;
  void *sampling;
  uint8_t *counters;
  size_t counters_size;
  uint32_t stop_reason; // out
  uint8_t overflow;     // out: samples were lost; the last, padding follows
};
struct cupti_sampling_info {
  CUPTI_HEAD;
  const uint8_t *counters;
  size_t counters_size;
  size_t total, populated, completed; // out: samples
};
struct cupti_sample {
  CUPTI_HEAD;
  void *sampling;
  const uint8_t *counters;
  size_t counters_size, place;
  uint64_t start, end; // out: CLOCK_REALTIME, converted as the times of records are
};

#define CUPTI_SIZE_TO(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

// X(field, exported name, parameters)
#define CUPTI_HOST_FUNCTIONS(X)                                                                                        \
  X(host_initialize, cuptiProfilerHostInitialize, (struct cupti_host_initialize *))                                    \
  X(host_deinitialize, cuptiProfilerHostDeinitialize, (struct cupti_host_object *))                                    \
  X(host_chips, cuptiProfilerHostGetSupportedChips, (struct cupti_host_chips *))                                       \
  X(host_add_metrics, cuptiProfilerHostConfigAddMetrics, (struct cupti_host_metrics *))                                \
  X(host_image_size, cuptiProfilerHostGetConfigImageSize, (struct cupti_host_image_size *))                            \
  X(host_image, cuptiProfilerHostGetConfigImage, (struct cupti_host_image *))                                          \
  X(host_passes, cuptiProfilerHostGetNumOfPasses, (struct cupti_host_passes *))                                        \
  X(host_evaluate, cuptiProfilerHostEvaluateToGpuValues, (struct cupti_host_evaluate *))                               \
  X(initialize, cuptiProfilerInitialize, (struct cupti_profiler_initialize *))                                         \
  X(chip_name, cuptiDeviceGetChipName, (struct cupti_chip_name *))                                                     \
  X(availability, cuptiProfilerGetCounterAvailability, (struct cupti_availability *))
#define CUPTI_RANGE_FUNCTIONS(X)                                                                                       \
  X(range_enable, cuptiRangeProfilerEnable, (struct cupti_range_enable *))                                             \
  X(range_disable, cuptiRangeProfilerDisable, (struct cupti_range_object *))                                           \
  X(range_counters_size, cuptiRangeProfilerGetCounterDataSize, (struct cupti_range_counters_size *))                   \
  X(range_clear_counters, cuptiRangeProfilerCounterDataImageInitialize, (struct cupti_range_counters *))               \
  X(range_configure, cuptiRangeProfilerSetConfig, (struct cupti_range_config *))                                       \
  X(range_start, cuptiRangeProfilerStart, (struct cupti_range_object *))                                               \
  X(range_stop, cuptiRangeProfilerStop, (struct cupti_range_stop *))                                                   \
  X(range_decode, cuptiRangeProfilerDecodeData, (struct cupti_range_decode *))                                         \
  X(range_info, cuptiRangeProfilerGetCounterDataInfo, (struct cupti_range_info *))
#define CUPTI_SAMPLING_FUNCTIONS(X)                                                                                    \
  X(sampling_availability, cuptiPmSamplingGetCounterAvailability, (struct cupti_sampling_availability *))              \
  X(sampling_enable, cuptiPmSamplingEnable, (struct cupti_sampling_enable *))                                          \
  X(sampling_disable, cuptiPmSamplingDisable, (struct cupti_sampling_object *))                                        \
  X(sampling_configure, cuptiPmSamplingSetConfig, (struct cupti_sampling_config *))                                    \
  X(sampling_counters_size, cuptiPmSamplingGetCounterDataSize, (struct cupti_sampling_counters_size *))                \
  X(sampling_clear_counters, cuptiPmSamplingCounterDataImageInitialize, (struct cupti_sampling_counters *))            \
  X(sampling_start, cuptiPmSamplingStart, (struct cupti_sampling_object *))                                            \
  X(sampling_stop, cuptiPmSamplingStop, (struct cupti_sampling_object *))                                              \
  X(sampling_decode, cuptiPmSamplingDecodeData, (struct cupti_sampling_decode *))                                      \
  X(sampling_info, cuptiPmSamplingGetCounterDataInfo, (struct cupti_sampling_info *))                                  \
  X(sampling_sample, cuptiPmSamplingCounterDataGetSampleInfo, (struct cupti_sample *))

struct cupti_profiler {
#define CUPTI_FIELD(field, name, parameters) uint32_t(*field) parameters;
  CUPTI_HOST_FUNCTIONS(CUPTI_FIELD)
  CUPTI_RANGE_FUNCTIONS(CUPTI_FIELD)
  CUPTI_SAMPLING_FUNCTIONS(CUPTI_FIELD)
#undef CUPTI_FIELD
};

#endif
