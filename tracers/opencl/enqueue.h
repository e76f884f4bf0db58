// SPDX-License-Identifier: Apache-2.0
// The body of a function that enqueues a command: its parameters are named `queue` and `event`, and `to_event` stands for
// the event in the driver's call.
#ifndef XSP_TRACERS_OPENCL_ENQUEUE_H
#define XSP_TRACERS_OPENCL_ENQUEUE_H

#include "tracers/opencl/commands.h"

#define ENQUEUE(function, bytes, ...) ENQUEUE_AS(COMMAND_##function, function, bytes, __VA_ARGS__)
#define ENQUEUE_AS(kind, function, bytes, ...)                                                                         \
  if (!commands_are_on()) {                                                                                            \
    cl_event *to_event = event;                                                                                        \
    return layer_next.function(__VA_ARGS__);                                                                           \
  }                                                                                                                    \
  struct command command;                                                                                              \
  cl_event *to_event = command_begin(&command, kind, queue, event);                                                    \
  cl_int error = layer_next.function(__VA_ARGS__);                                                                     \
  return command_end(&command, error, bytes)

// For a function that returns an address, and its error where the program wants it.
#define ENQUEUE_MAP(function, bytes, ...)                                                                              \
  struct command command;                                                                                              \
  cl_int error = CL_SUCCESS;                                                                                           \
  cl_event *to_event = command_begin(&command, COMMAND_##function, queue, event);                                      \
  void *address = layer_next.function(__VA_ARGS__);                                                                    \
  command_end(&command, error, bytes);                                                                                 \
  if (ret_error != NULL)                                                                                               \
    *ret_error = error;                                                                                                \
  return address

static inline uint64_t region_bytes(const size_t *region, size_t element)
{
  return region == NULL ? BYTES_UNKNOWN : (uint64_t)region[0] * region[1] * region[2] * element;
}

#endif
