// SPDX-License-Identifier: Apache-2.0
// cuda_workload MODE TRUTH [COUNT]: a program that uses a GPU, for tests/tracers/test_cuda.py. It appends what it did to the
// file TRUTH, line by line, so that the truth is there however it ends. Standard output shows that copies copied.
#include "workload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDED_MAXIMUM 64

struct done {
  const char *api, *operation, *name, *copy;
  struct shape shape;
  size_t bytes;
};
static FILE *truth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_recording;
static struct done recorded[RECORDED_MAXIMUM];
static unsigned recorded_count, launches;

void must(CUresult result, const char *what)
{
  if (result == CUDA_SUCCESS)
    return;
  printf("%s failed: %d\n", what, result);
  exit(3);
}

static void print_name(const char *name)
{
  for (const unsigned char *at = (const unsigned char *)name; *at; at++)
    if (*at == '"' || *at == '\\' || *at < 0x20)
      fprintf(truth, "\\u%04x", *at);
    else
      putc(*at, truth);
}

// Under the lock. `number`: operations of one launch share it.
static void print(const struct done *done, CUstream stream, unsigned number, unsigned times, bool is_graph)
{
  unsigned long long stream_id = 0, context_id = 0;
  CUdevice device = -1;
  must(cuStreamGetId(stream, &stream_id), "cuStreamGetId");
  must(cuCtxGetId(NULL, &context_id), "cuCtxGetId");
  must(cuCtxGetDevice(&device), "cuCtxGetDevice");
  const struct shape *shape = &done->shape;
  fprintf(truth, "{\"api\": \"%s\", \"operation\": \"%s\", \"name\": \"", is_graph ? "cuGraphLaunch" : done->api,
          done->operation);
  print_name(done->name);
  fprintf(truth,
          "\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, \"copy\": \"%s\", \"bytes\": %zu, "
          "\"device\": %d, \"context\": %llu, \"stream\": %llu, \"process\": %d, \"thread\": %d, \"launch\": %u, "
          "\"times\": %u}\n",
          shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
          shape->shared_bytes, done->copy, done->bytes, device, context_id, stream_id, getpid(), gettid(), number,
          times);
  fflush(truth);
}

void tell(const char *api, const char *operation, const char *name, struct shape shape, const char *copy, size_t bytes,
          CUstream stream, unsigned times)
{
  struct done done = {.api = api, .operation = operation, .name = name, .copy = copy, .shape = shape, .bytes = bytes};
  pthread_mutex_lock(&lock);
  if (!is_recording)
    print(&done, stream, ++launches, times, false);
  else if (recorded_count < RECORDED_MAXIMUM)
    recorded[recorded_count++] = done;
  pthread_mutex_unlock(&lock);
}

void recording_begin(void)
{
  recorded_count = 0;
  is_recording = true;
}

void recording_end(void)
{
  is_recording = false;
}

void tell_recorded(CUstream stream, unsigned times)
{
  pthread_mutex_lock(&lock);
  while (times-- > 0) {
    launches++;
    for (unsigned i = 0; i < recorded_count; i++)
      print(&recorded[i], stream, launches, 1, true);
  }
  pthread_mutex_unlock(&lock);
}

CUfunction find_kernel(const char *name)
{
  static CUmodule module;
  CUfunction kernel = NULL;
  if (!module)
    must(cuModuleLoadData(&module, "image"), "cuModuleLoadData");
  must(cuModuleGetFunction(&kernel, module, name), "cuModuleGetFunction");
  return kernel;
}

CUdeviceptr allocate(size_t bytes)
{
  CUdeviceptr memory = 0;
  must(cuMemAlloc(&memory, bytes), "cuMemAlloc");
  return memory;
}

void launch(CUfunction kernel, struct shape s, CUstream stream)
{
  const char *name = "";
  must(cuFuncGetName(&name, kernel), "cuFuncGetName");
  must(cuLaunchKernel(kernel, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.shared_bytes,
                      stream, NULL, NULL),
       "cuLaunchKernel");
  tell("cuLaunchKernel", "kernel", name, s, "", 0, stream, 1);
}

void copy_in(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
  must(cuMemcpyHtoDAsync(to, from, bytes, stream), "cuMemcpyHtoDAsync");
  tell("cuMemcpyHtoDAsync", "memcpy", "", (struct shape){0}, "HtoD", bytes, stream, 1);
}

void copy_out(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  must(cuMemcpyDtoHAsync(to, from, bytes, stream), "cuMemcpyDtoHAsync");
  tell("cuMemcpyDtoHAsync", "memcpy", "", (struct shape){0}, "DtoH", bytes, stream, 1);
}

void copy_inside(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  must(cuMemcpyDtoDAsync(to, from, bytes, stream), "cuMemcpyDtoDAsync");
  tell("cuMemcpyDtoDAsync", "memcpy", "", (struct shape){0}, "DtoD", bytes, stream, 1);
}

void copy_to_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
{
  must(cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, NULL), "cuMemcpyPeerAsync");
  tell("cuMemcpyPeerAsync", "memcpy", "", (struct shape){0}, "PtoP", bytes, NULL, 1);
}

void set_bytes(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
  must(cuMemsetD8Async(to, value, bytes, stream), "cuMemsetD8Async");
  tell("cuMemsetD8Async", "memset", "", (struct shape){0}, "", bytes, stream, 1);
}

void checksum(const char *what, const unsigned char *bytes, size_t count)
{
  unsigned long sum = 0;
  for (size_t i = 0; i < count; i++)
    sum = sum * 31 + bytes[i];
  printf("%s %lu\n", what, sum);
}

int main(int count, char **arguments)
{
  if (count < 3)
    return 2;
  truth = fopen(arguments[2], "a");
  if (!truth)
    return 2;
  int status = run_mode(arguments[1], count > 3 ? (unsigned)atoi(arguments[3]) : 10);
  if (status < 0)
    fprintf(stderr, "no mode %s\n", arguments[1]);
  return status < 0 ? 2 : status;
}
