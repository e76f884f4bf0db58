// SPDX-License-Identifier: Apache-2.0
// PC sampling in the simulated rocprofiler-sdk: GPU 0 has both methods, GPU 1 is interrupted by the host alone. Each kernel has four
// samples, of two of its instructions, and one of no code that is known. Records are written number by number.
#include "sdk.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_CYCLES 300       // itself no power of two, as intervals must be
static uint32_t methods[GPUS]; // 0: not sampled
static bool has_loaded;

bool sdk_wants_code; // loaded, not only its kernels

static bool is_refused(void)
{
  return getenv("ROCPROFILER_PC_SAMPLING_BETA_ENABLED") == NULL;
}

uint64_t sdk_kernel_offset(uint64_t kernel_id)
{
  return 0x100 * kernel_id;
}

bool sdk_loads_now(void)
{
  bool is_first = sdk_wants_code && !has_loaded;
  has_loaded |= is_first;
  return is_first;
}

static void put(uint8_t *bytes, size_t at, uint64_t number, size_t size)
{
  memcpy(bytes + at, &number, size);
}

static void put_sample(uint32_t method, uint64_t code, uint64_t offset, bool is_issued, uint32_t reason)
{
  uint8_t bytes[120] = {0};
  bool is_host = method == ROCM_HOST_TRAP;
  size_t size = is_host ? 88 : 104;
  put(bytes, 0, size, 8);
  if (!is_host)
    put(bytes, 10, (uint64_t)is_issued | 3 << 1, 1); // and the type of the instruction
  put(bytes, is_host ? 16 : 24, code, 8);
  put(bytes, is_host ? 24 : 32, offset, 8);
  if (!is_host)
    put(bytes, 96, reason | 0xabcd0, 4); // and the state of the arbiter
  sdk_put(ROCM_CATEGORY_SAMPLES, is_host ? ROCM_SAMPLE_BY_HOST : ROCM_SAMPLE_STOCHASTIC, bytes, size);
}

void sdk_sample(const struct simulated_work *work)
{
  uint32_t method = methods[work->gpu];
  uint64_t start = sdk_kernel_offset(work->kernel_id);
  if (method == 0)
    return;
  put_sample(method, SDK_CODE, start + 0x10, true, 0);
  put_sample(method, SDK_CODE, start + 0x10, true, 0);
  put_sample(method, SDK_CODE, start + 0x10, false, 3); // waitcnt
  put_sample(method, SDK_CODE, start + 0x40, false, 5); // barrier_wait
  put_sample(method, 0, start, false, 1);
}

// ---- what tools call
int rocprofiler_query_pc_sampling_agent_configurations(struct rocm_id agent, rocm_sample_configs_callback *callback,
                                                       void *data)
{
  static const struct rocm_sample_config configs[] = {
      {sizeof configs[0], ROCM_HOST_TRAP, 3, 1, UINT64_MAX, 0},
      {sizeof configs[0], ROCM_STOCHASTIC, 2, LEAST_CYCLES, UINT64_C(1) << 31, ROCM_SAMPLES_POWER_OF_2}};
  return is_refused() ? 35 : callback(configs, agent.handle == CPU_AGENT + 1 ? 2 : 1, data);
}

int rocprofiler_configure_pc_sampling_service(struct rocm_id context, struct rocm_id agent, uint32_t method,
                                              uint32_t unit, uint64_t interval, struct rocm_id buffer, int flags)
{
  uint64_t gpu = agent.handle - CPU_AGENT - 1;
  bool is_right = method == ROCM_HOST_TRAP
                      ? unit == 3 && interval >= 1
                      : unit == 2 && gpu == 0 && interval >= LEAST_CYCLES && (interval & (interval - 1)) == 0;
  if (is_refused() || !is_right || gpu >= GPUS || context.handle != 1 || buffer.handle != 2 || flags != 0)
    return 35;
  methods[gpu] = method;
  return ROCM_OK;
}
