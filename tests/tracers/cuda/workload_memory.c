// SPDX-License-Identifier: Apache-2.0
// cuda_workload: pools of memory.
#include "workload.h"

#include <pthread.h>

static CUcontext shared;

static void *use_pool(void *unused)
{
  CUdeviceptr memory[4];
  must(cuCtxSetCurrent(shared), "cuCtxSetCurrent");
  CUstream stream = new_stream();
  for (unsigned round = 0; round < 50; round++) {
    for (unsigned i = 0; i < 4; i++)
      must(cuMemAllocAsync(&memory[i], 1000 * (i + 1), stream), "cuMemAllocAsync");
    for (unsigned i = 0; i < 4; i++)
      must(cuMemFreeAsync(memory[i], stream), "cuMemFreeAsync");
  }
  return unused;
}

// A pool of its own: 3 MiB and 5 MiB, of which 3 MiB are given back before it is trimmed to 1 MiB. Then threads use the
// device's own pool at once.
int pools(unsigned count)
{
  CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
  CUmemoryPool pool = NULL;
  CUdeviceptr small_part = 0, large_part = 0;
  CUstream stream = new_stream();
  pthread_t threads[8];
  must(cuMemPoolCreate(&pool, &properties), "cuMemPoolCreate");
  must(cuMemAllocFromPoolAsync(&small_part, 3 << 20, pool, stream), "cuMemAllocFromPoolAsync");
  must(cuMemAllocFromPoolAsync(&large_part, 5 << 20, pool, stream), "cuMemAllocFromPoolAsync");
  must(cuMemFreeAsync(small_part, stream), "cuMemFreeAsync");
  must(cuMemPoolTrimTo(pool, 1 << 20), "cuMemPoolTrimTo");
  must(cuMemFreeAsync(large_part, stream), "cuMemFreeAsync");
  must(cuMemPoolDestroy(pool), "cuMemPoolDestroy");
  must(cuCtxGetCurrent(&shared), "cuCtxGetCurrent");
  for (unsigned i = 0; i < count && i < 8; i++)
    pthread_create(&threads[i], NULL, use_pool, NULL);
  for (unsigned i = 0; i < count && i < 8; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
