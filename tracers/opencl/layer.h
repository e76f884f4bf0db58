// SPDX-License-Identifier: Apache-2.0
// What the files of the OpenCL tracer share: the vendor's headers, the functions below this layer, and what the tracer
// knows about itself. The loader calls clInitLayer; capture calls xsp_tracer_entry; whichever comes first initialises.
#ifndef XSP_TRACERS_OPENCL_LAYER_H
#define XSP_TRACERS_OPENCL_LAYER_H

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
#define LAYER_QUEUE_FUNCTIONS(X)                                                                                       \
  X(clCreateCommandQueue)                                                                                              \
  X(clCreateCommandQueueWithProperties)                                                                                \
  X(clRetainCommandQueue)                                                                                              \
  X(clReleaseCommandQueue)                                                                                             \
  X(clGetCommandQueueInfo)                                                                                             \
  X(clSetCommandQueueProperty)                                                                                         \
  X(clGetEventProfilingInfo)
#define LAYER_KERNEL_FUNCTIONS(X)                                                                                      \
  X(clCreateKernel)                                                                                                    \
  X(clCreateKernelsInProgram)                                                                                          \
  X(clCloneKernel)                                                                                                     \
  X(clEnqueueNDRangeKernel)                                                                                            \
  X(clEnqueueTask)                                                                                                     \
  X(clEnqueueNativeKernel)
#define LAYER_BUFFER_FUNCTIONS(X)                                                                                      \
  X(clEnqueueReadBuffer)                                                                                               \
  X(clEnqueueReadBufferRect)                                                                                           \
  X(clEnqueueWriteBuffer)                                                                                              \
  X(clEnqueueWriteBufferRect)                                                                                          \
  X(clEnqueueCopyBuffer)                                                                                               \
  X(clEnqueueCopyBufferRect)                                                                                           \
  X(clEnqueueFillBuffer)                                                                                               \
  X(clEnqueueMapBuffer)                                                                                                \
  X(clEnqueueUnmapMemObject)                                                                                           \
  X(clEnqueueMigrateMemObjects)
#define LAYER_IMAGE_FUNCTIONS(X)                                                                                       \
  X(clEnqueueReadImage)                                                                                                \
  X(clEnqueueWriteImage)                                                                                               \
  X(clEnqueueCopyImage)                                                                                                \
  X(clEnqueueFillImage)                                                                                                \
  X(clEnqueueCopyImageToBuffer)                                                                                        \
  X(clEnqueueCopyBufferToImage)                                                                                        \
  X(clEnqueueMapImage)
#define LAYER_SVM_FUNCTIONS(X)                                                                                         \
  X(clEnqueueSVMFree)                                                                                                  \
  X(clEnqueueSVMMemcpy)                                                                                                \
  X(clEnqueueSVMMemFill)                                                                                               \
  X(clEnqueueSVMMap)                                                                                                   \
  X(clEnqueueSVMUnmap)                                                                                                 \
  X(clEnqueueSVMMigrateMem)
#define LAYER_SYNC_FUNCTIONS(X)                                                                                        \
  X(clEnqueueMarker)                                                                                                   \
  X(clEnqueueMarkerWithWaitList)                                                                                       \
  X(clEnqueueBarrier)                                                                                                  \
  X(clEnqueueBarrierWithWaitList)                                                                                      \
  X(clEnqueueWaitForEvents)                                                                                            \
  X(clFlush)                                                                                                           \
  X(clFinish)                                                                                                          \
  X(clWaitForEvents)                                                                                                   \
  X(clBuildProgram)                                                                                                    \
  X(clCompileProgram)                                                                                                  \
  X(clLinkProgram)
// Only where launches are made one after the other (XSP_SERIALIZE=1).
#define LAYER_SERIAL_FUNCTIONS(X)                                                                                      \
  X(clCreateUserEvent)                                                                                                 \
  X(clSetUserEventStatus)                                                                                              \
  X(clSetEventCallback)
#define LAYER_FUNCTIONS(X)                                                                                             \
  LAYER_QUEUE_FUNCTIONS(X)                                                                                             \
  LAYER_KERNEL_FUNCTIONS(X)                                                                                            \
  LAYER_BUFFER_FUNCTIONS(X)                                                                                            \
  LAYER_IMAGE_FUNCTIONS(X)                                                                                             \
  LAYER_SVM_FUNCTIONS(X)                                                                                               \
  LAYER_SYNC_FUNCTIONS(X)

extern struct _cl_icd_dispatch layer_next; // the driver's, or the next layer's. Written once, by clInitLayer.

#define LAYER_DECLARE(name) extern __typeof__(*layer_next.name) layer_##name;
LAYER_FUNCTIONS(LAYER_DECLARE)
LAYER_SERIAL_FUNCTIONS(LAYER_DECLARE)
#undef LAYER_DECLARE

// Idempotent; from either entrance.
void opencl_initialise(void);
bool opencl_may_record(void); // the session may have kernel level on at some time
int opencl_probe(const struct xsp_host *host, char *why, size_t why_size);

#endif
