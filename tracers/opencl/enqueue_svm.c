// SPDX-License-Identifier: Apache-2.0
// Commands on memory that host and device share.
#include "tracers/opencl/enqueue.h"

cl_int CL_API_CALL layer_clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void *pointers[],
                                          void(CL_CALLBACK *free_function)(cl_command_queue, cl_uint, void *[], void *),
                                          void *data, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueSVMFree, BYTES_UNKNOWN, queue, count, pointers, free_function, data, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
                                            size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueSVMMemcpy, size, queue, blocking, to, from, size, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueSVMMemFill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size,
                                             size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueSVMMemFill, size, queue, to, pattern, pattern_size, size, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *address,
                                         size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueSVMMap, size, queue, blocking, flags, address, size, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueSVMUnmap(cl_command_queue queue, void *address, cl_uint waits,
                                           const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueSVMUnmap, BYTES_UNKNOWN, queue, address, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint count, const void **pointers,
                                                const size_t *sizes, cl_mem_migration_flags flags, cl_uint waits,
                                                const cl_event *wait_list, cl_event *event)
{
  ENQUEUE(clEnqueueSVMMigrateMem, BYTES_UNKNOWN, queue, count, pointers, sizes, flags, waits, wait_list, to_event);
}
