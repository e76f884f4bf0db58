// SPDX-License-Identifier: Apache-2.0
// Functions that enqueue a command, one row each: how its launch ends, its parameters, and the driver's arguments. Called
// by the program through the loader. A row's parameters include `queue` and `event`; the driver gets `to_event` instead.
#include "tracers/opencl/commands.h"

#define WAITING cl_uint waits, const cl_event *wait_list, cl_event *event
#define TO_DRIVER waits, wait_list, to_event

#define ENQUEUE(function, end, parameters, ...)                                                                        \
  cl_int CL_API_CALL opencl_##function parameters                                                                      \
  {                                                                                                                    \
    struct command command;                                                                                            \
    cl_event *to_event = opencl_command_begin(&command, COMMAND_##function, queue, event);                             \
    cl_int error = opencl_next.function(__VA_ARGS__);                                                                  \
    return end;                                                                                                        \
  }
// The function returns an address, and its error where the program wants it.
#define ENQUEUE_MAP(function, end, parameters, ...)                                                                    \
  void *CL_API_CALL opencl_##function parameters                                                                       \
  {                                                                                                                    \
    struct command command;                                                                                            \
    cl_int error = CL_SUCCESS;                                                                                         \
    cl_event *to_event = opencl_command_begin(&command, COMMAND_##function, queue, event);                             \
    void *address = opencl_next.function(__VA_ARGS__);                                                                 \
    end;                                                                                                               \
    if (ret_error != NULL)                                                                                             \
      *ret_error = error;                                                                                              \
    return address;                                                                                                    \
  }

#define END opencl_command_end(&command, error, BYTES_UNKNOWN)
#define END_BYTES(bytes) opencl_command_end(&command, error, bytes)
#define END_REGION opencl_command_end(&command, error, region_bytes(region, 1))
#define END_IMAGE(image) end_image(&command, error, image, region)

static uint64_t region_bytes(const size_t *region, size_t element)
{
  return region == NULL ? BYTES_UNKNOWN : (uint64_t)region[0] * region[1] * region[2] * element;
}

// Executions on images carry the region and, where the size of a pixel is known, the bytes.
static cl_int end_image(struct command *command, cl_int error, cl_mem image, const size_t *region)
{
  if (!command->is_watched)
    return opencl_command_end(command, error, BYTES_UNKNOWN);
  size_t element = 0;
  opencl_launch_shape_set(&command->enqueued.shape, 3, region, NULL);
  command->enqueued.shape_is_region = true;
  bool has_size =
      opencl_next.clGetImageInfo != NULL &&
      opencl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL) == CL_SUCCESS;
  return opencl_command_end(command, error, has_size && element != 0 ? region_bytes(region, element) : BYTES_UNKNOWN);
}

// ---- buffers and memory objects
ENQUEUE(clEnqueueReadBuffer, END_BYTES(size),
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to, WAITING), queue,
        buffer, blocking, offset, size, to, TO_DRIVER)
ENQUEUE(clEnqueueReadBufferRect, END_REGION,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin,
         const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, void *to, WAITING),
        queue, buffer, blocking, origin, host_origin, region, row, slice, host_row, host_slice, to, TO_DRIVER)
ENQUEUE(clEnqueueWriteBuffer, END_BYTES(size),
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *from,
         WAITING),
        queue, buffer, blocking, offset, size, from, TO_DRIVER)
ENQUEUE(clEnqueueWriteBufferRect, END_REGION,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin,
         const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, const void *from, WAITING),
        queue, buffer, blocking, origin, host_origin, region, row, slice, host_row, host_slice, from, TO_DRIVER)
ENQUEUE(clEnqueueCopyBuffer, END_BYTES(size),
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, WAITING),
        queue, from, to, from_offset, to_offset, size, TO_DRIVER)
ENQUEUE(clEnqueueCopyBufferRect, END_REGION,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
         const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice, WAITING),
        queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice, TO_DRIVER)
ENQUEUE(clEnqueueFillBuffer, END_BYTES(size),
        (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size,
         WAITING),
        queue, buffer, pattern, pattern_size, offset, size, TO_DRIVER)
ENQUEUE_MAP(clEnqueueMapBuffer, END_BYTES(size),
            (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size,
             WAITING, cl_int *ret_error),
            queue, buffer, blocking, flags, offset, size, TO_DRIVER, &error)
ENQUEUE(clEnqueueUnmapMemObject, END, (cl_command_queue queue, cl_mem object, void *address, WAITING), queue, object,
        address, TO_DRIVER)
ENQUEUE(clEnqueueMigrateMemObjects, END,
        (cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_mem_migration_flags flags, WAITING), queue,
        count, objects, flags, TO_DRIVER)

// ---- images
ENQUEUE(clEnqueueReadImage, END_IMAGE(image),
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
         size_t slice, void *to, WAITING),
        queue, image, blocking, origin, region, row, slice, to, TO_DRIVER)
ENQUEUE(clEnqueueWriteImage, END_IMAGE(image),
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
         size_t slice, const void *from, WAITING),
        queue, image, blocking, origin, region, row, slice, from, TO_DRIVER)
ENQUEUE(clEnqueueCopyImage, END_IMAGE(from),
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
         const size_t *region, WAITING),
        queue, from, to, from_origin, to_origin, region, TO_DRIVER)
ENQUEUE(clEnqueueFillImage, END_IMAGE(image),
        (cl_command_queue queue, cl_mem image, const void *color, const size_t *origin, const size_t *region, WAITING),
        queue, image, color, origin, region, TO_DRIVER)
ENQUEUE(clEnqueueCopyImageToBuffer, END_IMAGE(image),
        (cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin, const size_t *region, size_t offset,
         WAITING),
        queue, image, buffer, origin, region, offset, TO_DRIVER)
ENQUEUE(clEnqueueCopyBufferToImage, END_IMAGE(image),
        (cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset, const size_t *origin, const size_t *region,
         WAITING),
        queue, buffer, image, offset, origin, region, TO_DRIVER)
ENQUEUE_MAP(clEnqueueMapImage, END_IMAGE(image),
            (cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags, const size_t *origin,
             const size_t *region, size_t *ret_row, size_t *ret_slice, WAITING, cl_int *ret_error),
            queue, image, blocking, flags, origin, region, ret_row, ret_slice, TO_DRIVER, &error)

// ---- memory that host and device share
ENQUEUE(clEnqueueSVMFree, END,
        (cl_command_queue queue, cl_uint count, void *pointers[],
         void(CL_CALLBACK *free_function)(cl_command_queue, cl_uint, void *[], void *), void *data, WAITING),
        queue, count, pointers, free_function, data, TO_DRIVER)
ENQUEUE(clEnqueueSVMMemcpy, END_BYTES(size),
        (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, WAITING), queue, blocking,
        to, from, size, TO_DRIVER)
ENQUEUE(clEnqueueSVMMemFill, END_BYTES(size),
        (cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, WAITING), queue, to,
        pattern, pattern_size, size, TO_DRIVER)
ENQUEUE(clEnqueueSVMMap, END_BYTES(size),
        (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *address, size_t size, WAITING), queue,
        blocking, flags, address, size, TO_DRIVER)
ENQUEUE(clEnqueueSVMUnmap, END, (cl_command_queue queue, void *address, WAITING), queue, address, TO_DRIVER)
ENQUEUE(clEnqueueSVMMigrateMem, END,
        (cl_command_queue queue, cl_uint count, const void **pointers, const size_t *sizes,
         cl_mem_migration_flags flags, WAITING),
        queue, count, pointers, sizes, flags, TO_DRIVER)

// ---- markers and barriers
ENQUEUE(clEnqueueMarkerWithWaitList, END, (cl_command_queue queue, WAITING), queue, TO_DRIVER)
ENQUEUE(clEnqueueBarrierWithWaitList, END, (cl_command_queue queue, WAITING), queue, TO_DRIVER)

cl_int CL_API_CALL opencl_clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
  if (event == NULL) // an error, which it must stay
    return opencl_next.clEnqueueMarker(queue, event);
  struct command command;
  cl_event *to_event = opencl_command_begin(&command, COMMAND_clEnqueueMarkerWithWaitList, queue, event);
  return opencl_command_end(&command, opencl_next.clEnqueueMarker(queue, to_event), BYTES_UNKNOWN);
}

// ---- code on the device: executions carry the kernel's name, whole, and the shape of the launch
ENQUEUE(clEnqueueNativeKernel, END,
        (cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t size,
         cl_uint object_count, const cl_mem *objects, const void **places, WAITING),
        queue, function, arguments, size, object_count, objects, places, TO_DRIVER)

cl_int CL_API_CALL opencl_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel handle, cl_uint dimensions,
                                                 const size_t *offset, const size_t *global, const size_t *local,
                                                 cl_uint waits, const cl_event *wait_list, cl_event *event)
{
  if (!commands_are_on())
    return opencl_next.clEnqueueNDRangeKernel(queue, handle, dimensions, offset, global, local, waits, wait_list,
                                              event);
  struct command command;
  struct launch_shape shape;
  opencl_launch_shape_set(&shape, dimensions, global, local);
  cl_event *to_event = opencl_command_begin_kernel(&command, COMMAND_clEnqueueNDRangeKernel, queue,
                                                   opencl_kernel_of(handle), &shape, event);
  cl_int error =
      opencl_next.clEnqueueNDRangeKernel(queue, handle, dimensions, offset, global, local, waits, wait_list, to_event);
  return opencl_command_end(&command, error, BYTES_UNKNOWN);
}

cl_int CL_API_CALL opencl_clEnqueueTask(cl_command_queue queue, cl_kernel handle, cl_uint waits,
                                        const cl_event *wait_list, cl_event *event)
{
  struct command command;
  struct launch_shape shape;
  static const size_t one[3] = {1, 1, 1};
  opencl_launch_shape_set(&shape, 1, one, one);
  cl_event *to_event =
      opencl_command_begin_kernel(&command, COMMAND_clEnqueueTask, queue, opencl_kernel_of(handle), &shape, event);
  cl_int error = opencl_next.clEnqueueTask(queue, handle, waits, wait_list, to_event);
  return opencl_command_end(&command, error, BYTES_UNKNOWN);
}
