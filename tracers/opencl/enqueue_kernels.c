// SPDX-License-Identifier: Apache-2.0
// Commands that run code on the device. Executions carry the kernel's name, whole, and the shape of the launch.
#include "tracers/opencl/enqueue.h"

cl_int CL_API_CALL layer_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel handle, cl_uint dimensions,
                                                const size_t *offset, const size_t *global, const size_t *local,
                                                cl_uint waits, const cl_event *wait_list, cl_event *event)
{
  if (!commands_are_on())
    return layer_next.clEnqueueNDRangeKernel(queue, handle, dimensions, offset, global, local, waits, wait_list, event);
  struct command command;
  struct launch_shape shape;
  launch_shape_set(&shape, dimensions, global, local);
  cl_event *to_event =
      command_begin_kernel(&command, COMMAND_clEnqueueNDRangeKernel, queue, kernel_of(handle), &shape, event);
  cl_int error =
      layer_next.clEnqueueNDRangeKernel(queue, handle, dimensions, offset, global, local, waits, wait_list, to_event);
  return command_end(&command, error, BYTES_UNKNOWN);
}

cl_int CL_API_CALL layer_clEnqueueTask(cl_command_queue queue, cl_kernel handle, cl_uint waits,
                                       const cl_event *wait_list, cl_event *event)
{
  struct command command;
  struct launch_shape shape;
  static const size_t one[3] = {1, 1, 1};
  launch_shape_set(&shape, 1, one, one);
  cl_event *to_event = command_begin_kernel(&command, COMMAND_clEnqueueTask, queue, kernel_of(handle), &shape, event);
  cl_int error = layer_next.clEnqueueTask(queue, handle, waits, wait_list, to_event);
  return command_end(&command, error, BYTES_UNKNOWN);
}

cl_int CL_API_CALL layer_clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
                                               void *arguments, size_t size, cl_uint object_count,
                                               const cl_mem *objects, const void **places, cl_uint waits,
                                               const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueNativeKernel, BYTES_UNKNOWN, queue, function, arguments, size, object_count, objects, places, waits,
          wait_list, to_event);
}
