// SPDX-License-Identifier: Apache-2.0
// A command that the program enqueues: its launch span around the driver's call, and its execution when the driver
// reports that it has completed.
#ifndef XSP_TRACERS_OPENCL_COMMANDS_H
#define XSP_TRACERS_OPENCL_COMMANDS_H

#include "tracers/opencl/pending.h"

#define COMMAND_KIND(function, ...) COMMAND_##function,
enum command_kind { LAYER_COMMANDS(COMMAND_KIND) COMMAND_KINDS };

struct command { // on the stack of the function that the program called
  const struct xsp_site *launch;
  struct xsp_span span; // of `launch`
  cl_event *event;      // where the driver puts the event
  struct enqueued enqueued;
  bool is_watched; // something is to be done after the call; else `enqueued` is not set
};

void opencl_commands_start(void);
extern bool opencl_commands_serialize; // XSP_SERIALIZE=1; set once

extern const volatile uint32_t *opencl_commands_levels; // this tracer's switches

// Whether anything is to be done about a command now. Where it is not, the program's call goes straight to the driver.
static inline bool commands_are_on(void)
{
  return (*opencl_commands_levels & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)) != 0 || opencl_commands_serialize;
}

// Before and after the driver's call. `event` is the program's, may be NULL; what is returned goes to the driver.
cl_event *opencl_command_begin(struct command *command, enum command_kind kind, cl_command_queue queue,
                               cl_event *event);
cl_event *opencl_command_begin_kernel(struct command *command, enum command_kind kind, cl_command_queue queue,
                                      struct opencl_kernel *kernel, const struct launch_shape *shape, cl_event *event);
cl_int opencl_command_end(struct command *command, cl_int error, uint64_t bytes);

extern struct command_counts { // since the process began; atomic
  uint64_t launches, failed, without_times, lost;
} opencl_command_counts;

#endif
