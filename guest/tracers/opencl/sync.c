// SPDX-License-Identifier: Apache-2.0
// Calls that wait or take long on the host: plain spans of the calling thread, one row each.
#include "tracers/opencl/opencl.h"

static cl_int finish(struct xsp_span *span, cl_int error)
{
  if (error != CL_SUCCESS)
    xsp_span_tag_int(span, "error", error);
  xsp_span_finish(span);
  return error;
}

#define HOST_SPAN(function)                                                                                            \
  XSP_SITE_FULL(site, XSP_LEVEL_KERNEL, #function, "api", OPENCL_TRACER);                                              \
  struct xsp_span span = xsp_span_start(&site)
#define HOST_CALL(function, parameters, ...)                                                                           \
  cl_int CL_API_CALL opencl_##function parameters                                                                      \
  {                                                                                                                    \
    HOST_SPAN(function);                                                                                               \
    return finish(&span, opencl_next.function(__VA_ARGS__));                                                           \
  }
#define DEVICES cl_uint count, const cl_device_id *devices, const char *options
#define NOTIFY void(CL_CALLBACK * notify)(cl_program, void *), void *data

// Of the first version, without an event: their completion is not reported.
HOST_CALL(clEnqueueBarrier, (cl_command_queue queue), queue)
HOST_CALL(clEnqueueWaitForEvents, (cl_command_queue queue, cl_uint count, const cl_event *events), queue, count, events)

HOST_CALL(clFlush, (cl_command_queue queue), queue)
HOST_CALL(clFinish, (cl_command_queue queue), queue)
HOST_CALL(clWaitForEvents, (cl_uint count, const cl_event *events), count, events)
HOST_CALL(clBuildProgram, (cl_program program, DEVICES, NOTIFY), program, count, devices, options, notify, data)
HOST_CALL(clCompileProgram,
          (cl_program program, DEVICES, cl_uint header_count, const cl_program *headers, const char **names, NOTIFY),
          program, count, devices, options, header_count, headers, names, notify, data)

cl_program CL_API_CALL opencl_clLinkProgram(cl_context context, DEVICES, cl_uint program_count,
                                            const cl_program *programs, NOTIFY, cl_int *ret_error)
{
  HOST_SPAN(clLinkProgram);
  cl_program program =
      opencl_next.clLinkProgram(context, count, devices, options, program_count, programs, notify, data, ret_error);
  xsp_span_finish(&span);
  return program;
}
