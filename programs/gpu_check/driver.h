// SPDX-License-Identifier: Apache-2.0
// The calls of NVIDIA's driver that the workload of gpu-check makes. Declared here, as machines that build or run it may have
// no CUDA toolkit; names and types are those of the driver's stable interface. Called by one thread.
#ifndef XSP_GPU_CHECK_DRIVER_H
#define XSP_GPU_CHECK_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define DRIVER_NOT_READY 600   // of event_query: what is before the event has not ended
#define DRIVER_NON_BLOCKING 1  // streams that do not wait for the default stream
#define DRIVER_CAPTURE_LOCAL 1 // only this thread's calls are captured
#define DRIVER_L2_BYTES 38     // attributes of a device
#define DRIVER_COMPUTE_MAJOR 75
#define DRIVER_COMPUTE_MINOR 76

typedef struct driver_handle *driver_handle; // context, module, function, stream, event, graph
typedef uint64_t driver_address;

// CALL(member, symbol, parameters): each returns 0 or an error of the driver.
#define DRIVER_CALLS(CALL)                                                                                             \
  CALL(init, cuInit, (unsigned flags))                                                                                 \
  CALL(version, cuDriverGetVersion, (int *ret_version))                                                                \
  CALL(device, cuDeviceGet, (int *ret_device, int ordinal))                                                            \
  CALL(device_name, cuDeviceGetName, (char *ret_name, int size_bytes, int device))                                     \
  CALL(device_attribute, cuDeviceGetAttribute, (int *ret_value, int attribute, int device))                            \
  CALL(primary_context, cuDevicePrimaryCtxRetain, (driver_handle * ret_context, int device))                           \
  CALL(set_context, cuCtxSetCurrent, (driver_handle context))                                                          \
  CALL(wait_all, cuCtxSynchronize, (void))                                                                             \
  CALL(load, cuModuleLoadData, (driver_handle * ret_module, const void *image))                                        \
  CALL(function, cuModuleGetFunction, (driver_handle * ret_function, driver_handle module, const char *name))          \
  CALL(allocate, cuMemAlloc_v2, (driver_address * ret_address, size_t bytes))                                          \
  CALL(allocate_host, cuMemHostAlloc, (void **ret_memory, size_t bytes, unsigned flags))                               \
  CALL(stream, cuStreamCreate, (driver_handle * ret_stream, unsigned flags))                                           \
  CALL(wait, cuStreamSynchronize, (driver_handle stream))                                                              \
  CALL(event, cuEventCreate, (driver_handle * ret_event, unsigned flags))                                              \
  CALL(record, cuEventRecord, (driver_handle event, driver_handle stream))                                             \
  CALL(event_query, cuEventQuery, (driver_handle event))                                                               \
  CALL(elapsed, cuEventElapsedTime, (float *ret_ms, driver_handle from, driver_handle to))                             \
  CALL(copy_in, cuMemcpyHtoDAsync_v2, (driver_address to, const void *from, size_t bytes, driver_handle stream))       \
  CALL(copy_out, cuMemcpyDtoHAsync_v2, (void *to, driver_address from, size_t bytes, driver_handle stream))            \
  CALL(copy_inside, cuMemcpyDtoDAsync_v2,                                                                              \
       (driver_address to, driver_address from, size_t bytes, driver_handle stream))                                   \
  CALL(set, cuMemsetD8Async, (driver_address to, unsigned char value, size_t bytes, driver_handle stream))             \
  CALL(launch, cuLaunchKernel,                                                                                         \
       (driver_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
        unsigned block_z, unsigned shared_bytes, driver_handle stream, void **arguments, void **extra))                \
  CALL(capture, cuStreamBeginCapture_v2, (driver_handle stream, int mode))                                             \
  CALL(end_capture, cuStreamEndCapture, (driver_handle stream, driver_handle * ret_graph))                             \
  CALL(instantiate, cuGraphInstantiateWithFlags,                                                                       \
       (driver_handle * ret_executable, driver_handle graph, unsigned long long flags))                                \
  CALL(launch_graph, cuGraphLaunch, (driver_handle executable, driver_handle stream))

struct driver {
#define DRIVER_MEMBER(member, symbol, parameters) int(*member) parameters;
  DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

extern struct driver cuda;
// Loads libcuda.so.1 into `cuda`. NULL, or why there is none (valid until the next call of dlerror).
const char *driver_open(void);

extern const char kernels_ptx[]; // saxpy, block_sum, spin, counted_add
#endif
