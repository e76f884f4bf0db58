// SPDX-License-Identifier: Apache-2.0
// What the simulated libcuda, libcudart and libcupti share. libcuda has the device and makes correlation ids; libcupti, once
// it is used, is told of calls and operations through `struct simulator_profiler`.
//
// Environment: XSP_SIM_KERNEL_NS (how long each kernel runs; 20,000), XSP_SIM_FAULTS, XSP_SIM_SEED, XSP_SIM_CUPTI_VERSION,
// XSP_SIM_CHIP, XSP_SIM_COUNTS (a file with `struct simulator_counts`).
#ifndef XSP_TESTS_SIMULATOR_H
#define XSP_TESTS_SIMULATOR_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static inline bool simulator_has_fault(const char *fault) // in XSP_SIM_FAULTS, which has commas between them
{
  const char *faults = getenv("XSP_SIM_FAULTS");
  size_t length = strlen(fault);
  for (const char *at = faults; at && (at = strstr(at, fault)); at += length)
    if ((at == faults || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
      return true;
  return false;
}

enum simulator_api { SIMULATOR_DRIVER, SIMULATOR_RUNTIME };
struct simulator_call {
  enum simulator_api api;
  uint32_t cbid, correlation_id, context_id;
  CUcontext context;
  const char *symbol;     // kernel's name, for launches
  const void *parameters; // as generated_cuda_meta.h has them; NULL: of calls whose parameters nobody reads
  uint64_t start_ns, end_ns;
  uint64_t data; // a subscriber's, from begin to end
  int result;
};

#define SIMULATOR_DEVICES 2
#define KERNEL_ARGUMENTS 4

enum simulator_kind { SIMULATOR_KERNEL, SIMULATOR_MEMCPY, SIMULATOR_PEER_COPY, SIMULATOR_MEMSET };
struct simulator_operation {
  enum simulator_kind kind;
  uint32_t device, context_id, stream_id, correlation_id;
  uint64_t start_ns, end_ns; // CLOCK_REALTIME
  const char *name;          // lives as long as the process
  uint32_t grid[3], block[3], shared_bytes;
  uint64_t arguments[KERNEL_ARGUMENTS]; // of kernels that the simulator can run
  uint64_t bytes;
  void *to;
  const void *from;
  uint8_t copy_kind, value;           // CUpti_ActivityMemcpyKind; of a memset
  bool is_async, is_pinned;           // the host's side of a copy
  uint32_t to_device, to_context_id;  // of a peer copy
  uint32_t graph_id, source_graph_id; // 0: no graph
  uint64_t node_id, source_node_id;
  // the device's
  uint64_t sequence;
  CUstream stream;
  CUcontext context;
  uint32_t passes; // of a kernel that was replayed; 0 or 1: it ran once
};

enum simulator_memory_change {
  SIMULATOR_ALLOCATED,
  SIMULATOR_RELEASED,
  SIMULATOR_POOL_CREATED,
  SIMULATOR_POOL_TRIMMED,
  SIMULATOR_POOL_DESTROYED
};
struct simulator_memory {
  enum simulator_memory_change change;
  uint64_t address, bytes; // bytes of a pool that is trimmed: those that it keeps
  uint64_t at_ns;          // CLOCK_REALTIME
  uint32_t correlation_id, device, context_id, stream_id;
  uint64_t allocated_bytes;                   // of the device, after it
  uint64_t pool, pool_bytes, pool_used_bytes; // 0: of no pool
};

// All are called without locks of libcuda, but that of its memory. Calls: on their thread; operations: on the device's thread.
struct simulator_profiler {
  void (*call_begins)(struct simulator_call *call);
  void (*call_ended)(struct simulator_call *call);
  void (*operation_ended)(const struct simulator_operation *operation);
  // `type`: CUpti_ActivitySynchronizationType; stream and event: UINT32_MAX for none
  void (*synchronized)(const struct simulator_call *call, int type, uint32_t stream_id, uint32_t event_id,
                       uint64_t end_ns);
  void (*memory_changed)(const struct simulator_memory *memory);
  // How often each kernel of the context runs, alone on the device, its launch waiting for its end; 0: as without a profiler
  unsigned (*replays)(CUcontext context, const char *kernel);
  // `cbid`: CUpti_CallbackIdResource; those not given are NULL
  void (*graph_changed)(int cbid, CUgraph graph, CUgraphNode node, CUgraphNode original, CUgraphExec executable);
  void (*context_changed)(int cbid, CUcontext context);
  void (*module_changed)(int cbid, CUcontext context, const char *image, size_t size);
};

// libcuda's own, for libcudart and libcupti.
EXPORTED uint64_t simulator_now_ns(void);
EXPORTED void simulator_set_profiler(const struct simulator_profiler *profiler);
// Not CUDA_SUCCESS: the call is refused and has not begun.
EXPORTED CUresult simulator_begin(struct simulator_call *call, enum simulator_api api, uint32_t cbid,
                                  const char *symbol, const void *parameters);
EXPORTED int simulator_end(struct simulator_call *call, int result);
EXPORTED void simulator_finish(CUcontext context);       // waits until it has nothing to do
EXPORTED uint64_t simulator_settled_ns(uint32_t device); // what ran before it has ended, and was reported
EXPORTED uint32_t simulator_graph_id(CUgraph graph);
EXPORTED uint32_t simulator_executable_id(CUgraphExec executable);
EXPORTED uint64_t simulator_node_id(CUgraphNode node);
EXPORTED bool simulator_node_is_kernel(CUgraphNode node);
EXPORTED uint32_t simulator_context_device(CUcontext context);
EXPORTED uint32_t simulator_stream_id(CUcontext context, CUstream stream);

// What the simulated libcupti did; it goes on counting until the process has ended.
enum simulator_count {
  COUNT_KERNELS, // records written, whatever became of their buffers
  COUNT_MEMCPYS,
  COUNT_MEMSETS,
  COUNT_CALLS,
  COUNT_SYNCS,
  COUNT_DROPPED,       // not written
  COUNT_WITHOUT_TIMES, // written with start and end zero
  COUNT_UNKNOWN,       // written, of no kind of this version
  COUNT_CUT,           // the last of a buffer, cut
  COUNT_REQUESTED,     // buffers
  COUNT_REFUSED,       // buffers that were not given, or too small
  COUNT_COMPLETED,
  COUNT_FLUSHES,
  COUNT_SUBSCRIPTIONS,
  COUNT_ENTRIES,    // calls of libcupti
  COUNT_PEAK_BYTES, // the most that was allocated on a device at once
  COUNT_RANGES,     // of the range profiler: collected, and those that were not
  COUNT_RANGES_DROPPED,
  COUNT_SAMPLES, // of PM sampling, decoded
  COUNTS
};
#endif
