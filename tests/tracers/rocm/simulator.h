// SPDX-License-Identifier: Apache-2.0
// What the simulated libamdhip64 and librocprofiler-sdk have to do with each other: the first loads the second, as AMD's
// librocprofiler-register does, and reports calls, work of the device, loaded code and allocations to it.
#ifndef XSP_TESTS_ROCM_SIMULATOR_H
#define XSP_TESTS_ROCM_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUS 2
#define CPU_AGENT 0x1000u // handles: the CPU's, then the GPUs'

// The calls that the simulated HIP has, in the order of their numbers.
#define SIMULATED_CALLS(X)                                                                                             \
  X(hipEventRecord)                                                                                                    \
  X(hipFree)                                                                                                           \
  X(hipDeviceSynchronize)                                                                                              \
  X(hipGetDevice)                                                                                                      \
  X(hipGraphInstantiate)                                                                                               \
  X(hipGraphLaunch)                                                                                                    \
  X(hipHostMalloc)                                                                                                     \
  X(hipMalloc)                                                                                                         \
  X(hipMemcpy)                                                                                                         \
  X(hipMemcpyAsync)                                                                                                    \
  X(hipMemset)                                                                                                         \
  X(hipModuleGetFunction)                                                                                              \
  X(hipModuleLaunchKernel)                                                                                             \
  X(hipModuleLoadData)                                                                                                 \
  X(hipSetDevice)                                                                                                      \
  X(hipStreamBeginCapture)                                                                                             \
  X(hipStreamCreate)                                                                                                   \
  X(hipStreamEndCapture)                                                                                               \
  X(hipStreamSynchronize)
enum simulated_call {
#define SIMULATED_CALL(name) SIMULATED_##name,
  SIMULATED_CALLS(SIMULATED_CALL) SIMULATED_CALL_COUNT
#undef SIMULATED_CALL
};

struct simulated_work { // of the device
  bool is_copy;
  uint32_t gpu;
  uint64_t queue, kernel_id;
  uint32_t grid[3], block[3], shared_bytes; // grid in blocks
  uint32_t direction;                       // as rocprofiler-sdk numbers it
  size_t bytes;
  uint64_t start_ns, end_ns;
  uint64_t correlation_id, thread_id; // of the call that enqueued it; set by `enqueue`
  uint64_t config;                    // which counters are counted; set by `enqueue`
  uint64_t user_data;                 // of the tool
};

// Exported by the simulated librocprofiler-sdk as `simulator_profiler`.
struct simulator_profiler {
  void (*start)(void (*wait_for_device)(void)); // once
  uint64_t (*now)(void);
  void (*enter)(enum simulated_call call);
  void (*arguments)(const void *arguments, size_t size); // of the next call on this thread, until it has left
  void (*leave)(enum simulated_call call, int result);
  void (*synchronize)(void); // the device is idle. With the fault flush-hangs: returns once a flush hangs
  void (*enqueue)(struct simulated_work *work); // on the calling thread
  void (*complete)(const struct simulated_work *work);
  // ROCTx: at the beginning and at the end of a call. `message` or `range`; `started_range` at the end of a start.
  void (*mark)(uint32_t operation, uint32_t phase, const char *message, uint64_t range, uint64_t started_range);
  void (*load)(uint64_t kernel_id, const char *name);
  void (*scratch)(uint32_t gpu, uint64_t start_ns);
  void (*allocate)(uint32_t agent, const void *address, size_t bytes, bool is_release);
};

// What happened, in the file XSP_SIM_COUNTS: 64-bit numbers in this order.
enum simulator_count {
  COUNT_KERNELS,
  COUNT_COPIES,
  COUNT_CALLS,
  COUNT_DROPPED,
  COUNT_WITHOUT_TIMES,
  COUNT_UNREADABLE,
  COUNT_FLUSHES,
  COUNT_CLIENTS,
  COUNTS
};

#endif
