// SPDX-License-Identifier: Apache-2.0
// Small numbers for the GPUs of this machine and for their queues.
#ifndef XSP_TRACERS_ROCM_AGENTS_H
#define XSP_TRACERS_ROCM_AGENTS_H

#include "tracers/rocm/abi.h"

#define AGENTS_GPUS_MOST 64u

// Asks for the agents; once.
void rocm_agents_find(const struct rocm *rocm);
// 0 for the first GPU; -1: a CPU, or not known.
int32_t rocm_agent_gpu(struct rocm_id agent);
bool rocm_agent_of(int32_t gpu, struct rocm_id *ret_agent); // false: there are fewer GPUs
// 1 for the first queue of its GPU that was seen; 0: more than are kept. One thread.
uint32_t rocm_agent_queue(int32_t gpu, struct rocm_id queue);

#endif
