// SPDX-License-Identifier: Apache-2.0
// As much of HIP and ROCTx as the workload uses, with HIP's own names, types by size, and numbers.
#ifndef XSP_TESTS_ROCM_HIP_H
#define XSP_TESTS_ROCM_HIP_H

#include <stddef.h>

typedef int hipError_t;
typedef struct hip_stream *hipStream_t;
typedef struct hip_module *hipModule_t;
typedef struct hip_function *hipFunction_t;
typedef struct hip_graph *hipGraph_t;
typedef struct hip_graph *hipGraphExec_t;
#define hipSuccess 0
#define hipMemcpyHostToDevice 1
#define hipMemcpyDeviceToHost 2
#define hipMemcpyDeviceToDevice 3

hipError_t hipGetDevice(int *device);
hipError_t hipSetDevice(int device);
hipError_t hipMalloc(void **ret, size_t bytes);
hipError_t hipHostMalloc(void **ret, size_t bytes, unsigned flags);
hipError_t hipFree(void *memory);
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, int kind);
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, hipStream_t stream);
hipError_t hipMemset(void *to, int value, size_t bytes); // a kernel
hipError_t hipModuleLoadData(hipModule_t *ret, const void *image);
hipError_t hipModuleGetFunction(hipFunction_t *ret, hipModule_t module, const char *name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 hipStream_t stream, void **parameters, void **extra);
// A graph: what one stream captured. Launches run its work in order.
hipError_t hipStreamBeginCapture(hipStream_t stream, int mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *ret);
hipError_t hipGraphInstantiate(hipGraphExec_t *ret, hipGraph_t graph, void *node, char *log, size_t log_bytes);
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipEventRecord(void *event, hipStream_t stream); // does nothing
hipError_t hipStreamCreate(hipStream_t *ret);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipDeviceSynchronize(void);

// ROCTx, which is a library of its own.
int roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
unsigned long roctxRangeStartA(const char *message);
void roctxRangeStop(unsigned long range);

#endif
