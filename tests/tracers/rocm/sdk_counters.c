// SPDX-License-Identifier: Apache-2.0
// Counters of kernels in the simulated rocprofiler-sdk, in blocks of which each has room for two in a pass, and that of instructions,
// as gfx9's, for eight. GPU 0 has those of gfx90a, GPU 1 as gfx942 also F8 and XF32. What they count follows from the kernel's number of threads, so that tests know it.
#include "sdk.h"

#include <string.h>

#define CONFIGS_MOST 64
#define COUNTERS_OF_CONFIG 16

enum block { SQ, OTHER, BLOCKS };
static const unsigned room[BLOCKS] = {8, 2};
static const struct {
  const char *name;
  unsigned cost, instances;
  enum block block;
} counters[] = {{"SQ_WAVES", 1, 4, SQ},
                {"FETCH_SIZE", 1, 1, OTHER},
                {"WRITE_SIZE", 1, 1, OTHER},
                {"OccupancyPercent", 1, 1, OTHER},
                {"TOO_MUCH", 3, 1, OTHER},
                {"SQ_INSTS_VALU_ADD_F16", 1, 2, SQ},
                {"SQ_INSTS_VALU_MUL_F16", 1, 2, SQ},
                {"SQ_INSTS_VALU_TRANS_F16", 1, 2, SQ},
                {"SQ_INSTS_VALU_FMA_F16", 1, 2, SQ},
                {"SQ_INSTS_VALU_ADD_F32", 1, 2, SQ},
                {"SQ_INSTS_VALU_MUL_F32", 1, 2, SQ},
                {"SQ_INSTS_VALU_TRANS_F32", 1, 2, SQ},
                {"SQ_INSTS_VALU_FMA_F32", 1, 2, SQ},
                {"SQ_INSTS_VALU_ADD_F64", 1, 2, SQ},
                {"SQ_INSTS_VALU_MUL_F64", 1, 2, SQ},
                {"SQ_INSTS_VALU_TRANS_F64", 1, 2, SQ},
                {"SQ_INSTS_VALU_FMA_F64", 1, 2, SQ},
                {"SQ_INSTS_VALU_MFMA_MOPS_F16", 1, 2, SQ},
                {"SQ_INSTS_VALU_MFMA_MOPS_BF16", 1, 2, SQ},
                {"SQ_INSTS_VALU_MFMA_MOPS_F32", 1, 2, SQ},
                {"SQ_INSTS_VALU_MFMA_MOPS_F64", 1, 2, SQ},
                {"SQ_INSTS_VALU_MFMA_MOPS_F8", 1, 2, SQ},
                {"SQ_INSTS_VALU_MFMA_MOPS_XF32", 1, 2, SQ}};
#define FIRST_SQ 6 // its number; each further counts one more a wave
#define COUNTERS (sizeof counters / sizeof counters[0])
#define OF_GPU_1 2 // the last ones
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
  work->user_data = user_data;
}

// Of all instances together: 4 bytes read and 2 written by each thread, a wave for 64.
static double value_of(uint64_t counter, double threads)
{
  const double values[FIRST_SQ - 1] = {threads / 64, threads * 4 / 1024, threads * 2 / 1024, 37.5, 1};
  return counter < FIRST_SQ ? values[counter - 1] : threads / 64 * (double)(counter - FIRST_SQ + 1);
}

void sdk_end_dispatch(const struct simulated_work *work)
{
  const struct config *config = &configs[work->config];
  struct rocm_counter_value values[64];
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
    values_callback(dispatch_of(work), values, count, work->user_data, NULL);
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

static size_t counters_of(struct rocm_id agent)
{
  return agent.handle == CPU_AGENT + 1 ? COUNTERS - OF_GPU_1 : COUNTERS;
}

int rocprofiler_iterate_agent_supported_counters(struct rocm_id agent, rocm_counters_callback *callback, void *data)
{
  struct rocm_id ids[COUNTERS];
  for (size_t i = 0; i < COUNTERS; i++)
    ids[i].handle = i + 1;
  return callback(agent, ids, counters_of(agent), data);
}

int rocprofiler_query_counter_info(struct rocm_id counter, int version, void *ret_info)
{
  struct rocm_counter_info *info = ret_info;
  if (version != ROCM_COUNTER_INFO_VERSION || counter.handle == 0 || counter.handle > COUNTERS)
    return 1;
  *info = (struct rocm_counter_info){.id = counter, .name = counters[counter.handle - 1].name};
  return ROCM_OK;
}

static bool was_destroyed(const struct rocm_id *ids, size_t count)
{
  bool is_one = false;
  for (size_t place = 1; place < CONFIGS_MOST; place++) {
    bool is_same = !configs[place].is_used && configs[place].count == count && count > 0;
    for (size_t i = 0; i < count && is_same; i++)
      is_same = configs[place].counters[i] == ids[i].handle;
    is_one |= is_same;
  }
  return is_one;
}

int rocprofiler_create_counter_config(struct rocm_id agent, struct rocm_id *ids, size_t count, struct rocm_id *config)
{
  unsigned cost[BLOCKS] = {0};
  bool fits = count <= COUNTERS_OF_CONFIG;
  size_t place = 1;
  for (size_t i = 0; i < count; i++) {
    bool is_known = ids[i].handle > 0 && ids[i].handle <= counters_of(agent);
    enum block block = is_known ? counters[ids[i].handle - 1].block : OTHER;
    cost[block] += is_known ? counters[ids[i].handle - 1].cost : room[block] + 1;
    fits &= cost[block] <= room[block];
  }
  while (place < CONFIGS_MOST && configs[place].is_used)
    place++;
  if (agent.handle <= CPU_AGENT || agent.handle > CPU_AGENT + GPUS || config->handle != 0 || !fits ||
      place == CONFIGS_MOST || (fault("config-again") && was_destroyed(ids, count)))
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
