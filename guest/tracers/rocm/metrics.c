// SPDX-License-Identifier: Apache-2.0
// Which counters are read is decided at the first kernel of each GPU, on the thread that launches it: rocprofiler-sdk refuses
// configurations that need more than one pass. Runs with metrics have no times in any statistic, so threads may wait here.
#include "tracers/rocm/metrics.h"

#include "base/scoped.h"
#include "tracers/rocm/agents.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Flops as AMD's own metrics have them (FLOPs in rocprof-compute): an instruction of a wave is one of 64 threads, operations of
// matrix instructions are counted in units of 512. A precision has four counters, matrix instructions four to six, a pass of
// gfx9 has room for eight: the order puts single and half precision into the first. FETCH_SIZE and
// WRITE_SIZE are in units of 1024 bytes.
static const struct rocm_metric of_xsp[] = {
    {"flops_single",
     true,
     {{"SQ_INSTS_VALU_ADD_F32", 64, {0}},
      {"SQ_INSTS_VALU_MUL_F32", 64, {0}},
      {"SQ_INSTS_VALU_TRANS_F32", 64, {0}},
      {"SQ_INSTS_VALU_FMA_F32", 128, {0}}}},
    {"flops_half",
     true,
     {{"SQ_INSTS_VALU_ADD_F16", 64, {0}},
      {"SQ_INSTS_VALU_MUL_F16", 64, {0}},
      {"SQ_INSTS_VALU_TRANS_F16", 64, {0}},
      {"SQ_INSTS_VALU_FMA_F16", 128, {0}}}},
    {"flops_tensor",
     false,
     {{"SQ_INSTS_VALU_MFMA_MOPS_F16", 512, {0}},
      {"SQ_INSTS_VALU_MFMA_MOPS_BF16", 512, {0}},
      {"SQ_INSTS_VALU_MFMA_MOPS_F32", 512, {0}},
      {"SQ_INSTS_VALU_MFMA_MOPS_F64", 512, {0}},
      {"SQ_INSTS_VALU_MFMA_MOPS_F8", 512, {0}},
      {"SQ_INSTS_VALU_MFMA_MOPS_XF32", 512, {0}}}},
    {"flops_double",
     true,
     {{"SQ_INSTS_VALU_ADD_F64", 64, {0}},
      {"SQ_INSTS_VALU_MUL_F64", 64, {0}},
      {"SQ_INSTS_VALU_TRANS_F64", 64, {0}},
      {"SQ_INSTS_VALU_FMA_F64", 128, {0}}}},
    {"dram_read_bytes", true, {{"FETCH_SIZE", 1024, {0}}}},
    {"dram_write_bytes", true, {{"WRITE_SIZE", 1024, {0}}}},
    {"achieved_occupancy_pct", true, {{"OccupancyPercent", 1, {0}}}},
};
#define OF_XSP (sizeof of_xsp / sizeof of_xsp[0])

static struct gpu {
  bool is_planned;  // under the lock
  uint32_t said;    // groups, by bits; under the lock
  bool has_metrics; // atomic; what follows is constant once it is set
  size_t groups;
  struct rocm_id configs[METRICS_MOST]; // of groups
  struct rocm_metric_plan plan;
} gpus[AGENTS_GPUS_MOST];
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;
static struct rocm rocm;
static struct metrics_wish wish;

// ---- the plan of a GPU
static void add(struct rocm_metric_plan *plan, struct rocm_metric metric)
{
  if (plan->count < METRICS_MOST)
    plan->metrics[plan->count++] = metric;
}

static void add_wished(struct rocm_metric_plan *plan)
{
  char *text = strdup(wish.names == NULL ? "xsp" : wish.names), *rest = text; // names stay in the plan
  for (char *name; (name = strsep(&rest, "+")) != NULL;)
    if (strcmp(name, "xsp") != 0)
      add(plan, (struct rocm_metric){name, true, {{name, 1, {0}}}});
    else
      for (size_t i = 0; i < OF_XSP; i++)
        add(plan, of_xsp[i]);
}

static bool is_term(const struct rocm_metric *metric, const struct rocm_metric_term *term)
{
  return term < metric->terms + METRIC_TERMS_MOST && term->counter != NULL;
}

static bool is_there(const struct rocm_metric *metric)
{
  size_t count = 0, found = 0;
  for (const struct rocm_metric_term *term = metric->terms; is_term(metric, term); term++, count++)
    found += term->id.handle != 0;
  return found == count || (found > 0 && !metric->needs_all);
}

static int note_counters(struct rocm_id agent, struct rocm_id *counters, size_t count, void *data)
{
  struct rocm_metric_plan *plan = data;
  for (size_t i = 0; i < count; i++) {
    struct rocm_counter_info info = {0};
    if (rocm.counter_info(counters[i], ROCM_COUNTER_INFO_VERSION, &info) != ROCM_OK || info.name == NULL)
      continue;
    for (size_t m = 0; m < plan->count; m++)
      for (struct rocm_metric_term *term = plan->metrics[m].terms; is_term(&plan->metrics[m], term); term++)
        if (strcmp(info.name, term->counter) == 0)
          term->id = counters[i];
  }
  return ROCM_OK;
}

// True: the group takes one pass; the configuration is the caller's.
static bool configure(struct rocm_id agent, const struct rocm_metric_plan *plan, size_t group,
                      struct rocm_id *ret_config)
{
  struct rocm_id counters[METRICS_MOST * METRIC_TERMS_MOST];
  size_t count = 0;
  for (size_t i = 0; i < plan->count; i++)
    for (const struct rocm_metric_term *term = plan->metrics[i].terms;
         plan->group_of[i] == group && is_term(&plan->metrics[i], term); term++)
      if (term->id.handle != 0)
        counters[count++] = term->id;
  *ret_config = (struct rocm_id){0};
  return rocm.make_config(agent, counters, count, ret_config) == ROCM_OK;
}

static void say_left_out(int32_t gpu, const struct rocm_metric *metric)
{
  char line[256];
  snprintf(line, sizeof line, "GPU %d has no metric %.100s: %s", gpu, metric->tag,
           is_there(metric) ? "the counter needs several passes" : "it does not have the counter");
  wish.say(line);
}

// Into groups of one pass each, in their order, with a configuration for each: that of the counters which it had before goes once
// there is one with a further metric's, so that none is asked for twice.
static void divide(int32_t number, struct rocm_id agent, struct gpu *gpu)
{
  struct rocm_metric_plan *plan = &gpu->plan;
  for (bool is_any = true; is_any; gpu->groups += is_any) {
    is_any = false;
    for (size_t i = 0; i < plan->count; i++) {
      struct rocm_id config;
      if (plan->group_of[i] != 0 || !is_there(&plan->metrics[i]))
        continue;
      plan->group_of[i] = (uint8_t)(gpu->groups + 1);
      if (configure(agent, plan, gpu->groups + 1, &config)) {
        if (is_any)
          rocm.drop_config(gpu->configs[gpu->groups]);
        gpu->configs[gpu->groups] = config;
        is_any = true;
      } else {
        plan->group_of[i] = 0;
      }
    }
  }
  for (size_t i = 0; i < plan->count; i++)
    if (plan->group_of[i] == 0)
      say_left_out(number, &plan->metrics[i]);
}

// Of flops; 0: one group has all.
static uint32_t precisions_of(const struct rocm_metric_plan *plan)
{
  uint32_t count = 0;
  uint8_t group = 0;
  bool is_one = true;
  for (size_t i = 0; i < plan->count; i++)
    if (strncmp(plan->metrics[i].tag, "flops_", 6) == 0 && is_there(&plan->metrics[i])) {
      is_one &= count++ == 0 || group == plan->group_of[i];
      group = plan->group_of[i];
    }
  return is_one ? 0 : count;
}

static void say_group(int32_t number, struct gpu *gpu, size_t group)
{
  char line[512];
  size_t length = (size_t)snprintf(line, sizeof line, "GPU %d: metrics of each kernel:", number);
  for (size_t i = 0; i < gpu->plan.count && length < sizeof line; i++)
    if (gpu->plan.group_of[i] == group)
      length += (size_t)snprintf(line + length, sizeof line - length, " %s", gpu->plan.metrics[i].tag);
  if (gpu->groups > 1 && length < sizeof line)
    snprintf(line + length, sizeof line - length, "; %zu executions complete them, this is number %zu", gpu->groups,
             group);
  gpu->said |= UINT32_C(1) << (group - 1);
  wish.say(line);
}

static void make_plan(int32_t number, struct rocm_id agent, struct gpu *gpu)
{
  gpu->is_planned = true;
  add_wished(&gpu->plan);
  rocm.each_counter(agent, note_counters, &gpu->plan);
  divide(number, agent, gpu);
  gpu->plan.precisions = precisions_of(&gpu->plan);
  __atomic_store_n(&gpu->has_metrics, gpu->groups > 0, __ATOMIC_RELEASE);
}

static struct gpu *gpu_of(struct rocm_id agent)
{
  int32_t number = rocm_agent_gpu(agent);
  return number < 0 ? NULL : &gpus[number];
}

// ---- what rocprofiler-sdk calls
static void begin_dispatch(struct rocm_dispatch dispatch, struct rocm_id *ret_config, uint64_t *ret_user_data,
                           void *data)
{
  struct gpu *gpu = gpu_of(dispatch.info.agent);
  if (gpu == NULL)
    return;
  int32_t number = rocm_agent_gpu(dispatch.info.agent);
  SCOPED_LOCK(&planning);
  if (!gpu->is_planned)
    make_plan(number, dispatch.info.agent, gpu);
  if (!rocm_metrics_are_of(dispatch.info.agent))
    return;
  size_t group = __atomic_load_n(&wish.execution, __ATOMIC_RELAXED) % gpu->groups + 1;
  if ((gpu->said & UINT32_C(1) << (group - 1)) == 0)
    say_group(number, gpu, group);
  *ret_config = gpu->configs[group - 1];
  *ret_user_data = group;
}

// A counter has a value for each of its instances.
static void end_dispatch(struct rocm_dispatch dispatch, struct rocm_counter_value *values, size_t count,
                         uint64_t user_data, void *data)
{
  const struct gpu *gpu = gpu_of(dispatch.info.agent);
  double sums[METRICS_MOST] = {0};
  if (gpu == NULL || !rocm_metrics_are_of(dispatch.info.agent))
    return;
  for (size_t i = 0; i < count; i++) {
    struct rocm_id counter = {0};
    if (rocm.counter_of(values[i].id, &counter) != ROCM_OK)
      continue;
    for (size_t m = 0; m < gpu->plan.count; m++)
      for (const struct rocm_metric_term *term = gpu->plan.metrics[m].terms; is_term(&gpu->plan.metrics[m], term);
           term++)
        if (term->id.handle == counter.handle)
          sums[m] += values[i].value * term->factor;
  }
  wish.publish(&dispatch, &gpu->plan, user_data, sums);
}

void rocm_metrics_next(void)
{
  __atomic_add_fetch(&wish.execution, 1, __ATOMIC_RELAXED);
}

bool rocm_metrics_start(const struct rocm *used, struct rocm_id context, const struct metrics_wish *wished, char *why,
                        size_t why_size)
{
  rocm = *used;
  wish = *wished;
  bool has_functions = rocm.version >= ROCM_VERSION_LONG_IDS && rocm.each_counter != NULL &&
                       rocm.counter_info != NULL && rocm.make_config != NULL && rocm.drop_config != NULL &&
                       rocm.counter_of != NULL && rocm.count_dispatches != NULL;
  int error = has_functions ? rocm.count_dispatches(context, begin_dispatch, NULL, end_dispatch, NULL) : 0;
  if (!has_functions)
    snprintf(why, why_size, "rocprofiler-sdk 1.0 (ROCm 7) is needed");
  else if (error != ROCM_OK)
    snprintf(why, why_size, "rocprofiler-sdk does not count here: error %d", error);
  return has_functions && error == ROCM_OK;
}

bool rocm_metrics_are_of(struct rocm_id agent)
{
  const struct gpu *gpu = gpu_of(agent);
  return gpu != NULL && __atomic_load_n(&gpu->has_metrics, __ATOMIC_ACQUIRE);
}
