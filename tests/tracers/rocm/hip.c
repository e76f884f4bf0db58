// SPDX-License-Identifier: Apache-2.0
// A simulated libamdhip64 with two GPUs. Work of a stream is planned when it is enqueued and done by one thread at its end; copies
// copy. Memory of the device is the host's.
#include "hip.h"

#include "simulator.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORK_MOST 65536
#define FILL "__amd_rocclr_fillBufferAligned"

struct hip_stream {
  uint32_t gpu;
  uint64_t queue, busy_until_ns;
  struct hip_graph *capture; // NULL: work runs
};
#define GRAPH_WORK_MOST 64
struct hip_module {
  int unused;
};
struct hip_function {
  uint64_t id;
};
struct planned {
  struct simulated_work work;
  void *to;
  const void *from;
};

struct hip_graph {
  size_t count;
  struct planned work[GRAPH_WORK_MOST];
};

static const struct simulator_profiler *profiler; // NULL: nobody is told
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct planned plan[WORK_MOST]; // in the order of their ends, per stream; done from `first` to `last`
static size_t planned_count;
static bool is_running;
static struct hip_stream defaults[GPUS];
static struct hip_function fill;
static __thread int device;

static uint64_t now(void)
{
  if (profiler)
    return profiler->now();
  struct timespec at;
  clock_gettime(CLOCK_BOOTTIME, &at);
  return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static void *run(void *unused)
{
  pthread_mutex_lock(&lock);
  for (;;) {
    size_t next = 0;
    for (size_t i = 1; i < planned_count; i++)
      if (plan[i].work.end_ns < plan[next].work.end_ns)
        next = i;
    if (planned_count == 0) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    uint64_t at = now(), end = plan[next].work.end_ns;
    if (at < end) {
      pthread_mutex_unlock(&lock);
      nanosleep(&(struct timespec){0, (long)(end - at < 100000 ? end - at : 100000)}, NULL);
      pthread_mutex_lock(&lock);
      continue;
    }
    struct planned done = plan[next];
    if (done.to)
      memmove(done.to, done.from, done.work.bytes);
    pthread_mutex_unlock(&lock);
    if (profiler)
      profiler->complete(&done.work);
    pthread_mutex_lock(&lock);
    for (size_t i = next; i + 1 < planned_count; i++)
      plan[i] = plan[i + 1];
    planned_count--;
    pthread_cond_broadcast(&changed);
  }
  return unused;
}

static bool is_pending(const struct hip_stream *stream)
{
  for (size_t i = 0; i < planned_count; i++)
    if (!stream || plan[i].work.queue == stream->queue)
      return true;
  return false;
}

static void wait_for(const struct hip_stream *stream)
{
  pthread_mutex_lock(&lock);
  while (is_pending(stream))
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void wait_for_all(void)
{
  wait_for(NULL);
}

static void begin(void)
{
  pthread_t thread;
  void *library = getenv("ROCP_TOOL_LIBRARIES") ? dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_GLOBAL) : NULL;
  for (uint32_t i = 0; i < GPUS; i++)
    defaults[i] = (struct hip_stream){i, 0xabcd000 + i, 0, NULL};
  if (library && (profiler = dlsym(library, "simulator_profiler")))
    profiler->start(wait_for_all);
  fill.id = 1;
  if (profiler)
    profiler->load(1, FILL ".kd");
  is_running = pthread_create(&thread, NULL, run, NULL) == 0;
}

static void begin_once(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, begin);
}

static void enter(enum simulated_call call)
{
  begin_once();
  if (profiler)
    profiler->enter(call);
}

static hipError_t leave(enum simulated_call call, hipError_t result)
{
  if (profiler)
    profiler->leave(call, result);
  return result;
}

static struct hip_stream *stream_of(hipStream_t stream)
{
  return stream ? stream : &defaults[device];
}

static uint64_t duration(const struct simulated_work *work)
{
  const char *wish = getenv("XSP_SIM_KERNEL_NS");
  return work->is_copy ? 1000 + work->bytes / 16 : wish ? strtoull(wish, NULL, 10) : 20000;
}

static void enqueue(struct hip_stream *stream, struct planned planned)
{
  if (stream->capture && stream->capture->count < GRAPH_WORK_MOST) {
    stream->capture->work[stream->capture->count++] = planned;
    return;
  }
  planned.work.gpu = stream->gpu;
  planned.work.queue = stream->queue;
  if (profiler)
    profiler->enqueue(&planned.work);
  pthread_mutex_lock(&lock);
  while (planned_count == WORK_MOST)
    pthread_cond_wait(&changed, &lock);
  uint64_t at = now();
  planned.work.start_ns = at > stream->busy_until_ns ? at : stream->busy_until_ns;
  planned.work.end_ns = stream->busy_until_ns = planned.work.start_ns + duration(&planned.work);
  plan[planned_count++] = planned;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

// ---- calls
hipError_t hipGetDevice(int *ret_device)
{
  enter(SIMULATED_hipGetDevice);
  *ret_device = device;
  return leave(SIMULATED_hipGetDevice, hipSuccess);
}

hipError_t hipSetDevice(int wished)
{
  enter(SIMULATED_hipSetDevice);
  bool is_there = wished >= 0 && wished < GPUS;
  if (is_there)
    device = wished;
  return leave(SIMULATED_hipSetDevice, is_there ? hipSuccess : 101);
}

static void *allocate(uint32_t agent, size_t bytes)
{
  void *memory = calloc(1, bytes);
  if (profiler && memory)
    profiler->allocate(agent, memory, bytes, false);
  return memory;
}

hipError_t hipMalloc(void **ret, size_t bytes)
{
  enter(SIMULATED_hipMalloc);
  *ret = allocate(CPU_AGENT + 1 + (uint32_t)device, bytes);
  return leave(SIMULATED_hipMalloc, *ret ? hipSuccess : 2);
}

hipError_t hipHostMalloc(void **ret, size_t bytes, unsigned flags)
{
  enter(SIMULATED_hipHostMalloc);
  (void)flags;
  *ret = allocate(CPU_AGENT, bytes);
  return leave(SIMULATED_hipHostMalloc, *ret ? hipSuccess : 2);
}

hipError_t hipFree(void *memory)
{
  enter(SIMULATED_hipFree);
  wait_for(NULL);
  if (profiler)
    profiler->allocate(0, memory, 0, true);
  free(memory);
  return leave(SIMULATED_hipFree, hipSuccess);
}

static void copy(void *to, const void *from, size_t bytes, int kind, struct hip_stream *stream)
{
  static const uint32_t directions[] = {
      [hipMemcpyHostToDevice] = 2, [hipMemcpyDeviceToHost] = 3, [hipMemcpyDeviceToDevice] = 4};
  enqueue(stream, (struct planned){{.is_copy = true, .direction = directions[kind], .bytes = bytes}, to, from});
}

hipError_t hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
  enter(SIMULATED_hipMemcpy);
  copy(to, from, bytes, kind, stream_of(NULL));
  wait_for(stream_of(NULL));
  return leave(SIMULATED_hipMemcpy, hipSuccess);
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, hipStream_t stream)
{
  enter(SIMULATED_hipMemcpyAsync);
  copy(to, from, bytes, kind, stream_of(stream));
  return leave(SIMULATED_hipMemcpyAsync, hipSuccess);
}

hipError_t hipMemset(void *to, int value, size_t bytes)
{
  enter(SIMULATED_hipMemset);
  wait_for(stream_of(NULL));
  memset(to, value, bytes);
  struct simulated_work work = {
      .kernel_id = fill.id, .grid = {(unsigned)(bytes + 255) / 256, 1, 1}, .block = {256, 1, 1}};
  enqueue(stream_of(NULL), (struct planned){work, NULL, NULL});
  return leave(SIMULATED_hipMemset, hipSuccess);
}

hipError_t hipModuleLoadData(hipModule_t *ret, const void *image)
{
  enter(SIMULATED_hipModuleLoadData);
  (void)image;
  *ret = calloc(1, sizeof **ret);
  if (profiler)
    profiler->scratch((uint32_t)device, now());
  return leave(SIMULATED_hipModuleLoadData, *ret ? hipSuccess : 2);
}

hipError_t hipModuleGetFunction(hipFunction_t *ret, hipModule_t module, const char *name)
{
  static uint64_t last = 1;
  enter(SIMULATED_hipModuleGetFunction);
  (void)module;
  size_t length = strlen(name);
  char *text = malloc(length + 4); // given to the tool, which copies it
  *ret = calloc(1, sizeof **ret);
  if (text && *ret) {
    (*ret)->id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    memcpy(text, name, length);
    memcpy(text + length, ".kd", 4);
    if (profiler)
      profiler->load((*ret)->id, text);
  }
  free(text);
  return leave(SIMULATED_hipModuleGetFunction, *ret ? hipSuccess : 2);
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 hipStream_t stream, void **parameters, void **extra)
{
  const struct {
    hipFunction_t function;
    unsigned grid[3], block[3], shared_bytes;
    hipStream_t stream;
  } given = {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream};
  begin_once();
  if (profiler)
    profiler->arguments(&given, sizeof given);
  enter(SIMULATED_hipModuleLaunchKernel);
  (void)parameters, (void)extra;
  bool is_possible = grid_x > 0 && block_x > 0 && (uint64_t)block_x * block_y * block_z <= 1024;
  struct simulated_work work = {.kernel_id = function->id,
                                .grid = {grid_x, grid_y, grid_z},
                                .block = {block_x, block_y, block_z},
                                .shared_bytes = shared_bytes};
  if (is_possible)
    enqueue(stream_of(stream), (struct planned){work, NULL, NULL});
  return leave(SIMULATED_hipModuleLaunchKernel, is_possible ? hipSuccess : 1);
}

hipError_t hipStreamCreate(hipStream_t *ret)
{
  static uint64_t last;
  enter(SIMULATED_hipStreamCreate);
  *ret = calloc(1, sizeof **ret);
  if (*ret)
    **ret = (struct hip_stream){(uint32_t)device, 0xdcba000 + __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED), 0, NULL};
  return leave(SIMULATED_hipStreamCreate, *ret ? hipSuccess : 2);
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
  enter(SIMULATED_hipStreamSynchronize);
  wait_for(stream_of(stream));
  return leave(SIMULATED_hipStreamSynchronize, hipSuccess);
}

hipError_t hipDeviceSynchronize(void)
{
  enter(SIMULATED_hipDeviceSynchronize);
  wait_for(NULL);
  if (profiler)
    profiler->synchronize();
  return leave(SIMULATED_hipDeviceSynchronize, hipSuccess);
}

// ---- graphs. Arguments as HIP has them, by their offsets
static void arguments(const void *first, const void *second)
{
  const void *both[] = {first, second};
  begin_once();
  if (profiler)
    profiler->arguments(both, sizeof both);
}

hipError_t hipStreamBeginCapture(hipStream_t stream, int mode)
{
  arguments(stream, NULL);
  enter(SIMULATED_hipStreamBeginCapture);
  bool is_possible = mode <= 2 && !stream->capture;
  if (is_possible)
    stream->capture = calloc(1, sizeof *stream->capture);
  return leave(SIMULATED_hipStreamBeginCapture, is_possible && stream->capture ? hipSuccess : 401);
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *ret)
{
  arguments(stream, ret);
  enter(SIMULATED_hipStreamEndCapture);
  *ret = stream->capture;
  stream->capture = NULL;
  return leave(SIMULATED_hipStreamEndCapture, *ret ? hipSuccess : 1);
}

hipError_t hipGraphInstantiate(hipGraphExec_t *ret, hipGraph_t graph, void *node, char *log, size_t log_bytes)
{
  arguments(ret, graph);
  enter(SIMULATED_hipGraphInstantiate);
  (void)node, (void)log, (void)log_bytes;
  *ret = malloc(sizeof **ret);
  if (*ret)
    **ret = *graph;
  return leave(SIMULATED_hipGraphInstantiate, *ret ? hipSuccess : 2);
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream)
{
  arguments(executable, stream);
  enter(SIMULATED_hipGraphLaunch);
  for (size_t i = 0; i < executable->count; i++)
    enqueue(stream_of(stream), executable->work[i]);
  return leave(SIMULATED_hipGraphLaunch, hipSuccess);
}

hipError_t hipEventRecord(void *event, hipStream_t stream)
{
  arguments(event, stream);
  enter(SIMULATED_hipEventRecord);
  return leave(SIMULATED_hipEventRecord, hipSuccess);
}

// ---- ROCTx
enum { MARK, PUSH, POP, START, STOP };
enum { ENTER = 1, EXIT = 2 };

static void mark(uint32_t operation, const char *message, uint64_t range, uint64_t started_range)
{
  begin_once();
  if (!profiler)
    return;
  profiler->mark(operation, ENTER, message, range, 0);
  profiler->mark(operation, EXIT, message, range, started_range);
}

int roctxMarkA(const char *message)
{
  mark(MARK, message, 0, 0);
  return 0;
}

int roctxRangePushA(const char *message)
{
  mark(PUSH, message, 0, 0);
  return 0;
}

int roctxRangePop(void)
{
  mark(POP, NULL, 0, 0);
  return 0;
}

unsigned long roctxRangeStartA(const char *message)
{
  static uint64_t last;
  uint64_t range = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  mark(START, message, 0, range);
  return range;
}

void roctxRangeStop(unsigned long range)
{
  mark(STOP, NULL, range, 0);
}
