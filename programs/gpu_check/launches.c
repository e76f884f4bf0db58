// SPDX-License-Identifier: Apache-2.0
// Launches of the workload of gpu-check, and the lines that say what was launched.
#include "launches.h"

#include <stdio.h>
#include <stdlib.h>

#define CAPTURED_MAXIMUM 16
#define THREADS_TIMED 32

struct launched {
  const char *operation, *name, *copy, *layer;
  unsigned blocks, threads, stream;
  size_t bytes;
  uint64_t event_ns; // 0: not timed
};

driver_handle streams[STREAMS], saxpy, block_sum, spin, counted_add;
size_t l2_bytes;
static const char *layer_name;
static struct launched captured[CAPTURED_MAXIMUM], timed[TIMED];
static driver_handle events[TIMED + 1];
static unsigned captured_count, timed_count;
static bool is_capturing;

void must(int result, const char *call)
{
  if (result == 0)
    return;
  fflush(stdout);
  fprintf(stderr, "gpu-check: %s: error %d of the driver\n", call, result);
  exit(1);
}

static int no_gpu(const char *why, int error)
{
  fprintf(stderr, error ? "gpu-check: no GPU: %s: error %d of the driver\n" : "gpu-check: no GPU: %s\n", why, error);
  return 3;
}

int start(void)
{
  const char *why = driver_open();
  if (why)
    return no_gpu(why, 0);
  int device = 0, version = 0, major = 0, minor = 0, cache = 0, result = cuda.init(0);
  if (result == 0)
    result = cuda.device(&device, 0);
  if (result != 0)
    return no_gpu("cuInit", result);
  char name[128] = "";
  driver_handle context = NULL, module = NULL;
  must(cuda.version(&version), "cuDriverGetVersion");
  must(cuda.device_name(name, sizeof name, device), "cuDeviceGetName");
  must(cuda.device_attribute(&major, DRIVER_COMPUTE_MAJOR, device), "cuDeviceGetAttribute");
  must(cuda.device_attribute(&minor, DRIVER_COMPUTE_MINOR, device), "cuDeviceGetAttribute");
  must(cuda.device_attribute(&cache, DRIVER_L2_BYTES, device), "cuDeviceGetAttribute");
  l2_bytes = (size_t)cache;
  printf("{\"what\": \"device\", \"name\": \"%s\", \"compute\": \"%d.%d\", \"cuda\": \"%d.%d\"}\n", name, major, minor,
         version / 1000, version % 1000 / 10);
  must(cuda.primary_context(&context, device), "cuDevicePrimaryCtxRetain");
  must(cuda.set_context(context), "cuCtxSetCurrent");
  must(cuda.load(&module, kernels_ptx), "cuModuleLoadData");
  must(cuda.function(&saxpy, module, "saxpy"), "cuModuleGetFunction");
  must(cuda.function(&block_sum, module, "block_sum"), "cuModuleGetFunction");
  must(cuda.function(&spin, module, "spin"), "cuModuleGetFunction");
  must(cuda.function(&counted_add, module, "counted_add"), "cuModuleGetFunction");
  for (unsigned i = 0; i < STREAMS; i++)
    must(cuda.stream(&streams[i], DRIVER_NON_BLOCKING), "cuStreamCreate");
  for (unsigned i = 0; i <= TIMED; i++)
    must(cuda.event(&events[i], 0), "cuEventCreate");
  return 0;
}

void layer(struct xsp_site *site, void (*body)(void))
{
  struct xsp_span span = xsp_span_start(site);
  layer_name = site->name;
  body();
  xsp_span_finish(&span);
}

static void print(const struct launched *l)
{
  char grid[24] = "", block[24] = "";
  if (l->blocks > 0) {
    snprintf(grid, sizeof grid, "[%u,1,1]", l->blocks);
    snprintf(block, sizeof block, "[%u,1,1]", l->threads);
  }
  printf(
      "{\"what\": \"launch\", \"operation\": \"%s\", \"name\": \"%s\", \"grid\": \"%s\", \"block\": \"%s\", \"copy\": "
      "\"%s\", \"bytes\": %zu, \"stream\": %u, \"layer\": \"%s\", \"event_ns\": %lu}\n",
      l->operation, l->name, grid, block, l->copy, l->bytes, l->stream, l->layer, l->event_ns);
}

static void tell(struct launched launched)
{
  launched.layer = layer_name;
  if (!is_capturing)
    print(&launched);
  else if (captured_count < CAPTURED_MAXIMUM)
    captured[captured_count++] = launched;
}

static const char *name_of(driver_handle kernel)
{
  return kernel == saxpy ? "saxpy" : kernel == block_sum ? "block_sum" : "spin";
}

void launch(driver_handle kernel, unsigned blocks, unsigned threads, unsigned stream, void **arguments)
{
  must(cuda.launch(kernel, blocks, 1, 1, threads, 1, 1, 0, streams[stream], arguments, NULL), "cuLaunchKernel");
  tell((struct launched){.operation = "kernel",
                         .name = name_of(kernel),
                         .copy = "",
                         .blocks = blocks,
                         .threads = threads,
                         .stream = stream});
}

static void tell_memory(const char *operation, const char *copy, size_t bytes, unsigned stream)
{
  tell((struct launched){.operation = operation, .name = "", .copy = copy, .bytes = bytes, .stream = stream});
}

void copy_in(driver_address to, const void *from, size_t bytes, unsigned stream)
{
  must(cuda.copy_in(to, from, bytes, streams[stream]), "cuMemcpyHtoDAsync");
  tell_memory("memcpy", "HtoD", bytes, stream);
}

void copy_out(void *to, driver_address from, size_t bytes, unsigned stream)
{
  must(cuda.copy_out(to, from, bytes, streams[stream]), "cuMemcpyDtoHAsync");
  tell_memory("memcpy", "DtoH", bytes, stream);
}

void copy_inside(driver_address to, driver_address from, size_t bytes, unsigned stream)
{
  must(cuda.copy_inside(to, from, bytes, streams[stream]), "cuMemcpyDtoDAsync");
  tell_memory("memcpy", "DtoD", bytes, stream);
}

void set_zero(driver_address to, size_t bytes, unsigned stream)
{
  must(cuda.set(to, 0, bytes, streams[stream]), "cuMemsetD8Async");
  tell_memory("memset", "", bytes, stream);
}

void graph_begin(unsigned stream)
{
  must(cuda.capture(streams[stream], DRIVER_CAPTURE_LOCAL), "cuStreamBeginCapture");
  captured_count = 0;
  is_capturing = true;
}

driver_handle graph_end(unsigned stream)
{
  driver_handle graph = NULL, executable = NULL;
  is_capturing = false;
  must(cuda.end_capture(streams[stream], &graph), "cuStreamEndCapture");
  must(cuda.instantiate(&executable, graph, 0), "cuGraphInstantiate");
  return executable;
}

void graph_replay(driver_handle graph, unsigned stream)
{
  must(cuda.launch_graph(graph, streams[stream]), "cuGraphLaunch");
  for (unsigned i = 0; i < captured_count; i++)
    print(&captured[i]);
}

void launch_timed(unsigned number, unsigned blocks, uint64_t cycles, unsigned stream)
{
  if (number == 0)
    must(cuda.record(events[0], streams[stream]), "cuEventRecord");
  must(cuda.launch(spin, blocks, 1, 1, THREADS_TIMED, 1, 1, 0, streams[stream], (void *[]){&cycles}, NULL),
       "cuLaunchKernel");
  must(cuda.record(events[number + 1], streams[stream]), "cuEventRecord");
  timed[number] = (struct launched){.operation = "kernel",
                                    .name = "spin",
                                    .copy = "",
                                    .layer = layer_name,
                                    .blocks = blocks,
                                    .threads = THREADS_TIMED,
                                    .stream = stream};
  timed_count = number + 1;
}

bool wait_timed(unsigned stream)
{
  bool was_in_time = cuda.event_query(events[0]) == DRIVER_NOT_READY;
  must(cuda.wait(streams[stream]), "cuStreamSynchronize");
  for (unsigned i = 0; i < timed_count; i++) {
    float ms = 0;
    must(cuda.elapsed(&ms, events[i], events[i + 1]), "cuEventElapsedTime");
    timed[i].event_ns = was_in_time ? (uint64_t)((double)ms * 1e6) : 0;
    print(&timed[i]);
  }
  return was_in_time;
}
