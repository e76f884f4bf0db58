// SPDX-License-Identifier: Apache-2.0
// Markers and barriers, and calls that wait or take long on the host: those are plain spans of the calling thread.
#include "tracers/opencl/enqueue.h"

#define HOST_CALL(name_)                                                                                               \
  XSP_SITE_FULL(site, XSP_LEVEL_KERNEL, name_, "api", OPENCL_TRACER);                                                  \
  struct xsp_span span = xsp_span_start(&site)

static cl_int finish(struct xsp_span *span, cl_int error)
{
  if (error != CL_SUCCESS)
    xsp_span_tag_int(span, "error", error);
  xsp_span_finish(span);
  return error;
}

cl_int CL_API_CALL layer_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint waits, const cl_event *wait_list,
                                                     cl_event *event)
{
  ENQUEUE(clEnqueueMarkerWithWaitList, BYTES_UNKNOWN, queue, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint waits, const cl_event *wait_list,
                                                      cl_event *event)
{
  ENQUEUE(clEnqueueBarrierWithWaitList, BYTES_UNKNOWN, queue, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
  if (event == NULL) // an error, which it must stay
    return layer_next.clEnqueueMarker(queue, event);
  ENQUEUE_AS(COMMAND_clEnqueueMarkerWithWaitList, clEnqueueMarker, BYTES_UNKNOWN, queue, to_event);
}

// ---- calls of the first version that give no event: nothing tells when they have completed
cl_int CL_API_CALL layer_clEnqueueBarrier(cl_command_queue queue)
{
  HOST_CALL("clEnqueueBarrier");
  return finish(&span, layer_next.clEnqueueBarrier(queue));
}

cl_int CL_API_CALL layer_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *events)
{
  HOST_CALL("clEnqueueWaitForEvents");
  return finish(&span, layer_next.clEnqueueWaitForEvents(queue, count, events));
}

// ---- host calls
cl_int CL_API_CALL layer_clFlush(cl_command_queue queue)
{
  HOST_CALL("clFlush");
  return finish(&span, layer_next.clFlush(queue));
}

cl_int CL_API_CALL layer_clFinish(cl_command_queue queue)
{
  HOST_CALL("clFinish");
  return finish(&span, layer_next.clFinish(queue));
}

cl_int CL_API_CALL layer_clWaitForEvents(cl_uint count, const cl_event *events)
{
  HOST_CALL("clWaitForEvents");
  return finish(&span, layer_next.clWaitForEvents(count, events));
}

cl_int CL_API_CALL layer_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
  HOST_CALL("clBuildProgram");
  return finish(&span, layer_next.clBuildProgram(program, count, devices, options, notify, data));
}

cl_int CL_API_CALL layer_clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                          const char *options, cl_uint header_count, const cl_program *headers,
                                          const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
  HOST_CALL("clCompileProgram");
  return finish(
      &span, layer_next.clCompileProgram(program, count, devices, options, header_count, headers, names, notify, data));
}

cl_program CL_API_CALL layer_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices,
                                           const char *options, cl_uint program_count, const cl_program *programs,
                                           void(CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *ret_error)
{
  HOST_CALL("clLinkProgram");
  cl_program program =
      layer_next.clLinkProgram(context, count, devices, options, program_count, programs, notify, data, ret_error);
  xsp_span_finish(&span);
  return program;
}
