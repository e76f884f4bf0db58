// SPDX-License-Identifier: Apache-2.0
// rocm_workload MODE TRUTH COUNT: a program that uses AMD GPUs, for tests/tracers/test_rocm.py. It appends what it did to the file
// TRUTH, line by line, so that the truth is there however it ends. Standard output shows that copies copied.
#include "hip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 4096

struct shape {
  unsigned grid[3], block[3], shared_bytes;
};
static const struct shape small = {{8, 1, 1}, {64, 1, 1}, 0}, flat = {{4, 3, 2}, {16, 4, 2}, 1024};
static FILE *truth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void must(hipError_t error, const char *what)
{
  if (error == hipSuccess)
    return;
  printf("%s failed: %d\n", what, error);
  exit(3);
}

static void tell(const char *api, const char *operation, const char *name, struct shape s, const char *copy,
                 size_t bytes, hipStream_t stream)
{
  static unsigned launches;
  int device = -1;
  must(hipGetDevice(&device), "hipGetDevice");
  pthread_mutex_lock(&lock);
  fprintf(truth,
          "{\"api\": \"%s\", \"operation\": \"%s\", \"name\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], "
          "\"shared\": %u, \"copy\": \"%s\", \"bytes\": %zu, \"device\": %d, \"stream\": \"%p\", \"process\": %d, "
          "\"thread\": %d, \"launch\": %u}\n",
          api, operation, name, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.shared_bytes,
          copy, bytes, device, (void *)stream, getpid(), gettid(), ++launches);
  fflush(truth);
  pthread_mutex_unlock(&lock);
}

struct kernel {
  hipFunction_t function;
  const char *name;
};

static struct kernel find_kernel(const char *name)
{
  static hipModule_t module;
  struct kernel kernel = {NULL, name};
  pthread_mutex_lock(&lock);
  if (!module)
    must(hipModuleLoadData(&module, "image"), "hipModuleLoadData");
  pthread_mutex_unlock(&lock);
  must(hipModuleGetFunction(&kernel.function, module, name), "hipModuleGetFunction");
  return kernel;
}

static void launch(struct kernel kernel, struct shape s, hipStream_t stream)
{
  must(hipModuleLaunchKernel(kernel.function, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2],
                             s.shared_bytes, stream, NULL, NULL),
       "hipModuleLaunchKernel");
  tell("hipModuleLaunchKernel", "kernel", kernel.name, s, "", 0, stream);
}

static void copy(void *to, const void *from, int kind, hipStream_t stream)
{
  static const char *const names[] = {"", "HtoD", "DtoH", "DtoD"};
  must(hipMemcpyAsync(to, from, BYTES, kind, stream), "hipMemcpyAsync");
  tell("hipMemcpyAsync", "memcpy", "", (struct shape){0}, names[kind], BYTES, stream);
}

static hipStream_t make_stream(void)
{
  hipStream_t stream = NULL;
  must(hipStreamCreate(&stream), "hipStreamCreate");
  return stream;
}

static void *allocate(void)
{
  void *memory = NULL;
  must(hipMalloc(&memory, BYTES), "hipMalloc");
  return memory;
}

static void checksum(const unsigned char *bytes)
{
  unsigned long sum = 0;
  for (size_t i = 0; i < BYTES; i++)
    sum = sum * 31 + bytes[i];
  printf("copied %lu\n", sum);
}

// ---- modes
static void kernels(hipStream_t stream, unsigned count)
{
  struct kernel matmul = find_kernel("_Z6matmulPKfS0_Pfi"), relu = find_kernel("relu");
  for (unsigned i = 0; i < count; i++) {
    launch(matmul, flat, stream);
    launch(relu, small, stream);
  }
}

static void *in_thread(void *count)
{
  hipStream_t stream = make_stream();
  kernels(stream, *(unsigned *)count);
  must(hipStreamSynchronize(stream), "hipStreamSynchronize");
  return NULL;
}

// Two streams and a thread; copies in, inside and out; a fill.
static int simple(unsigned count)
{
  unsigned char in[BYTES], out[BYTES] = {0};
  for (size_t i = 0; i < BYTES; i++)
    in[i] = (unsigned char)(i * 7);
  hipStream_t streams[] = {make_stream(), make_stream()};
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, &count);
  void *first = allocate(), *second = allocate(), *host = NULL;
  must(hipHostMalloc(&host, 2 * BYTES, 0), "hipHostMalloc");
  must(hipMemset(second, 1, BYTES), "hipMemset");
  tell("hipMemset", "kernel", "__amd_rocclr_fillBufferAligned", (struct shape){{BYTES / 256, 1, 1}, {256, 1, 1}, 0}, "",
       0, NULL);
  copy(first, in, hipMemcpyHostToDevice, streams[0]);
  kernels(streams[0], count);
  copy(second, first, hipMemcpyDeviceToDevice, streams[0]);
  kernels(streams[1], count);
  copy(out, second, hipMemcpyDeviceToHost, streams[0]);
  must(hipStreamSynchronize(streams[0]), "hipStreamSynchronize");
  pthread_join(thread, NULL);
  must(hipDeviceSynchronize(), "hipDeviceSynchronize");
  checksum(out);
  must(hipFree(first), "hipFree");
  must(hipFree(second), "hipFree");
  must(hipFree(host), "hipFree");
  return 0;
}

static int devices(unsigned count)
{
  static const char digits[BYTES] = "0123456789";
  for (unsigned i = 0; i < count; i++) {
    must(hipSetDevice((int)(i % 2)), "hipSetDevice");
    hipStream_t stream = make_stream();
    kernels(stream, i + 1);
    copy(allocate(), digits, hipMemcpyHostToDevice, stream);
  }
  must(hipDeviceSynchronize(), "hipDeviceSynchronize");
  return 0;
}

static int threads(unsigned count)
{
  pthread_t started[64];
  unsigned each = 20;
  for (unsigned i = 0; i < count; i++)
    pthread_create(&started[i], NULL, in_thread, &each);
  for (unsigned i = 0; i < count; i++)
    pthread_join(started[i], NULL);
  return 0;
}

static int many(unsigned count)
{
  hipStream_t stream = make_stream();
  struct kernel relu = find_kernel("relu");
  for (unsigned i = 0; i < count; i++)
    launch(relu, small, stream);
  must(hipStreamSynchronize(stream), "hipStreamSynchronize");
  return 0;
}

// More launches than fit into the tracer's buffers; few at a time are in flight.
static int flood(unsigned count)
{
  struct kernel relu = find_kernel("relu");
  must(hipDeviceSynchronize(), "hipDeviceSynchronize");
  for (unsigned i = 0; i < count; i++) {
    must(hipModuleLaunchKernel(relu.function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), "hipModuleLaunchKernel");
    if (i % 32 == 31)
      must(hipStreamSynchronize(NULL), "hipStreamSynchronize");
  }
  return 0;
}

// Names of any kind: mangled, empty, long.
static int names(unsigned count)
{
  static char text[3000];
  memset(text, 'k', sizeof text - 1);
  for (unsigned i = 0; i < count; i++) {
    launch(find_kernel(text), small, NULL);
    launch(find_kernel(""), small, NULL);
    launch(find_kernel(".kd"), small, NULL);
  }
  must(hipDeviceSynchronize(), "hipDeviceSynchronize");
  return 0;
}

static int errors(unsigned count)
{
  struct kernel relu = find_kernel("relu");
  for (unsigned i = 0; i < count; i++) {
    if (hipModuleLaunchKernel(relu.function, 0, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL) == hipSuccess ||
        hipSetDevice(77) == hipSuccess)
      return 3;
    launch(relu, small, NULL);
  }
  must(hipDeviceSynchronize(), "hipDeviceSynchronize");
  return 0;
}

static void *stop_range(void *range)
{
  roctxRangeStop(*(unsigned long *)range);
  return NULL;
}

// Kernels in ranges that nest; a range that another thread stops; marks; a name that is missing.
static int ranges(unsigned count)
{
  struct kernel relu = find_kernel("relu");
  unsigned long range = roctxRangeStartA("whole");
  for (unsigned i = 0; i < count; i++) {
    char text[32];
    snprintf(text, sizeof text, "step %u", i);
    roctxRangePushA(text);
    roctxRangePushA("aten::mm, seq = 3");
    launch(relu, small, NULL);
    roctxRangePop();
    roctxMarkA("half");
    roctxRangePop();
  }
  roctxRangePushA(NULL);
  roctxRangePop();
  roctxRangePop(); // of nothing
  roctxRangeStop(range + 77);
  pthread_t thread;
  pthread_create(&thread, NULL, stop_range, &range);
  pthread_join(thread, NULL);
  must(hipDeviceSynchronize(), "hipDeviceSynchronize");
  return 0;
}

static void launch_in(const char *layer, struct kernel kernel, hipStream_t stream)
{
  roctxRangePushA(layer);
  must(hipModuleLaunchKernel(kernel.function, 8, 1, 1, 64, 1, 1, 0, stream, NULL, NULL), "hipModuleLaunchKernel");
  roctxRangePop();
}

// A graph of three kernels that two layers launch, captured once and launched `count` times from a layer of its own; `has_event`: another
// stream might have captured, too; `has_failures`: captures that do not begin, before a launch and while one captures.
static int graph(unsigned count, bool has_event, bool has_failures)
{
  struct kernel matmul = find_kernel("_Z6matmulPKfS0_Pfi"), relu = find_kernel("relu");
  hipStream_t stream = make_stream();
  hipGraph_t made = NULL;
  hipGraphExec_t executable = NULL;
  int event = 0;
  if (has_failures && hipStreamBeginCapture(stream, 77) == hipSuccess)
    return 3;
  if (has_failures)
    launch_in("before", relu, stream);
  must(hipStreamBeginCapture(stream, 0), "hipStreamBeginCapture");
  launch_in("layer a", relu, stream);
  if (has_failures && hipStreamBeginCapture(stream, 0) == hipSuccess)
    return 3;
  if (has_event)
    must(hipEventRecord(&event, stream), "hipEventRecord");
  launch_in("layer b", matmul, stream);
  launch_in("layer b", relu, stream);
  must(hipStreamEndCapture(stream, &made), "hipStreamEndCapture");
  must(hipGraphInstantiate(&executable, made, NULL, NULL, 0), "hipGraphInstantiate");
  for (unsigned i = 0; i < count; i++) {
    roctxRangePushA("replay");
    must(hipGraphLaunch(executable, stream), "hipGraphLaunch");
    roctxRangePop();
  }
  must(hipStreamSynchronize(stream), "hipStreamSynchronize");
  return 0;
}

// More open ranges than are kept.
static int open_ranges(unsigned count)
{
  for (unsigned i = 0; i < count; i++)
    roctxRangeStartA("open");
  return 0;
}

// Children that use the GPU themselves; `first`: the parent does, too, before.
static int forks(unsigned count, bool is_first)
{
  if (is_first)
    many(count);
  pid_t child = fork();
  if (child == 0) // one whose parent has used it must not
    exit(is_first ? 0 : many(count));
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0 ? 3 : many(count);
}

// Observations, as xsp's runner makes them, each with a flush at its end, and with one kernel more than the one before, if it `grows`;
// then the program is killed, so that nothing is published later.
static int observations(unsigned count, bool grows)
{
  void (*flush)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "xsp_tracers_flush"); // NULL: not traced
  struct kernel relu = find_kernel("relu");
  for (unsigned i = 0; i < count; i++) {
    roctxRangePushA("aten::observe");
    for (unsigned kernel = 0; kernel <= (grows ? i : 0); kernel++)
      launch(relu, small, NULL);
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    if (flush)
      flush();
    roctxRangePop();
  }
  return raise(SIGKILL);
}

static int leave(unsigned count, const char *how)
{
  struct kernel relu = find_kernel("relu");
  for (unsigned i = 0; i < count; i++)
    launch(relu, small, NULL);
  if (strcmp(how, "leave-at-once") == 0)
    _exit(8);
  if (strcmp(how, "abort") == 0)
    abort();
  return 7;
}

int main(int argument_count, char **arguments)
{
  const char *mode = argument_count < 4 ? "" : arguments[1];
  unsigned count = argument_count < 4 ? 0 : (unsigned)atoi(arguments[3]);
  truth = argument_count < 4 ? NULL : fopen(arguments[2], "a");
  if (!truth)
    return 2;
  if (strcmp(mode, "none") == 0)
    return 0;
  if (strcmp(mode, "simple") == 0)
    return simple(count);
  if (strcmp(mode, "devices") == 0)
    return devices(count);
  if (strcmp(mode, "threads") == 0)
    return threads(count);
  if (strcmp(mode, "many") == 0)
    return many(count);
  if (strcmp(mode, "flood") == 0)
    return flood(count);
  if (strcmp(mode, "names") == 0)
    return names(count);
  if (strcmp(mode, "ranges") == 0)
    return ranges(count);
  if (strncmp(mode, "graph", 5) == 0)
    return graph(count, strcmp(mode, "graph-with-event") == 0, strcmp(mode, "graph-with-failures") == 0);
  if (strcmp(mode, "open-ranges") == 0)
    return open_ranges(count);
  if (strcmp(mode, "observations") == 0 || strcmp(mode, "like-observations") == 0)
    return observations(count, strcmp(mode, "observations") == 0);
  if (strcmp(mode, "errors") == 0)
    return errors(count);
  if (strcmp(mode, "fork") == 0 || strcmp(mode, "fork-first") == 0)
    return forks(count, strcmp(mode, "fork-first") == 0);
  return leave(count, mode);
}
