// SPDX-License-Identifier: Apache-2.0
// cuda_workload: another tool in the program, which takes CUPTI's records as torch.profiler does: it registers its own functions
// for buffers and does not subscribe.
#include "workload.h"

#include <cupti.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 20)

static void give(uint8_t **buffer, size_t *size, size_t *most_records)
{
  *buffer = malloc(BUFFER_BYTES);
  *size = BUFFER_BYTES;
  *most_records = 0;
}

static void take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
  (void)context, (void)stream, (void)size, (void)valid;
  free(buffer);
}

// Where nobody traces the program, there is no libcupti.
int thief(unsigned count)
{
  __typeof__(&cuptiActivityRegisterCallbacks) register_callbacks = NULL;
  __typeof__(&cuptiActivityFlushAll) flush = NULL;
  int (*wants)(CUpti_CallbackDomain, CUpti_CallbackId) = NULL;
  const char *path = getenv("XSP_LIBRARY_CUPTI");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
  if (library) {
    *(void **)&register_callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
    *(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
    *(void **)&wants = dlsym(library, "cuptiSimulatorWants");
  }
  CUfunction kernel = find_kernel("vector_add");
  for (unsigned i = 0; i < count; i++)
    launch(kernel, (struct shape){{1, 1, 1}, {32, 1, 1}, 0}, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  if (register_callbacks && flush && wants) {
    flush(1);
    register_callbacks(give, take);
    for (unsigned i = 0; i < 6000 && !wants(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel); i++)
      usleep(10000);
  }
  launch(find_kernel("after_the_theft"), (struct shape){{1, 1, 1}, {32, 1, 1}, 0}, NULL);
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}
