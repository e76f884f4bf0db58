// SPDX-License-Identifier: Apache-2.0
// Inside the simulated libcupti: metrics of the simulated chips, and the images that hold them. The device's chip is
// XSP_SIM_CHIP: GH100 (default) or GB202. Names and passes are the vendor's: test_cuda_simulator_metrics.py compares them.
//
// A kernel's values. threads: grid x·y·z × block x·y·z; weight: 1 + (sum of the bytes of the kernel's name + sum of the bytes of
// the metric's name) % 97.
//   gpu__time_duration.sum   nanoseconds that one pass took
//   other sums               threads × weight
//   percentages              weight
// counted_add, one addition of floats a thread, has its true counts: 1 addition, 8 bytes read and 4 written; other sums are 0.
// A range of several kernels has the sum of their sums and the mean of their percentages.
#ifndef XSP_TESTS_PROFILER_METRICS_H
#define XSP_TESTS_PROFILER_METRICS_H

#include "profiler.h"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#define METRICS_MAXIMUM 48
#define RANGE_NAME_MAXIMUM 64

struct config_image {
  uint32_t magic, profiler; // CUpti_ProfilerType
  uint32_t passes, count;
  uint8_t metrics[METRICS_MAXIMUM]; // the image ends after `count`
};
#define CONFIG_MAGIC 0x666e6f63u

struct counter_entry { // a range, or a sample
  char name[RANGE_NAME_MAXIMUM];
  uint64_t start_ns, end_ns; // of samples, in the device's time
  uint32_t kernels;
  double sums[METRICS_MAXIMUM]; // by index in `metrics` of the image
};
struct counter_image {
  uint32_t magic, count;             // of metrics
  uint64_t entries, entries_maximum; // that there are; that fit
  uint8_t metrics[METRICS_MAXIMUM];
  struct counter_entry entry[];
};
#define COUNTER_MAGIC 0x746e7563u

// The vendor's check of parameters: there, and of exactly this size.
#define PARAMETERS(given, type)                                                                                        \
  count(COUNT_ENTRIES);                                                                                                \
  if (!(given) || (given)->structSize != type##_STRUCT_SIZE)                                                           \
  return CUPTI_ERROR_INVALID_PARAMETER

// Parameters with a field that a version has added: it takes both sizes, earlier versions the shorter one. Measured with 13.1.
#define PARAMETERS_SINCE(since, given, type, field)                                                                    \
  count(COUNT_ENTRIES);                                                                                                \
  if (!(given) || ((given)->structSize != offsetof(type, field) &&                                                     \
                   ((given)->structSize != type##_STRUCT_SIZE || layouts_version() < (since))))                        \
  return CUPTI_ERROR_INVALID_PARAMETER

const char *metrics_chip(void);             // the device's
int metrics_chip_index(const char *chip);   // -1: there is none of this name
const char *const *metrics_chips(size_t *); // all
// -1: the chip's profiler of this type has no such metric.
int metrics_find(int chip, CUpti_ProfilerType type, const char *name);
uint32_t metrics_passes(int chip, const uint8_t *metrics, size_t count); // of one call of AddMetrics
void metrics_add(struct counter_entry *entry, const uint8_t *metrics, size_t count,
                 const struct simulator_operation *kernel, double of_kernel, double of_entry); // parts of their times
double metrics_of(const struct counter_entry *entry, size_t index, int metric);

const struct config_image *config_of(const uint8_t *image, size_t size); // NULL: it is none
struct counter_image *counters_of(const uint8_t *image, size_t size);    // NULL: it is not initialized
size_t counters_size(size_t entries);
CUptiResult counters_initialize(uint8_t *image, size_t size, size_t least);

bool counters_append(struct counter_image *image, const struct config_image *config, const struct counter_entry *entry);

bool metrics_are_initialized(void); // cuptiProfilerInitialize was called
// What the two calls for the availability of counters do: the image's size, then the image.
CUptiResult metrics_availability(size_t *ret_size, uint8_t *image);
// The error of a fault where counters are opened: too few privileges, a virtual GPU, a part of a GPU.
CUptiResult metrics_refusal(void);

#endif
