// SPDX-License-Identifier: Apache-2.0
// Auto ranges with kernel replay: CUPTI runs each kernel once for each pass and restores its memory between them. Called by
// launches.c under its lock. All memory is taken when the context is opened.
#include "tracers/cuda/ranges.h"

#include <stdlib.h>

#define COUNTERS_MOST (UINT64_C(64) << 20) // bytes; fewer ranges where they take more

struct ranges {
  struct ranges_wish wish;
  struct host_chip chip;
  uint8_t *availability;
  struct host_config config;
  void *object; // of CUPTI; NULL: not enabled
  uint8_t *counters;
  size_t counters_size, most;
  struct cuda_metric_plan plan;
  double values[METRIC_NAMES_MOST];
};

static bool failed(const struct ranges *ranges, const char *call, uint32_t error)
{
  return host_profiler_failed(ranges->wish.say, call, error);
}

// Without it all counters of the chip are taken to be there.
static void ask_availability(struct ranges *ranges, void *context)
{
  struct cupti_availability availability = {.size = sizeof availability, .context = context};
  if (ranges->wish.profiler->availability(&availability) != CUPTI_OK || availability.image_size == 0)
    return;
  availability.image = malloc(availability.image_size);
  if (availability.image == NULL || ranges->wish.profiler->availability(&availability) != CUPTI_OK)
    free(availability.image);
  else
    ranges->availability = availability.image;
}

static bool choose(struct ranges *ranges, void *context, uint32_t device)
{
  const struct cupti_profiler *profiler = ranges->wish.profiler;
  const char *chip = host_profiler_chip(profiler, device, ranges->wish.say);
  if (chip == NULL)
    return false;
  ask_availability(ranges, context);
  ranges->chip = (struct host_chip){profiler, CUPTI_RANGES, chip, ranges->availability};
  return cuda_metrics_plan(&ranges->chip, ranges->wish.choice, ranges->wish.execution, ranges->wish.say, &ranges->plan,
                           &ranges->config);
}

static bool take_memory(struct ranges *ranges)
{
  for (ranges->most = RANGES_MOST; ranges->most > 0; ranges->most /= 2) {
    struct cupti_range_counters_size size = {.size = sizeof size,
                                             .ranges = ranges->object,
                                             .names = ranges->plan.names,
                                             .count = ranges->plan.name_count,
                                             .most_ranges = ranges->most,
                                             .most_nodes = (uint32_t)ranges->most};
    if (failed(ranges, "cuptiRangeProfilerGetCounterDataSize", ranges->wish.profiler->range_counters_size(&size)))
      return false;
    ranges->counters_size = size.counters_size;
    if (size.counters_size > COUNTERS_MOST)
      continue;
    ranges->counters = malloc(size.counters_size);
    if (ranges->counters != NULL)
      return true;
  }
  ranges->wish.say("no metrics: there is no memory for their counters");
  return false;
}

struct ranges *cuda_ranges_open(const struct ranges_wish *wish, void *context, uint32_t device)
{
  struct ranges *ranges = calloc(1, sizeof *ranges);
  if (ranges == NULL)
    return NULL;
  ranges->wish = *wish;
  struct cupti_range_enable enable = {.size = sizeof enable, .context = context};
  bool is_open = choose(ranges, context, device) &&
                 !failed(ranges, "cuptiRangeProfilerEnable", wish->profiler->range_enable(&enable));
  ranges->object = is_open ? enable.ranges : NULL;
  if (is_open && take_memory(ranges))
    return ranges;
  cuda_ranges_close(ranges);
  return NULL;
}

void cuda_ranges_close(struct ranges *ranges)
{
  if (ranges == NULL)
    return;
  struct cupti_range_object object = {.size = sizeof object, .ranges = ranges->object};
  if (ranges->object != NULL)
    ranges->wish.profiler->range_disable(&object);
  host_config_done(&ranges->chip, &ranges->config);
  free(ranges->counters);
  free(ranges->availability);
  free(ranges);
}

size_t cuda_ranges_most(const struct ranges *ranges)
{
  return ranges->most;
}

const struct cuda_metric_plan *cuda_ranges_plan(const struct ranges *ranges)
{
  return &ranges->plan;
}

bool cuda_ranges_start(struct ranges *ranges)
{
  const struct cupti_profiler *profiler = ranges->wish.profiler;
  struct cupti_range_counters clear = {.size = sizeof clear,
                                       .ranges = ranges->object,
                                       .counters_size = ranges->counters_size,
                                       .counters = ranges->counters};
  struct cupti_range_config config = {.size = CUPTI_SIZE_TO(cupti_range_config, target_nesting_level),
                                      .ranges = ranges->object,
                                      .config_size = ranges->config.image_size,
                                      .config = ranges->config.image,
                                      .counters_size = ranges->counters_size,
                                      .counters = ranges->counters,
                                      .range = CUPTI_AUTO_RANGE,
                                      .replay = CUPTI_KERNEL_REPLAY,
                                      .most_ranges = ranges->most,
                                      .nesting_levels = 1,
                                      .least_nesting_level = 1};
  struct cupti_range_object object = {.size = sizeof object, .ranges = ranges->object};
  return !failed(ranges, "cuptiRangeProfilerCounterDataImageInitialize", profiler->range_clear_counters(&clear)) &&
         !failed(ranges, "cuptiRangeProfilerSetConfig", profiler->range_configure(&config)) &&
         !failed(ranges, "cuptiRangeProfilerStart", profiler->range_start(&object));
}

bool cuda_ranges_stop(struct ranges *ranges, size_t expected)
{
  const struct cupti_profiler *profiler = ranges->wish.profiler;
  struct cupti_range_stop stop = {.size = CUPTI_SIZE_TO(cupti_range_stop, is_complete), .ranges = ranges->object};
  struct cupti_range_decode decode = {.size = sizeof decode, .ranges = ranges->object};
  struct cupti_range_info info = {
      .size = sizeof info, .counters = ranges->counters, .counters_size = ranges->counters_size};
  return profiler->range_stop(&stop) == CUPTI_OK && profiler->range_decode(&decode) == CUPTI_OK &&
         decode.dropped == 0 && profiler->range_info(&info) == CUPTI_OK && info.ranges == expected;
}

const double *cuda_ranges_values(struct ranges *ranges, size_t range)
{
  struct cupti_host_evaluate evaluate = {.size = sizeof evaluate,
                                         .host = ranges->config.host,
                                         .counters = ranges->counters,
                                         .counters_size = ranges->counters_size,
                                         .range = range,
                                         .names = ranges->plan.names,
                                         .count = ranges->plan.name_count,
                                         .values = ranges->values};
  return ranges->wish.profiler->host_evaluate(&evaluate) == CUPTI_OK ? ranges->values : NULL;
}
