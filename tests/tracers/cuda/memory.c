// SPDX-License-Identifier: Apache-2.0
// The simulated libcuda: memory, and pools of it. A pool takes memory of the device in blocks, and keeps it until it is trimmed.
#include "device.h"

#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>

#define HEAD 64 // before the memory: struct head
#define BLOCK ((uint64_t)2 << 20)

struct CUmemPoolHandle_st {
  uint32_t device;
  uint64_t bytes, used_bytes;
};
struct head {
  uint64_t bytes;
  CUmemoryPool pool;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t allocated[DEVICES];
static struct CUmemPoolHandle_st default_pools[DEVICES];
static struct pinned { // never released
  const char *start;
  size_t bytes;
} pinned[16];
static unsigned pinned_count;

static void tell(const struct simulator_call *call, enum simulator_memory_change change, uint64_t address,
                 uint64_t bytes, CUmemoryPool pool, CUstream stream)
{
  CUcontext context = context_current();
  struct simulator_memory memory = {.change = change,
                                    .address = address,
                                    .bytes = bytes,
                                    .correlation_id = call->correlation_id,
                                    .device = pool ? pool->device : context->device,
                                    .context_id = context->id,
                                    .stream_id = stream ? stream->id : UINT32_MAX,
                                    .pool = (uint64_t)pool};
  bool is_release = change == SIMULATOR_RELEASED, is_allocation = change == SIMULATOR_ALLOCATED;
  pthread_mutex_lock(&lock);
  if (pool && (is_allocation || is_release))
    pool->used_bytes += is_release ? -bytes : bytes;
  if (pool && pool->used_bytes > pool->bytes)
    pool->bytes = (pool->used_bytes + BLOCK - 1) / BLOCK * BLOCK;
  if (pool && change == SIMULATOR_POOL_TRIMMED)
    pool->bytes = pool->used_bytes > bytes ? pool->used_bytes : bytes;
  if (is_allocation || is_release)
    allocated[memory.device] += is_release ? -bytes : bytes;
  memory.allocated_bytes = allocated[memory.device];
  memory.pool_bytes = pool ? pool->bytes : 0;
  memory.pool_used_bytes = pool ? pool->used_bytes : 0;
  memory.at_ns = simulator_now_ns();
  TELL(memory_changed, &memory); // under the lock, so that a flush has all that happened before it
  pthread_mutex_unlock(&lock);
}

static CUresult allocate(const struct simulator_call *call, CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool,
                         CUstream stream)
{
  if (!context_current())
    return CUDA_ERROR_INVALID_CONTEXT;
  struct head *head = calloc(1, HEAD + bytes);
  if (!head)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *head = (struct head){bytes, pool};
  *pointer = (CUdeviceptr)head + HEAD;
  tell(call, SIMULATOR_ALLOCATED, *pointer, bytes, pool, stream);
  return CUDA_SUCCESS;
}

static CUresult release(const struct simulator_call *call, CUdeviceptr pointer, CUstream stream)
{
  if (!context_current())
    return CUDA_ERROR_INVALID_CONTEXT;
  device_wait_context(context_current()); // as real ones do; of pools, the simulator's own way
  struct head *head = (struct head *)(pointer - HEAD);
  tell(call, SIMULATOR_RELEASED, pointer, head->bytes, head->pool, stream);
  free(head);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  DRIVER_CALL(cuMemAlloc_v2, NULL);
  RETURN(allocate(&call, pointer, bytes, NULL, NULL));
}

EXPORTED CUresult cuMemFree(CUdeviceptr pointer)
{
  DRIVER_CALL(cuMemFree_v2, NULL);
  RETURN(release(&call, pointer, NULL));
}

EXPORTED CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
  (void)flags;
  DRIVER_CALL(cuMemHostAlloc, NULL);
  *memory = calloc(1, bytes);
  pthread_mutex_lock(&lock);
  if (*memory && pinned_count < sizeof pinned / sizeof pinned[0])
    pinned[pinned_count++] = (struct pinned){*memory, bytes};
  pthread_mutex_unlock(&lock);
  RETURN(*memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

bool device_is_pinned(const void *memory)
{
  bool is_pinned = false;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < pinned_count; i++)
    is_pinned |= (const char *)memory >= pinned[i].start && (const char *)memory < pinned[i].start + pinned[i].bytes;
  pthread_mutex_unlock(&lock);
  return is_pinned;
}

// ---- pools -----------------------------------------------------------------------------------------------------------
EXPORTED CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
  DRIVER_CALL(cuMemPoolCreate, NULL);
  *pool = calloc(1, sizeof **pool);
  (*pool)->device = (uint32_t)properties->location.id;
  tell(&call, SIMULATOR_POOL_CREATED, 0, 0, *pool, NULL);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes_to_keep)
{
  DRIVER_CALL(cuMemPoolTrimTo, NULL);
  tell(&call, SIMULATOR_POOL_TRIMMED, 0, bytes_to_keep, pool, NULL);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
  DRIVER_CALL(cuMemPoolDestroy, NULL);
  tell(&call, SIMULATOR_POOL_DESTROYED, 0, 0, pool, NULL);
  free(pool);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
  DRIVER_CALL(cuMemAllocAsync, NULL);
  CUmemoryPool pool = context_current() ? &default_pools[context_current()->device] : NULL;
  if (pool)
    pool->device = context_current()->device;
  RETURN(allocate(&call, pointer, bytes, pool, stream_of(stream)));
}

EXPORTED CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)
{
  DRIVER_CALL(cuMemAllocFromPoolAsync, NULL);
  RETURN(allocate(&call, pointer, bytes, pool, stream_of(stream)));
}

EXPORTED CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
  DRIVER_CALL(cuMemFreeAsync, NULL);
  RETURN(release(&call, pointer, stream_of(stream)));
}
