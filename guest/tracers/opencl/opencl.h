// SPDX-License-Identifier: Apache-2.0
// What the files of the OpenCL tracer share: the vendor's headers, the functions below this layer, and what the tracer
// knows about itself. The loader calls clInitLayer; capture calls xsp_tracer_entry; whichever comes first initialises.
#ifndef XSP_TRACERS_OPENCL_OPENCL_H
#define XSP_TRACERS_OPENCL_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stdbool.h>
#include <stdint.h>
#include <xsp/span.h>
#include <xsp/tracer.h>

#define OPENCL_TRACER "opencl"

// What this layer puts between the program and the driver. Each has a function layer_NAME of the driver's type.
#define LAYER_OTHER_FUNCTIONS(X)                                                                                       \
  X(clCreateCommandQueue)                                                                                              \
  X(clCreateCommandQueueWithProperties)                                                                                \
  X(clRetainCommandQueue)                                                                                              \
  X(clReleaseCommandQueue)                                                                                             \
  X(clGetCommandQueueInfo)                                                                                             \
  X(clSetCommandQueueProperty)                                                                                         \
  X(clGetEventProfilingInfo)                                                                                           \
  X(clCreateKernel)                                                                                                    \
  X(clCreateKernelsInProgram)                                                                                          \
  X(clCloneKernel)                                                                                                     \
  X(clEnqueueMarker)                                                                                                   \
  X(clEnqueueBarrier)                                                                                                  \
  X(clEnqueueWaitForEvents)                                                                                            \
  X(clFlush)                                                                                                           \
  X(clFinish)                                                                                                          \
  X(clWaitForEvents)                                                                                                   \
  X(clBuildProgram)                                                                                                    \
  X(clCompileProgram)                                                                                                  \
  X(clLinkProgram)
// Functions that enqueue a command: what its execution is called, its category, and its copy_kind.
#define LAYER_COMMANDS(X)                                                                                              \
  X(clEnqueueNDRangeKernel, "kernel", "kernel", NULL)                                                                  \
  X(clEnqueueTask, "task", "kernel", NULL)                                                                             \
  X(clEnqueueNativeKernel, "native kernel", "kernel", NULL)                                                            \
  X(clEnqueueReadBuffer, "read buffer", "memcpy", "DtoH")                                                              \
  X(clEnqueueReadBufferRect, "read buffer rect", "memcpy", "DtoH")                                                     \
  X(clEnqueueWriteBuffer, "write buffer", "memcpy", "HtoD")                                                            \
  X(clEnqueueWriteBufferRect, "write buffer rect", "memcpy", "HtoD")                                                   \
  X(clEnqueueCopyBuffer, "copy buffer", "memcpy", "DtoD")                                                              \
  X(clEnqueueCopyBufferRect, "copy buffer rect", "memcpy", "DtoD")                                                     \
  X(clEnqueueFillBuffer, "fill buffer", "memset", NULL)                                                                \
  X(clEnqueueMapBuffer, "map buffer", "memcpy", "DtoH")                                                                \
  X(clEnqueueUnmapMemObject, "unmap", "memcpy", "HtoD")                                                                \
  X(clEnqueueMigrateMemObjects, "migrate", "memcpy", NULL)                                                             \
  X(clEnqueueReadImage, "read image", "memcpy", "DtoH")                                                                \
  X(clEnqueueWriteImage, "write image", "memcpy", "HtoD")                                                              \
  X(clEnqueueCopyImage, "copy image", "memcpy", "DtoD")                                                                \
  X(clEnqueueFillImage, "fill image", "memset", NULL)                                                                  \
  X(clEnqueueCopyImageToBuffer, "copy image to buffer", "memcpy", "DtoD")                                              \
  X(clEnqueueCopyBufferToImage, "copy buffer to image", "memcpy", "DtoD")                                              \
  X(clEnqueueMapImage, "map image", "memcpy", "DtoH")                                                                  \
  X(clEnqueueSVMFree, "free shared memory", "other", NULL)                                                             \
  X(clEnqueueSVMMemcpy, "copy shared memory", "memcpy", NULL)                                                          \
  X(clEnqueueSVMMemFill, "fill shared memory", "memset", NULL)                                                         \
  X(clEnqueueSVMMap, "map shared memory", "memcpy", "DtoH")                                                            \
  X(clEnqueueSVMUnmap, "unmap shared memory", "memcpy", "HtoD")                                                        \
  X(clEnqueueSVMMigrateMem, "migrate shared memory", "memcpy", NULL)                                                   \
  X(clEnqueueMarkerWithWaitList, "marker", "sync", NULL)                                                               \
  X(clEnqueueBarrierWithWaitList, "barrier", "sync", NULL)
// Only where launches are made one after the other (XSP_SERIALIZE=1).
#define LAYER_SERIAL_FUNCTIONS(X)                                                                                      \
  X(clCreateUserEvent)                                                                                                 \
  X(clSetUserEventStatus)                                                                                              \
  X(clSetEventCallback)
#define LAYER_FUNCTIONS(X)                                                                                             \
  LAYER_COMMANDS(X)                                                                                                    \
  LAYER_OTHER_FUNCTIONS(X)

extern struct _cl_icd_dispatch opencl_next; // the driver's, or the next layer's. Written once, by clInitLayer.

#define LAYER_DECLARE(name, ...) extern __typeof__(*opencl_next.name) opencl_##name;
LAYER_FUNCTIONS(LAYER_DECLARE)
LAYER_SERIAL_FUNCTIONS(LAYER_DECLARE)
#undef LAYER_DECLARE

// Answers a query with a value that we know, by the rules of the API.
cl_int opencl_answer(const void *value, size_t value_size, size_t size, void *to, size_t *ret_size);
// Idempotent; from either entrance.
void opencl_initialise(void);
bool opencl_may_record(void); // the session may have kernel level on at some time
int opencl_probe(const struct xsp_host *host, char *why, size_t why_size);

#endif
