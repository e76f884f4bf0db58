// SPDX-License-Identifier: Apache-2.0
// The modes of cuda_workload.
#include "workload.h"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 4096
#define THREADS_MAXIMUM 64

const struct shape small = {{4, 2, 1}, {128, 1, 1}, 0}, wide = {{640, 1, 3}, {32, 8, 2}, 2048};
static unsigned char input[BYTES], output[BYTES];
static CUcontext context;

// False: there is no device.
static bool start(void)
{
  CUresult result = cuInit(0);
  if (result != CUDA_SUCCESS) {
    printf("cuInit: %d\n", result);
    return false;
  }
  must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return true;
}

CUstream new_stream(void)
{
  CUstream stream = NULL;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return stream;
}

static void *launch_in_thread(void *argument)
{
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  CUstream stream = new_stream();
  CUfunction kernel = find_kernel("of_another_thread");
  for (unsigned i = 0; i < *(unsigned *)argument; i++)
    launch(kernel, (struct shape){{i + 1, 1, 1}, {64, 1, 1}, 0}, stream);
  must(cuStreamSynchronize(stream), "cuStreamSynchronize");
  return NULL;
}

static int simple(unsigned count)
{
  CUfunction add = find_kernel("vector_add"), multiply = find_kernel("_Z6matmulPKfS0_Pfi");
  CUstream one = new_stream(), two = new_stream();
  CUdeviceptr from = allocate(BYTES), to = allocate(BYTES);
  CUevent copied = NULL;
  must(cuEventCreate(&copied, 0), "cuEventCreate");
  pthread_t thread;
  pthread_create(&thread, NULL, launch_in_thread, &(unsigned){5});
  must(cuMemcpyHtoD(from, input, 16), "cuMemcpyHtoD");
  tell("cuMemcpyHtoD", "memcpy", "", (struct shape){0}, "HtoD", 16, NULL, 1);
  copy_in(from, input, BYTES, one);
  must(cuEventRecord(copied, one), "cuEventRecord");
  must(cuStreamWaitEvent(two, copied, 0), "cuStreamWaitEvent");
  for (unsigned i = 0; i < count; i++) {
    launch(add, small, one);
    launch(multiply, wide, i % 2 ? one : two);
  }
  copy_inside(to, from, BYTES, two);
  set_bytes(to, 9, 100, two);
  copy_out(output, to, BYTES, two);
  must(cuStreamSynchronize(two), "cuStreamSynchronize");
  checksum("copied", output, BYTES);
  launch(add, small, NULL);
  must(cuEventSynchronize(copied), "cuEventSynchronize");
  pthread_join(thread, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  must(cuMemFree(from), "cuMemFree");
  must(cuMemFree(to), "cuMemFree");
  return 0;
}

// What nvcc's code calls.
extern void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *,
                                   int *);
extern cudaError_t __cudaGetKernel(cudaKernel_t *, const void *);
extern cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);

// Its first CUDA call is the runtime's, and its launches are calls of the driver inside calls of the runtime.
static int runtime(unsigned count)
{
  static char host;
  const char *name = "_ZN7runtime6kernelEPf";
  __cudaRegisterFunction(NULL, &host, NULL, name, -1, NULL, NULL, NULL, NULL, NULL);
  void *memory = NULL;
  cudaKernel_t kernel = NULL;
  must((CUresult)cudaMalloc(&memory, BYTES), "cudaMalloc");
  must((CUresult)cudaMemcpy(memory, input, BYTES, cudaMemcpyHostToDevice), "cudaMemcpy");
  tell("cudaMemcpy", "memcpy", "", (struct shape){0}, "HtoD", BYTES, NULL, 1);
  must((CUresult)cudaMemsetAsync(memory, 3, 50, NULL), "cudaMemsetAsync");
  tell("cudaMemsetAsync", "memset", "", (struct shape){0}, "", 50, NULL, 1);
  must((CUresult)__cudaGetKernel(&kernel, &host), "__cudaGetKernel");
  dim3 grid = {4, 2, 1}, block = {128, 1, 1};
  for (unsigned i = 0; i < count; i++) {
    must((CUresult)cudaLaunchKernel(&host, grid, block, NULL, 0, NULL), "cudaLaunchKernel");
    tell("cudaLaunchKernel", "kernel", name, small, "", 0, NULL, 1);
    must((CUresult)__cudaLaunchKernel(kernel, grid, block, NULL, 0, NULL), "__cudaLaunchKernel");
    tell("__cudaLaunchKernel", "kernel", name, small, "", 0, NULL, 1);
  }
  must((CUresult)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  must((CUresult)cudaMemcpy(output, memory, BYTES, cudaMemcpyDeviceToHost), "cudaMemcpy");
  tell("cudaMemcpy", "memcpy", "", (struct shape){0}, "DtoH", BYTES, NULL, 1);
  checksum("copied", output, BYTES);
  must((CUresult)cudaFree(memory), "cudaFree");
  return 0;
}

void launch_graph(CUgraph graph, CUstream stream, unsigned count)
{
  CUgraphExec executable = NULL;
  must(cuGraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
  for (unsigned i = 0; i < count; i++)
    must(cuGraphLaunch(executable, stream), "cuGraphLaunch");
  tell_recorded(stream, count);
  must(cuStreamSynchronize(stream), "cuStreamSynchronize");
  must(cuGraphExecDestroy(executable), "cuGraphExecDestroy");
  must(cuGraphDestroy(graph), "cuGraphDestroy");
}

// A graph of two captured streams, and one made by hand whose nodes do not wait for one another.
static int graph(unsigned count)
{
  CUfunction add = find_kernel("vector_add"), multiply = find_kernel("_Z6matmulPKfS0_Pfi");
  CUstream one = new_stream(), two = new_stream();
  CUdeviceptr memory = allocate(BYTES);
  CUevent forks = NULL, joins = NULL;
  CUgraph captured = NULL, made = NULL;
  must(cuEventCreate(&forks, 0), "cuEventCreate");
  must(cuEventCreate(&joins, 0), "cuEventCreate");
  recording_begin();
  must(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  copy_in(memory, input, BYTES, one);
  must(cuEventRecord(forks, one), "cuEventRecord");
  must(cuStreamWaitEvent(two, forks, 0), "cuStreamWaitEvent");
  launch(add, small, one);
  launch(multiply, wide, two);
  must(cuEventRecord(joins, two), "cuEventRecord");
  must(cuStreamWaitEvent(one, joins, 0), "cuStreamWaitEvent");
  set_bytes(memory, 5, 64, one);
  copy_out(output, memory, BYTES, one);
  must(cuStreamEndCapture(one, &captured), "cuStreamEndCapture");
  recording_end();
  launch_graph(captured, one, count);
  checksum("copied", output, BYTES);

  recording_begin();
  must(cuGraphCreate(&made, 0), "cuGraphCreate");
  for (unsigned i = 0; i < 6; i++) {
    CUDA_KERNEL_NODE_PARAMS node = {
        .func = add, .gridDimX = i + 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};
    CUgraphNode added = NULL;
    must(cuGraphAddKernelNode(&added, made, NULL, 0, &node), "cuGraphAddKernelNode");
    tell("cuGraphLaunch", "kernel", "vector_add", (struct shape){{i + 1, 1, 1}, {32, 1, 1}, 0}, "", 0, NULL, 1);
  }
  recording_end();
  launch_graph(made, two, count);
  launch(add, small, two); // a stream that was captured is as ever
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

static int contexts(unsigned count)
{
  CUcontext second = NULL, other = NULL;
  CUfunction add = find_kernel("vector_add");
  CUdeviceptr here = allocate(BYTES);
  copy_in(here, input, BYTES, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  must(cuCtxCreate(&second, NULL, 0, 0), "cuCtxCreate");
  CUstream stream = new_stream();
  for (unsigned i = 0; i < count; i++)
    launch(add, small, i % 2 ? stream : NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  must(cuCtxDestroy(second), "cuCtxDestroy");
  must(cuCtxCreate(&other, NULL, 0, 1), "cuCtxCreate");
  CUdeviceptr there = allocate(BYTES);
  copy_to_peer(there, other, here, context, BYTES);
  launch(add, wide, NULL);
  copy_out(output, there, BYTES, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  checksum("copied", output, BYTES);
  must(cuCtxDestroy(other), "cuCtxDestroy");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  launch(add, small, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

// The child cannot use CUDA, and ends as programs do.
static int forks(unsigned count)
{
  simple(count);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    printf("child: %d\n", cuCtxSynchronize());
    exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child ended with %d\n", WEXITSTATUS(status));
  simple(count);
  return 0;
}

static int fork_first(unsigned count)
{
  fflush(stdout);
  pid_t child = fork();
  if (child == 0)
    exit(start() ? simple(count) : 4);
  int status = 0;
  waitpid(child, &status, 0);
  printf("child ended with %d\n", WEXITSTATUS(status));
  return 0;
}

static void launch_many(unsigned count)
{
  CUfunction add = find_kernel("vector_add");
  CUstream stream = new_stream();
  for (unsigned i = 0; i < count; i++)
    must(cuLaunchKernel(add, 4, 2, 1, 128, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
  tell("cuLaunchKernel", "kernel", "vector_add", small, "", 0, stream, count);
}

static int many(unsigned count)
{
  launch_many(count);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

static int threads(unsigned count)
{
  pthread_t threads[THREADS_MAXIMUM];
  unsigned launches = 50;
  for (unsigned i = 0; i < count && i < THREADS_MAXIMUM; i++)
    pthread_create(&threads[i], NULL, launch_in_thread, &launches);
  for (unsigned i = 0; i < count && i < THREADS_MAXIMUM; i++)
    pthread_join(threads[i], NULL);
  return 0;
}

static int names(unsigned count)
{
  (void)count;
  char name[9001];
  static const size_t lengths[] = {1, 63, 64, 65, 1000, 9000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    memset(name, 'a' + (int)i, lengths[i]);
    name[lengths[i]] = '\0';
    launch(find_kernel(name), small, NULL);
  }
  launch(find_kernel("quote\" back\\slash <b> 日本 é"), small, NULL);
  launch(
      find_kernel("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"),
      small, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

// A call that fails launches nothing.
static int errors(unsigned count)
{
  CUfunction add = find_kernel("vector_add");
  for (unsigned i = 0; i < count; i++) {
    printf("refused: %d\n", cuLaunchKernel(add, 0, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    launch(add, small, NULL);
  }
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

// Kernels end after the ranges that they were launched in.
static int ranges(unsigned count)
{
  char name[32];
  CUstream stream = new_stream();
  for (unsigned i = 0; i < count; i++) {
    snprintf(name, sizeof name, "step %u", i);
    nvtxRangePushA(name);
    snprintf(name, sizeof name, "of_step_%u", i);
    launch(find_kernel(name), small, stream);
    nvtxRangePop();
  }
  must(cuStreamSynchronize(stream), "cuStreamSynchronize");
  return 0;
}

// Code with lines of source, whose module is unloaded and loaded again; and a kernel whose code nobody has.
static int samples(unsigned count)
{
  static char code[65536];
  const char *path = getenv("XSP_SIM_CODE");
  FILE *file = path ? fopen(path, "rb") : NULL;
  if (!file || fread(code, 1, sizeof code, file) == 0)
    return 2;
  fclose(file);
  for (int time = 0; time < 2; time++) {
    CUmodule module;
    CUfunction saxpy, sum;
    must(cuModuleLoadData(&module, code), "cuModuleLoadData");
    must(cuModuleGetFunction(&saxpy, module, "saxpy"), "cuModuleGetFunction");
    must(cuModuleGetFunction(&sum, module, "_Z10sum_blocksPfPKf"), "cuModuleGetFunction");
    for (unsigned i = 0; i < count; i++)
      launch(saxpy, small, NULL);
    launch(sum, wide, NULL);
    if (time == 0)
      must(cuModuleUnload(module), "cuModuleUnload");
  }
  launch(find_kernel("other"), small, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}

int run_mode(const char *mode, unsigned count)
{
  for (size_t i = 0; i < BYTES; i++)
    input[i] = (unsigned char)(i * 7);
  static const struct {
    const char *name;
    int (*run)(unsigned count);
  } modes[] = {{"simple", simple},     {"graph", graph},
               {"contexts", contexts}, {"fork", forks},
               {"many", many},         {"threads", threads},
               {"names", names},       {"errors", errors},
               {"ranges", ranges},     {"captured", captured_layers},
               {"pools", pools},       {"thief", thief},
               {"samples", samples},   {"replayed", replayed_layers}};
  if (strcmp(mode, "runtime") == 0)
    return runtime(count);
  if (strcmp(mode, "fork-first") == 0)
    return fork_first(count);
  if (!start())
    return 4;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
    if (strcmp(mode, modes[i].name) == 0)
      return modes[i].run(count);
  int status = run_metrics_mode(mode, count);
  if (status != -1)
    return status;
  bool is_known = !strcmp(mode, "leave") || !strcmp(mode, "leave-at-once") || !strcmp(mode, "abort");
  if (!is_known)
    return -1;
  launch_many(count);
  if (strcmp(mode, "leave-at-once") == 0)
    _exit(8);
  if (strcmp(mode, "abort") == 0)
    abort();
  exit(7);
}
