// SPDX-License-Identifier: Apache-2.0
// Counters of kernels in the simulated rocprofiler-sdk. A pass has room for two; each GPU has the same. What they count follows from
// the kernel's number of threads, so that tests know it.
#include "sdk.h"

#include <string.h>

#define ROOM 2 // of a pass
#define CONFIGS_MOST 64
#define COUNTERS_OF_CONFIG 8

static const struct {
  const char *name;
  unsigned cost, instances;
} counters[] = {
    {"SQ_WAVES", 1, 4}, {"FETCH_SIZE", 1, 1}, {"WRITE_SIZE", 1, 1}, {"OccupancyPercent", 1, 1}, {"TOO_MUCH", 3, 1}};
#define COUNTERS (sizeof counters / sizeof counters[0])
static struct config {
  bool is_used;
  size_t count;
  uint64_t counters[COUNTERS_OF_CONFIG];
} configs[CONFIGS_MOST];
static rocm_dispatch_callback *dispatch_callback;
static rocm_values_callback *values_callback;

static struct rocm_dispatch dispatch_of(const struct simulated_work *work)
{
  struct rocm_dispatch dispatch = {.size = sizeof dispatch,
                                   .correlation_id = work->correlation_id,
                                   .start = work->start_ns,
                                   .end = work->end_ns,
                                   .info = {.size = 80,
                                            .agent = {CPU_AGENT + 1 + work->gpu},
                                            .queue = {work->queue},
                                            .kernel_id = work->kernel_id,
                                            .private_bytes = 16,
                                            .group_bytes = work->shared_bytes}};
  for (int i = 0; i < 3; i++) {
    dispatch.info.workgroup[i] = work->block[i];
    dispatch.info.grid[i] = work->grid[i] * work->block[i];
  }
  return dispatch;
}

void sdk_begin_dispatch(struct simulated_work *work)
{
  struct rocm_id config = {0};
  uint64_t user_data = 0;
  if (dispatch_callback)
    dispatch_callback(dispatch_of(work), &config, &user_data, NULL);
  work->config = config.handle;
}

// Of all instances together: 4 bytes read and 2 written by each thread, a wave for 64.
static double value_of(uint64_t counter, double threads)
{
  const double values[COUNTERS] = {threads / 64, threads * 4 / 1024, threads * 2 / 1024, 37.5, 1};
  return values[counter - 1];
}

void sdk_end_dispatch(const struct simulated_work *work)
{
  const struct config *config = &configs[work->config];
  struct rocm_counter_value values[32];
  size_t count = 0;
  double threads = 1;
  for (int i = 0; i < 3; i++)
    threads *= work->grid[i] * work->block[i];
  for (size_t i = 0; work->config != 0 && i < config->count; i++)
    for (unsigned instance = 0; instance < counters[config->counters[i] - 1].instances; instance++)
      values[count++] = (struct rocm_counter_value){.id = config->counters[i] << 8 | instance,
                                                    .value = value_of(config->counters[i], threads) /
                                                             counters[config->counters[i] - 1].instances};
  if (work->config != 0 && values_callback)
    values_callback(dispatch_of(work), values, count, 0, NULL);
}

// ---- what tools call
int rocprofiler_configure_callback_dispatch_counting_service(struct rocm_id context,
                                                             rocm_dispatch_callback *on_dispatch, void *data,
                                                             rocm_values_callback *on_values, void *values_data)
{
  if (context.handle != 1 || data || values_data || fault("no-counting"))
    return 38; // permission denied, of 1.0
  dispatch_callback = on_dispatch;
  values_callback = on_values;
  return ROCM_OK;
}

int rocprofiler_iterate_agent_supported_counters(struct rocm_id agent, rocm_counters_callback *callback, void *data)
{
  struct rocm_id ids[COUNTERS];
  for (size_t i = 0; i < COUNTERS; i++)
    ids[i].handle = i + 1;
  return callback(agent, ids, COUNTERS, data);
}

int rocprofiler_query_counter_info(struct rocm_id counter, int version, void *ret_info)
{
  struct rocm_counter_info *info = ret_info;
  if (version != ROCM_COUNTER_INFO_VERSION || counter.handle == 0 || counter.handle > COUNTERS)
    return 1;
  *info = (struct rocm_counter_info){.id = counter, .name = counters[counter.handle - 1].name};
  return ROCM_OK;
}

int rocprofiler_create_counter_config(struct rocm_id agent, struct rocm_id *ids, size_t count, struct rocm_id *config)
{
  unsigned cost = 0;
  size_t place = 1;
  for (size_t i = 0; i < count; i++)
    cost += ids[i].handle == 0 || ids[i].handle > COUNTERS ? ROOM + 1 : counters[ids[i].handle - 1].cost;
  while (place < CONFIGS_MOST && configs[place].is_used)
    place++;
  if (agent.handle <= CPU_AGENT || agent.handle > CPU_AGENT + GPUS || config->handle != 0 || cost > ROOM ||
      place == CONFIGS_MOST)
    return 37; // more than the hardware has, of 1.0
  configs[place] = (struct config){.is_used = true, .count = count};
  for (size_t i = 0; i < count; i++)
    configs[place].counters[i] = ids[i].handle;
  config->handle = place;
  return ROCM_OK;
}

int rocprofiler_destroy_counter_config(struct rocm_id config)
{
  configs[config.handle].is_used = false;
  return ROCM_OK;
}

int rocprofiler_query_record_counter_id(uint64_t id, struct rocm_id *ret_counter)
{
  ret_counter->handle = id >> 8;
  return ROCM_OK;
}
