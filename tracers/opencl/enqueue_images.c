// SPDX-License-Identifier: Apache-2.0
// Commands on images: executions carry the region and, where the image says how large a pixel is, the bytes.
#include "tracers/opencl/enqueue.h"

#include <string.h>

static size_t element_bytes(const struct command *command, cl_mem image)
{
  size_t size = 0;
  if (!command->is_watched || layer_next.clGetImageInfo == NULL ||
      layer_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof size, &size, NULL) != CL_SUCCESS)
    return 0;
  return size;
}

static cl_int end_image(struct command *command, cl_int error, cl_mem image, const size_t *region)
{
  struct launch_shape shape;
  launch_shape_set(&shape, 3, region, NULL);
  command->shape = &shape;
  command->shape_is_region = true;
  size_t element = element_bytes(command, image);
  return command_end(command, error, element == 0 ? BYTES_UNKNOWN : region_bytes(region, element));
}

#define ENQUEUE_IMAGE(function, image, ...)                                                                            \
  struct command command;                                                                                              \
  cl_event *to_event = command_begin(&command, COMMAND_##function, queue, event);                                      \
  cl_int error = layer_next.function(__VA_ARGS__);                                                                     \
  return end_image(&command, error, image, region)

cl_int CL_API_CALL layer_clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                            const size_t *origin, const size_t *region, size_t row, size_t slice,
                                            void *to, cl_uint waits, const cl_event *wait_list, cl_event *event)
{
  ENQUEUE_IMAGE(clEnqueueReadImage, image, queue, image, blocking, origin, region, row, slice, to, waits, wait_list,
                to_event);
}

cl_int CL_API_CALL layer_clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                             const size_t *origin, const size_t *region, size_t row, size_t slice,
                                             const void *from, cl_uint waits, const cl_event *wait_list,
                                             cl_event *event)
{
  ENQUEUE_IMAGE(clEnqueueWriteImage, image, queue, image, blocking, origin, region, row, slice, from, waits, wait_list,
                to_event);
}

cl_int CL_API_CALL layer_clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                                            const size_t *to_origin, const size_t *region, cl_uint waits,
                                            const cl_event *wait_list, cl_event *event)
{
  ENQUEUE_IMAGE(clEnqueueCopyImage, from, queue, from, to, from_origin, to_origin, region, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *color,
                                            const size_t *origin, const size_t *region, cl_uint waits,
                                            const cl_event *wait_list, cl_event *event)
{
  ENQUEUE_IMAGE(clEnqueueFillImage, image, queue, image, color, origin, region, waits, wait_list, to_event);
}

cl_int CL_API_CALL layer_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                                    const size_t *origin, const size_t *region, size_t offset,
                                                    cl_uint waits, const cl_event *wait_list, cl_event *event)
{
  ENQUEUE_IMAGE(clEnqueueCopyImageToBuffer, image, queue, image, buffer, origin, region, offset, waits, wait_list,
                to_event);
}

cl_int CL_API_CALL layer_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                                    const size_t *origin, const size_t *region, cl_uint waits,
                                                    const cl_event *wait_list, cl_event *event)
{
  ENQUEUE_IMAGE(clEnqueueCopyBufferToImage, image, queue, buffer, image, offset, origin, region, waits, wait_list,
                to_event);
}

void *CL_API_CALL layer_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                                          const size_t *origin, const size_t *region, size_t *ret_row,
                                          size_t *ret_slice, cl_uint waits, const cl_event *wait_list, cl_event *event,
                                          cl_int *ret_error)
{
  struct command command;
  cl_int error = CL_SUCCESS;
  cl_event *to_event = command_begin(&command, COMMAND_clEnqueueMapImage, queue, event);
  void *address = layer_next.clEnqueueMapImage(queue, image, blocking, flags, origin, region, ret_row, ret_slice, waits,
                                               wait_list, to_event, &error);
  end_image(&command, error, image, region);
  if (ret_error != NULL)
    *ret_error = error;
  return address;
}
