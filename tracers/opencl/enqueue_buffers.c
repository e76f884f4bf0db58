// SPDX-License-Identifier: Apache-2.0
// Commands on buffers and memory objects. Called by the program through the loader.
#include "tracers/opencl/enqueue.h"

cl_int CL_API_CALL layer_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                             size_t size, void *to, cl_uint waits, const cl_event *wait_list,
                                             cl_event *event)
{
  ENQUEUE(clEnqueueReadBuffer, size, queue, buffer, blocking, offset, size, to, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                                 const size_t *buffer_origin, const size_t *host_origin,
                                                 const size_t *region, size_t buffer_row, size_t buffer_slice,
                                                 size_t host_row, size_t host_slice, void *to, cl_uint waits,
                                                 const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueReadBufferRect, region_bytes(region, 1), queue, buffer, blocking, buffer_origin, host_origin, region,
          buffer_row, buffer_slice, host_row, host_slice, to, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                              size_t size, const void *from, cl_uint waits, const cl_event *wait_list,
                                              cl_event *event)
{
  ENQUEUE(clEnqueueWriteBuffer, size, queue, buffer, blocking, offset, size, from, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                                  const size_t *buffer_origin, const size_t *host_origin,
                                                  const size_t *region, size_t buffer_row, size_t buffer_slice,
                                                  size_t host_row, size_t host_slice, const void *from, cl_uint waits,
                                                  const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueWriteBufferRect, region_bytes(region, 1), queue, buffer, blocking, buffer_origin, host_origin,
          region, buffer_row, buffer_slice, host_row, host_slice, from, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                                             size_t to_offset, size_t size, cl_uint waits, const cl_event *wait_list,
                                             cl_event *event)
{
  ENQUEUE(clEnqueueCopyBuffer, size, queue, from, to, from_offset, to_offset, size, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to,
                                                 const size_t *from_origin, const size_t *to_origin,
                                                 const size_t *region, size_t from_row, size_t from_slice,
                                                 size_t to_row, size_t to_slice, cl_uint waits,
                                                 const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueCopyBufferRect, region_bytes(region, 1), queue, from, to, from_origin, to_origin, region, from_row,
          from_slice, to_row, to_slice, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                             size_t pattern_size, size_t offset, size_t size, cl_uint waits,
                                             const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueFillBuffer, size, queue, buffer, pattern, pattern_size, offset, size, waits, wait_list, to_event);
}

void *CL_API_CALL layer_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                           size_t offset, size_t size, cl_uint waits, const cl_event *wait_list,
                                           cl_event *event, cl_int *ret_error)
{
  ENQUEUE_MAP(clEnqueueMapBuffer, size, queue, buffer, blocking, flags, offset, size, waits, wait_list, to_event,
              &error);
}

cl_int CL_API_CALL layer_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem object, void *address, cl_uint waits,
                                                 const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueUnmapMemObject, BYTES_UNKNOWN, queue, object, address, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                                    cl_mem_migration_flags flags, cl_uint waits,
                                                    const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueMigrateMemObjects, BYTES_UNKNOWN, queue, count, objects, flags, waits, wait_list, to_event);
}
