// SPDX-License-Identifier: Apache-2.0
// The simulated libcuda: what gives the device work and what waits for it. Launches, copies, sets, streams, events.
#include "device.h"

#include <cupti.h>
#include <stdlib.h>

static uint32_t events;

CUstream stream_of(CUstream stream)
{
  if (stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD)
    return stream;
  return context_current() ? context_current()->default_stream : NULL;
}

uint32_t simulator_context_device(CUcontext context)
{
  return context->device;
}

uint32_t simulator_stream_id(CUcontext context, CUstream stream)
{
  return stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD ? stream->id
                                                                                : context->default_stream->id;
}

static CUresult launch(const struct simulator_call *call, CUfunction function, const CUlaunchConfig *shape,
                       void **arguments)
{
  CUstream stream = stream_of(shape->hStream);
  if (!stream)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (shape->gridDimX == 0 || shape->blockDimX == 0 || shape->blockDimX > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  struct simulator_operation operation = {.kind = SIMULATOR_KERNEL,
                                          .name = function->name,
                                          .correlation_id = call->correlation_id,
                                          .grid = {shape->gridDimX, shape->gridDimY, shape->gridDimZ},
                                          .block = {shape->blockDimX, shape->blockDimY, shape->blockDimZ},
                                          .shared_bytes = shape->sharedMemBytes};
  kernels_take(&operation, arguments);
  return device_enqueue(stream, &operation);
}

EXPORTED CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 CUstream stream, void **parameters, void **extra)
{
  const cuLaunchKernel_params given = {function, grid_x,       grid_y, grid_z,     block_x, block_y,
                                       block_z,  shared_bytes, stream, parameters, extra};
  DRIVER_CALL_WITH(cuLaunchKernel, function->name, &given);
  CUlaunchConfig shape = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, NULL, 0};
  RETURN(launch(&call, function, &shape, parameters));
}

EXPORTED CUresult cuLaunchKernelEx(const CUlaunchConfig *shape, CUfunction function, void **parameters, void **extra)
{
  const cuLaunchKernelEx_params given = {shape, function, parameters, extra};
  DRIVER_CALL_WITH(cuLaunchKernelEx, function->name, &given);
  RETURN(launch(&call, function, shape, parameters));
}

struct copy {
  enum simulator_kind kind;
  uint8_t copy_kind, value;
  bool is_async;
};

static CUresult copy(const struct simulator_call *call, struct copy what, void *to, const void *from, size_t bytes,
                     CUstream stream)
{
  stream = stream_of(stream);
  if (!stream)
    return CUDA_ERROR_INVALID_CONTEXT;
  struct simulator_operation operation = {.kind = what.kind,
                                          .copy_kind = what.copy_kind,
                                          .value = what.value,
                                          .is_async = what.is_async,
                                          .is_pinned = device_is_pinned(to) || device_is_pinned(from),
                                          .to = to,
                                          .from = from,
                                          .bytes = bytes,
                                          .correlation_id = call->correlation_id};
  CUresult result = device_enqueue(stream, &operation);
  if (result == CUDA_SUCCESS && !what.is_async && !graph_has(stream))
    device_wait_stream(stream);
  return result;
}
#define HOST_TO_DEVICE CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
#define DEVICE_TO_HOST CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
#define DEVICE_TO_DEVICE CUPTI_ACTIVITY_MEMCPY_KIND_DTOD

// clang-format off
EXPORTED CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
  DRIVER_CALL(cuMemcpyHtoD_v2, NULL);
  RETURN(copy(&call, (struct copy){SIMULATOR_MEMCPY, HOST_TO_DEVICE, 0, false}, (void *)to, from, bytes, NULL));
}
EXPORTED CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
  DRIVER_CALL(cuMemcpyHtoDAsync_v2, NULL);
  RETURN(copy(&call, (struct copy){SIMULATOR_MEMCPY, HOST_TO_DEVICE, 0, true}, (void *)to, from, bytes, stream));
}
EXPORTED CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
  DRIVER_CALL(cuMemcpyDtoH_v2, NULL);
  RETURN(copy(&call, (struct copy){SIMULATOR_MEMCPY, DEVICE_TO_HOST, 0, false}, to, (void *)from, bytes, NULL));
}
EXPORTED CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  DRIVER_CALL(cuMemcpyDtoHAsync_v2, NULL);
  RETURN(copy(&call, (struct copy){SIMULATOR_MEMCPY, DEVICE_TO_HOST, 0, true}, to, (void *)from, bytes, stream));
}
EXPORTED CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
  DRIVER_CALL(cuMemcpyDtoD_v2, NULL);
  RETURN(copy(&call, (struct copy){SIMULATOR_MEMCPY, DEVICE_TO_DEVICE, 0, false}, (void *)to, (void *)from, bytes, NULL));
}
EXPORTED CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  DRIVER_CALL(cuMemcpyDtoDAsync_v2, NULL);
  RETURN(copy(&call, (struct copy){SIMULATOR_MEMCPY, DEVICE_TO_DEVICE, 0, true}, (void *)to, (void *)from, bytes, stream));
}
EXPORTED CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes)
{
  DRIVER_CALL(cuMemsetD8_v2, NULL);
  RETURN(copy(&call, (struct copy){SIMULATOR_MEMSET, 0, value, false}, (void *)to, NULL, bytes, NULL));
}
EXPORTED CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
  DRIVER_CALL(cuMemsetD8Async, NULL);
  RETURN(copy(&call, (struct copy){SIMULATOR_MEMSET, 0, value, true}, (void *)to, NULL, bytes, stream));
}
// clang-format on

EXPORTED CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                    size_t bytes, CUstream stream)
{
  (void)from_context;
  DRIVER_CALL(cuMemcpyPeerAsync, NULL);
  stream = stream_of(stream);
  if (!stream)
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  struct simulator_operation operation = {.kind = SIMULATOR_PEER_COPY,
                                          .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                          .is_async = true,
                                          .to = (void *)to,
                                          .from = (void *)from,
                                          .bytes = bytes,
                                          .to_device = to_context->device,
                                          .to_context_id = to_context->id,
                                          .correlation_id = call.correlation_id};
  RETURN(device_enqueue(stream, &operation));
}

EXPORTED CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
  DRIVER_CALL(cuStreamCreate, NULL);
  if (!context_current())
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  *stream = stream_create(context_current(), flags == CU_STREAM_NON_BLOCKING);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuStreamDestroy(CUstream stream)
{
  (void)stream; // what it has to do is done
  DRIVER_CALL(cuStreamDestroy_v2, NULL);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
  DRIVER_CALL(cuStreamGetId, NULL);
  stream = stream_of(stream);
  if (!stream)
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  *id = stream->id;
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuStreamSynchronize(CUstream stream)
{
  DRIVER_CALL(cuStreamSynchronize, NULL);
  stream = stream_of(stream);
  if (!stream)
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  device_wait_stream(stream);
  TELL(synchronized, &call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, stream->id, UINT32_MAX,
       simulator_now_ns());
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuCtxSynchronize(void)
{
  DRIVER_CALL(cuCtxSynchronize, NULL);
  if (!context_current())
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  device_wait_context(context_current());
  TELL(synchronized, &call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, UINT32_MAX, UINT32_MAX,
       simulator_now_ns());
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuEventCreate(CUevent *event, unsigned flags)
{
  (void)flags;
  DRIVER_CALL(cuEventCreate, NULL);
  *event = calloc(1, sizeof(struct CUevent_st));
  (*event)->id = __atomic_add_fetch(&events, 1, __ATOMIC_RELAXED);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuEventDestroy(CUevent event)
{
  DRIVER_CALL(cuEventDestroy_v2, NULL);
  free(event);
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuEventRecord(CUevent event, CUstream stream)
{
  DRIVER_CALL(cuEventRecord, NULL);
  stream = stream_of(stream);
  if (!stream)
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  event->context = stream->context;
  event->stream_id = stream->id;
  event->capture = graph_has(stream) ? stream->capture : NULL;
  event->node = stream->last;
  uint64_t now_ns = simulator_now_ns();
  device_lock();
  event->at_ns = stream->busy_until_ns > now_ns ? stream->busy_until_ns : now_ns;
  device_unlock();
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuEventQuery(CUevent event)
{
  DRIVER_CALL(cuEventQuery, NULL);
  RETURN(simulator_now_ns() >= event->at_ns ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

EXPORTED CUresult cuEventSynchronize(CUevent event)
{
  DRIVER_CALL(cuEventSynchronize, NULL);
  device_wait_until(event->at_ns);
  TELL(synchronized, &call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, event->stream_id, event->id,
       simulator_now_ns());
  RETURN(CUDA_SUCCESS);
}

#undef cuEventElapsedTime // the header's is of CUDA 13 and later; drivers have both
EXPORTED CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to);
EXPORTED CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
  DRIVER_CALL(cuEventElapsedTime, NULL);
  if (simulator_now_ns() < to->at_ns)
    RETURN(CUDA_ERROR_NOT_READY);
  *ms = (float)((double)to->at_ns - (double)from->at_ns) / 1e6F;
  RETURN(CUDA_SUCCESS);
}

EXPORTED CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
  (void)flags;
  DRIVER_CALL(cuStreamWaitEvent, NULL);
  stream = stream_of(stream);
  if (!stream)
    RETURN(CUDA_ERROR_INVALID_CONTEXT);
  if (event->capture)
    RETURN(graph_join(stream, event));
  device_lock();
  if (event->at_ns > stream->busy_until_ns)
    stream->busy_until_ns = event->at_ns;
  device_unlock();
  TELL(synchronized, &call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, stream->id, event->id,
       simulator_now_ns());
  RETURN(CUDA_SUCCESS);
}
