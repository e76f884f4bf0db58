// SPDX-License-Identifier: Apache-2.0
// The simulated device: contexts, streams, and operations that take their time. Inside the simulated libcuda.
#ifndef XSP_TESTS_DEVICE_H
#define XSP_TESTS_DEVICE_H

#include "simulator.h"

#define DEVICES SIMULATOR_DEVICES
#define DEFAULT_STREAM_ID 7 // as CUPTI numbers it

struct CUctx_st {
  uint32_t id, device;
  bool is_primary;
  uint64_t pending, busy_until_ns; // operations of all its streams
  CUstream default_stream;
};
struct CUstream_st {
  CUcontext context;
  uint32_t id;
  bool is_non_blocking; // does not wait for the default stream
  uint64_t pending, busy_until_ns;
  CUgraph capture;          // ask graph_has
  bool capture_began;       // here, not joined
  CUgraphNode last, joined; // of the capture; another stream's, that the next node waits for
};
struct CUevent_st {
  uint32_t id;
  CUcontext context;
  uint32_t stream_id;
  uint64_t at_ns; // when it happens
  CUgraph capture;
  CUgraphNode node;
};
struct CUfunc_st {
  char *name;
};
struct CUmod_st {
  char *image; // a copy
  size_t size; // 0: not code that anybody could read
};

CUstream
stream_of(CUstream stream); // the context's default stream for NULL and the two special handles; NULL: no context
CUcontext context_create(uint32_t device, bool is_primary);
CUstream stream_create(CUcontext context, bool is_non_blocking);
CUcontext context_current(void);

// Plans the operation at the end of its stream, or in the graph that the stream is capturing.
CUresult device_enqueue(CUstream stream, struct simulator_operation *operation);
// Under the lock, and releases it while too much is in flight.
void device_enqueue_at(CUstream stream, const struct simulator_operation *operation, uint64_t start_ns,
                       uint64_t end_ns);
uint64_t device_earliest_ns(CUstream stream); // when something enqueued now would start
uint64_t device_duration_ns(const struct simulator_operation *operation);
// Around the launch of a kernel, or of a graph. Passes; 0: it is not replayed, and has no end.
unsigned device_replay_begin(CUcontext context, const char *kernel);
void device_replay_end(CUcontext context); // waits for the kernel
void device_wait_stream(CUstream stream);
void device_wait_context(CUcontext context);
void device_wait_until(uint64_t at_ns);
bool device_is_pinned(const void *memory); // memory.c: of cuMemHostAlloc
void device_lock(void);
void device_unlock(void);
bool device_start(void); // the first call of cuInit

// kernels.c: what some kernels do, by their name. Others do nothing.
void kernels_take(struct simulator_operation *operation, void **arguments); // at their launch
void kernels_run(const struct simulator_operation *operation);
uint64_t kernels_duration_ns(const struct simulator_operation *operation); // 0: like any other

// Graphs. Called by launches while a stream is capturing.
CUresult graph_capture(CUstream stream, const struct simulator_operation *operation);
bool graph_has(CUstream stream);                     // it is capturing
CUresult graph_join(CUstream stream, CUevent event); // the stream waits for an event of a capture

extern const struct simulator_profiler *device_profiler; // atomic; NULL: nobody is told
#define TELL(function, ...)                                                                                            \
  do {                                                                                                                 \
    const struct simulator_profiler *told = __atomic_load_n(&device_profiler, __ATOMIC_ACQUIRE);                       \
    if (told)                                                                                                          \
      told->function(__VA_ARGS__);                                                                                     \
  } while (0)

#define DRIVER_CALL(name, symbol) DRIVER_CALL_WITH(name, symbol, NULL)
#define DRIVER_CALL_WITH(name, symbol, parameters)                                                                     \
  struct simulator_call call;                                                                                          \
  CUresult refused = simulator_begin(&call, SIMULATOR_DRIVER, CUPTI_DRIVER_TRACE_CBID_##name, symbol, parameters);     \
  if (refused != CUDA_SUCCESS)                                                                                         \
  return refused
#define RETURN(result) return (CUresult)simulator_end(&call, (int)(result))

#endif
