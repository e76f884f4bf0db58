// SPDX-License-Identifier: Apache-2.0
// The simulated libcuda: cuInit with its injection, devices, contexts, modules and functions. driver_work.c has what the
// device does, graphs.c graphs. Handles are never freed, as a use after the end is to be found by its effects only.
#include "device.h"

#include <cupti.h>
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXTS_DEEP 16

static enum { NOT_STARTED, STARTED, AFTER_FORK } state;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUresult init_result;
static uint32_t contexts, streams = DEFAULT_STREAM_ID, correlations;
static pthread_mutex_t primaries_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[DEVICES];
static _Thread_local CUcontext stack[CONTEXTS_DEEP];
static _Thread_local int depth, calls_deep;
static _Thread_local uint32_t correlation;

CUcontext context_current(void)
{
  return depth > 0 ? stack[depth - 1] : NULL;
}

CUresult simulator_begin(struct simulator_call *call, enum simulator_api api, uint32_t cbid, const char *symbol,
                         const void *parameters)
{
  if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != STARTED)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (calls_deep++ == 0) // a driver call inside a runtime call shares its correlation id
    correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
  CUcontext context = context_current();
  *call = (struct simulator_call){
      .api = api, .cbid = cbid, .correlation_id = correlation, .symbol = symbol, .parameters = parameters};
  call->context = context;
  call->context_id = context ? context->id : 0;
  call->start_ns = simulator_now_ns();
  TELL(call_begins, call);
  return CUDA_SUCCESS;
}

int simulator_end(struct simulator_call *call, int result)
{
  call->result = result;
  call->end_ns = simulator_now_ns();
  TELL(call_ended, call);
  calls_deep--;
  return result;
}

static void after_fork(void)
{
  if (state == STARTED)
    state = AFTER_FORK;
}

static void inject(void)
{
  const char *path = getenv("CUDA_INJECTION64_PATH");
  if (!path || !*path || strcmp(path, "none") == 0)
    return;
  void *library = dlopen(path, RTLD_NOW);
  int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
  if (initialize)
    initialize();
  else
    fprintf(stderr, "simulator: cannot inject %s: %s\n", path, dlerror());
}

static void start(void)
{
  pthread_atfork(NULL, NULL, after_fork);
  if (simulator_has_fault("no-device")) {
    init_result = CUDA_ERROR_NO_DEVICE;
    return;
  }
  inject(); // before anything else
  if (!device_start()) {
    init_result = CUDA_ERROR_UNKNOWN;
    return;
  }
  __atomic_store_n(&state, STARTED, __ATOMIC_RELEASE);
}

EXPORTED CUresult cuInit(unsigned flags)
{
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (state == AFTER_FORK)
    return CUDA_ERROR_NOT_INITIALIZED;
  pthread_once(&once, start);
  return init_result;
}

EXPORTED CUresult cuDriverGetVersion(int *version)
{
  *version = 13010;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetCount(int *count)
{
  DRIVER_CALL(cuDeviceGetCount, NULL);
  *count = DEVICES;
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
  DRIVER_CALL(cuDeviceGet, NULL);
  *device = ordinal;
  RETURN(ordinal >= 0 && ordinal < DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

EXPORTED CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
  DRIVER_CALL(cuDeviceGetName, NULL);
  snprintf(name, (size_t)size, "Simulated GPU %d", device);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
  (void)device;
  DRIVER_CALL(cuDeviceGetAttribute, NULL);
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE          ? 65536
           : attribute == CU_DEVICE_ATTRIBUTE_MPS_ENABLED            ? simulator_has_fault("mps")
                                                                     : 0;
  RETURN(CUDA_SUCCESS);
}

CUstream stream_create(CUcontext context, bool is_non_blocking)
{
  CUstream stream = calloc(1, sizeof(struct CUstream_st));
  stream->context = context;
  stream->is_non_blocking = is_non_blocking;
  stream->id = __atomic_fetch_add(&streams, 1, __ATOMIC_RELAXED);
  return stream;
}

CUcontext context_create(uint32_t device, bool is_primary)
{
  CUcontext context = calloc(1, sizeof(struct CUctx_st));
  context->id = __atomic_add_fetch(&contexts, 1, __ATOMIC_RELAXED);
  context->device = device;
  context->is_primary = is_primary;
  context->default_stream = stream_create(context, false);
  return context;
}

EXPORTED CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
  DRIVER_CALL(cuDevicePrimaryCtxRetain, NULL);
  if (device < 0 || device >= DEVICES)
    RETURN(CUDA_ERROR_INVALID_DEVICE);
  pthread_mutex_lock(&primaries_lock);
  bool is_new = !primaries[device];
  if (is_new)
    primaries[device] = context_create((uint32_t)device, true);
  *context = primaries[device];
  pthread_mutex_unlock(&primaries_lock);
  if (is_new)
    TELL(context_changed, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *context);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
  (void)device;
  DRIVER_CALL(cuDevicePrimaryCtxRelease_v2, NULL);
  RETURN(CUDA_SUCCESS);
}

static CUresult push(CUcontext context)
{
  if (depth == CONTEXTS_DEEP)
    return CUDA_ERROR_OUT_OF_MEMORY;
  stack[depth++] = context;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxCreate(CUcontext *context, CUctxCreateParams *parameters, unsigned flags, CUdevice device)
{
  (void)parameters, (void)flags;
  DRIVER_CALL(cuCtxCreate_v4, NULL);
  if (device < 0 || device >= DEVICES)
    RETURN(CUDA_ERROR_INVALID_DEVICE);
  *context = context_create((uint32_t)device, false);
  TELL(context_changed, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *context);
  RETURN(push(*context));
}

EXPORTED CUresult cuCtxDestroy(CUcontext context)
{
  DRIVER_CALL(cuCtxDestroy_v2, NULL);
  TELL(context_changed, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context);
  device_wait_context(context);
  if (context_current() == context)
    depth--;
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuCtxSetCurrent(CUcontext context)
{
  DRIVER_CALL(cuCtxSetCurrent, NULL);
  if (depth > 0)
    depth--;
  RETURN(context ? push(context) : CUDA_SUCCESS);
}

EXPORTED CUresult cuCtxGetCurrent(CUcontext *context)
{
  DRIVER_CALL(cuCtxGetCurrent, NULL);
  *context = context_current();
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuCtxPushCurrent(CUcontext context)
{
  DRIVER_CALL(cuCtxPushCurrent_v2, NULL);
  RETURN(push(context));
}

EXPORTED CUresult cuCtxPopCurrent(CUcontext *context)
{
  DRIVER_CALL(cuCtxPopCurrent_v2, NULL);
  if (depth == 0)
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  depth--;
  if (context)
    *context = stack[depth];
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuCtxGetDevice(CUdevice *device)
{
  DRIVER_CALL(cuCtxGetDevice, NULL);
  if (!context_current())
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  *device = (CUdevice)context_current()->device;
  RETURN(CUDA_SUCCESS);
}

// The number that CUPTI gives it, as for streams.
EXPORTED CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
  DRIVER_CALL(cuCtxGetId, NULL);
  context = context ? context : context_current();
  if (!context)
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  *id = context->id;
  RETURN(CUDA_SUCCESS);
}

// Of a file of code, which ends with its tables; 0 of anything else.
static size_t code_size(const char *image)
{
  Elf64_Ehdr head;
  if (strncmp(image, ELFMAG, SELFMAG) != 0)
    return 0;
  memcpy(&head, image, sizeof head);
  size_t sections = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
  size_t segments = head.e_phoff + (size_t)head.e_phnum * head.e_phentsize;
  return sections > segments ? sections : segments;
}

EXPORTED CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
  DRIVER_CALL(cuModuleLoadData, NULL);
  *module = calloc(1, sizeof(struct CUmod_st));
  (*module)->size = code_size(image);
  (*module)->image = malloc((*module)->size + 1);
  memcpy((*module)->image, image, (*module)->size);
  TELL(module_changed, CUPTI_CBID_RESOURCE_MODULE_LOADED, context_current(), (*module)->image, (*module)->size);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuModuleUnload(CUmodule module)
{
  DRIVER_CALL(cuModuleUnload, NULL);
  device_wait_context(context_current());
  TELL(module_changed, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, context_current(), module->image, module->size);
  free(module);
  RETURN(CUDA_SUCCESS);
}

// Any name is there.
EXPORTED CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
  (void)module;
  DRIVER_CALL(cuModuleGetFunction, NULL);
  *function = calloc(1, sizeof(struct CUfunc_st));
  (*function)->name = strdup(name);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuFuncGetName(const char **name, CUfunction function)
{
  DRIVER_CALL(cuFuncGetName, NULL);
  *name = function->name;
  RETURN(CUDA_SUCCESS);
}
