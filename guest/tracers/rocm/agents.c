// SPDX-License-Identifier: Apache-2.0
// Handles of rocprofiler-sdk differ from run to run; its order of GPUs is that of the kernel driver's nodes.
#include "tracers/rocm/agents.h"

#define QUEUES_MOST 256u // of a GPU

static uint64_t gpus[AGENTS_GPUS_MOST];
static uint32_t gpu_count;
static uint64_t queues[AGENTS_GPUS_MOST][QUEUES_MOST]; // handle + 1

static int note_agents(int version, const void **agents, size_t count, void *data)
{
  for (size_t i = 0; i < count && gpu_count < AGENTS_GPUS_MOST; i++) {
    const struct rocm_agent *agent = agents[i];
    if (agent->type == ROCM_AGENT_GPU)
      gpus[gpu_count++] = agent->id.handle;
  }
  return ROCM_OK;
}

void rocm_agents_find(const struct rocm *rocm)
{
  rocm->query_agents(ROCM_AGENT_VERSION, note_agents, sizeof(struct rocm_agent), NULL);
}

int32_t rocm_agent_gpu(struct rocm_id agent)
{
  for (uint32_t i = 0; i < gpu_count; i++)
    if (gpus[i] == agent.handle)
      return (int32_t)i;
  return -1;
}

bool rocm_agent_of(int32_t gpu, struct rocm_id *ret_agent)
{
  bool is_there = gpu >= 0 && (uint32_t)gpu < gpu_count;
  if (is_there)
    ret_agent->handle = gpus[gpu];
  return is_there;
}

uint32_t rocm_agent_queue(int32_t gpu, struct rocm_id queue)
{
  for (uint32_t i = 0; gpu >= 0 && gpu < (int32_t)AGENTS_GPUS_MOST && i < QUEUES_MOST; i++) {
    if (queues[gpu][i] == 0)
      queues[gpu][i] = queue.handle + 1;
    if (queues[gpu][i] == queue.handle + 1)
      return i + 1;
  }
  return 0;
}
