// SPDX-License-Identifier: Apache-2.0
// The simulated libcudart: kernels registered as nvcc's code does it, and calls that call the driver's, so that one launch
// is two calls with one correlation id.
#include "simulator.h"

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>

#define KERNELS_MAXIMUM 256

static struct {
  const void *host;
  CUfunction function;
  const char *name;
} kernels[KERNELS_MAXIMUM];
static unsigned registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int is_bound;

// What nvcc's code calls before main.
EXPORTED void **__cudaRegisterFatBinary(void *binary);
EXPORTED void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                                     void *thread, void *block, void *block_size, void *grid_size, int *warp);
EXPORTED cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
EXPORTED cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared_bytes, cudaStream_t stream);

void **__cudaRegisterFatBinary(void *binary)
{
  return binary;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, void *block_size, void *grid_size, int *warp)
{
  (void)handle, (void)device, (void)limit, (void)thread, (void)block, (void)block_size, (void)grid_size, (void)warp;
  if (registered < KERNELS_MAXIMUM) {
    kernels[registered].host = host;
    kernels[registered++].name = name;
  }
}

static cudaError_t bind_device(void)
{
  if (is_bound)
    return cudaSuccess;
  CUcontext context = NULL;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS)
    result = cuDevicePrimaryCtxRetain(&context, 0);
  if (result == CUDA_SUCCESS)
    result = cuCtxSetCurrent(context);
  is_bound = result == CUDA_SUCCESS;
  return (cudaError_t)result;
}

#define RUNTIME_CALL(name, symbol)                                                                                     \
  cudaError_t unbound = bind_device();                                                                                 \
  if (unbound != cudaSuccess)                                                                                          \
    return unbound;                                                                                                    \
  struct simulator_call call;                                                                                          \
  CUresult refused = simulator_begin(&call, SIMULATOR_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_##name, symbol, NULL);         \
  if (refused != CUDA_SUCCESS)                                                                                         \
  return (cudaError_t)refused
#define RETURN(result) return (cudaError_t)simulator_end(&call, (int)(result)) // the numbers of common errors are equal

static unsigned find(const void *host)
{
  unsigned i = 0;
  while (i < registered && kernels[i].host != host)
    i++;
  return i;
}

static CUresult launch(unsigned i, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream)
{
  CUresult result = CUDA_SUCCESS;
  pthread_mutex_lock(&lock);
  if (!kernels[i].function)
    result = cuModuleGetFunction(&kernels[i].function, NULL, kernels[i].name);
  pthread_mutex_unlock(&lock);
  if (result != CUDA_SUCCESS)
    return result;
  return cuLaunchKernel(kernels[i].function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared_bytes,
                        stream, NULL, NULL);
}

EXPORTED cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                                      cudaStream_t stream)
{
  (void)arguments;
  unsigned i = find(host);
  if (i == registered)
    return cudaErrorInvalidDeviceFunction;
  RUNTIME_CALL(cudaLaunchKernel_v7000, kernels[i].name);
  RETURN(launch(i, grid, block, shared_bytes, stream));
}

// nvcc 13 compiles <<<>>> to these two.
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
  unsigned i = find(host);
  if (i == registered)
    return cudaErrorInvalidDeviceFunction;
  *kernel = (cudaKernel_t)&kernels[i];
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                               cudaStream_t stream)
{
  (void)arguments;
  unsigned i = (unsigned)((size_t)((char *)kernel - (char *)kernels) / sizeof kernels[0]);
  RUNTIME_CALL(__cudaLaunchKernel_v13000, kernels[i].name);
  RETURN(launch(i, grid, block, shared_bytes, stream));
}

EXPORTED cudaError_t cudaGetDeviceCount(int *count)
{
  RUNTIME_CALL(cudaGetDeviceCount_v3020, NULL);
  RETURN(cuDeviceGetCount(count));
}

EXPORTED cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
  RUNTIME_CALL(cudaMalloc_v3020, NULL);
  RETURN(cuMemAlloc((CUdeviceptr *)pointer, bytes));
}

EXPORTED cudaError_t cudaFree(void *pointer)
{
  RUNTIME_CALL(cudaFree_v3020, NULL);
  RETURN(cuMemFree((CUdeviceptr)pointer));
}

static CUresult copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
  switch (kind) {
  case cudaMemcpyHostToDevice:
    return cuMemcpyHtoDAsync((CUdeviceptr)to, from, bytes, stream);
  case cudaMemcpyDeviceToHost:
    return cuMemcpyDtoHAsync(to, (CUdeviceptr)from, bytes, stream);
  case cudaMemcpyDeviceToDevice:
    return cuMemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

EXPORTED cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                     cudaStream_t stream)
{
  RUNTIME_CALL(cudaMemcpyAsync_v3020, NULL);
  RETURN(copy(to, from, bytes, kind, stream));
}

EXPORTED cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  RUNTIME_CALL(cudaMemcpy_v3020, NULL);
  CUresult result = copy(to, from, bytes, kind, NULL);
  if (result == CUDA_SUCCESS)
    result = cuStreamSynchronize(NULL);
  RETURN(result);
}

EXPORTED cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
  RUNTIME_CALL(cudaMemsetAsync_v3020, NULL);
  RETURN(cuMemsetD8Async((CUdeviceptr)to, (unsigned char)value, bytes, stream));
}

EXPORTED cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
  RUNTIME_CALL(cudaStreamSynchronize_v3020, NULL);
  RETURN(cuStreamSynchronize(stream));
}

EXPORTED cudaError_t cudaDeviceSynchronize(void)
{
  RUNTIME_CALL(cudaDeviceSynchronize_v3020, NULL);
  RETURN(cuCtxSynchronize());
}
