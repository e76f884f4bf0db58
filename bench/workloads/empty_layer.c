// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer that only passes launches on: the minimum cost of any layer. Loaded by bench/opencl.c.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

static struct _cl_icd_dispatch next, dispatch;

static cl_int CL_API_CALL pass_on(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                  const size_t *global, const size_t *local, cl_uint waits, const cl_event *wait_list,
                                  cl_event *event)
{
  return next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
                                                                         size_t *ret_size)
{
  if (what != CL_LAYER_API_VERSION)
    return CL_INVALID_VALUE;
  if (value != NULL)
    *(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
  if (ret_size != NULL)
    *ret_size = sizeof(cl_layer_api_version);
  return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                                                                      cl_uint *ret_count,
                                                                      const cl_icd_dispatch **ret_dispatch)
{
  next = *target;
  dispatch.clEnqueueNDRangeKernel = pass_on;
  *ret_count = sizeof dispatch / sizeof(void *);
  *ret_dispatch = &dispatch;
  return CL_SUCCESS;
}
