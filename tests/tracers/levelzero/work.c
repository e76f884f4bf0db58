// SPDX-License-Identifier: Apache-2.0
// Queues, lists and what is appended to them. A kernel runs for as many microseconds as its name ends with.

#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- queues and fences
API(queue_create, ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t *desc,
    ze_command_queue_handle_t *ret)
{
  *ret = (ze_command_queue_handle_t)sim_queue(((struct levelzero_device *)device)->number, false, false);
  return OK;
}

API(queue_destroy, ze_command_queue_handle_t queue)
{
  sim_queue_gone((struct levelzero_queue *)queue);
  return OK;
}

API(queue_wait, ze_command_queue_handle_t queue, uint64_t timeout)
{
  LOCK;
  bool is_done = sim_wait_queue((struct levelzero_queue *)queue, timeout);
  UNLOCK;
  return is_done ? OK : ZE_RESULT_NOT_READY;
}

API(queue_execute, ze_command_queue_handle_t handle, uint32_t count, ze_command_list_handle_t *lists,
    ze_fence_handle_t fence)
{
  struct levelzero_queue *queue = (struct levelzero_queue *)handle;
  if (getenv("XSP_SIM_REFUSE_EXECUTE") != NULL)
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  LOCK;
  for (uint32_t i = 0; i < count; i++) {
    const struct list *list = (struct list *)lists[i];
    if (!list->is_closed || list->queue != NULL)
      sim_violation("a list is executed that is not closed");
    for (const struct command *command = list->first; command != NULL; command = command->next)
      sim_submit(queue, sim_copy(command));
  }
  if (fence != NULL) {
    struct command *command = calloc(1, sizeof *command);
    command->kind = FENCE;
    command->fence = (struct fence *)fence;
    sim_submit(queue, command);
  }
  UNLOCK;
  return OK;
}

API(fence_create, ze_command_queue_handle_t queue, const ze_fence_desc_t *desc, ze_fence_handle_t *ret)
{
  *ret = calloc(1, sizeof(struct fence));
  return OK;
}

API(fence_destroy, ze_fence_handle_t fence)
{
  free(fence);
  return OK;
}

API(fence_wait, ze_fence_handle_t fence, uint64_t timeout)
{
  LOCK;
  bool is_done = sim_wait(&((struct fence *)fence)->is_signalled, timeout);
  UNLOCK;
  return is_done ? OK : ZE_RESULT_NOT_READY;
}

API(fence_reset, ze_fence_handle_t fence)
{
  ((struct fence *)fence)->is_signalled = false;
  return OK;
}

// ---- lists
static struct list *make_list(ze_context_handle_t context, ze_device_handle_t device, uint32_t ordinal)
{
  struct list *list = calloc(1, sizeof *list);
  list->context = (struct levelzero_context *)context;
  list->device = ((struct levelzero_device *)device)->number;
  list->ordinal = ordinal;
  LOCK;
  list->context->lists++;
  UNLOCK;
  return list;
}

API(list_create, ze_context_handle_t context, ze_device_handle_t device, const ze_command_list_desc_t *desc,
    ze_command_list_handle_t *ret)
{
  struct list *list = make_list(context, device, desc->commandQueueGroupOrdinal);
  list->is_in_order = (desc->flags & 8) != 0; // ZE_COMMAND_LIST_FLAG_IN_ORDER, of newer headers
  *ret = (ze_command_list_handle_t)list;
  return OK;
}

API(list_create_immediate, ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t *desc,
    ze_command_list_handle_t *ret)
{
  struct list *list = make_list(context, device, desc->ordinal);
  // What copies is ordered, ZE_COMMAND_QUEUE_FLAG_IN_ORDER is of newer headers.
  list->queue = sim_queue(list->device, (desc->flags & 2) != 0 || desc->ordinal == 1,
                          desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  *ret = (ze_command_list_handle_t)list;
  return OK;
}

API(list_reset, ze_command_list_handle_t handle)
{
  struct list *list = (struct list *)handle;
  while (list->first != NULL) {
    struct command *next = list->first->next;
    sim_free(list->first);
    list->first = next;
  }
  list->last = NULL;
  list->is_closed = false;
  return OK;
}

API(list_destroy, ze_command_list_handle_t handle)
{
  struct list *list = (struct list *)handle;
  list_reset(handle);
  if (list->queue != NULL)
    sim_queue_gone(list->queue);
  LOCK;
  list->context->lists--;
  UNLOCK;
  free(list);
  return OK;
}

API(list_close, ze_command_list_handle_t list)
{
  ((struct list *)list)->is_closed = true;
  return OK;
}

static ze_result_t append(ze_command_list_handle_t handle, struct command *command, ze_event_handle_t signal,
                          uint32_t count, ze_event_handle_t *waits)
{
  struct list *list = (struct list *)handle;
  command->signal = (struct event *)signal;
  command->waits = (struct event **)waits;
  command->wait_count = count;
  struct command *copy = sim_copy(command);
  LOCK;
  if (command->signal != NULL && command->signal->is_counter)
    command->signal->is_signalled = false;
  if (list->queue != NULL) {
    sim_submit(list->queue, copy);
    if (list->queue->is_synchronous)
      sim_wait_queue(list->queue, UINT64_MAX);
  } else if (list->is_closed) {
    sim_violation("a command is appended to a closed list");
  } else {
    if (list->first == NULL)
      list->first = copy;
    else
      list->last->next = copy;
    list->last = copy;
  }
  UNLOCK;
  return OK;
}

#define EVENTS ze_event_handle_t signal, uint32_t count, ze_event_handle_t *waits

API(append_barrier, ze_command_list_handle_t list, EVENTS)
{
  struct command command = {.kind = BARRIER, .is_barrier = true, .length_ns = 1000};
  return append(list, &command, signal, count, waits);
}

API(append_copy, ze_command_list_handle_t list, void *to, const void *from, size_t size, EVENTS)
{
  struct command command = {.kind = COPY, .bytes = size, .to = to, .from = from, .length_ns = 20000 + size};
  return append(list, &command, signal, count, waits);
}

API(append_fill, ze_command_list_handle_t list, void *to, const void *pattern, size_t pattern_size, size_t size, EVENTS)
{
  struct command command = {
      .kind = FILL, .bytes = size, .to = to, .pattern = *(const char *)pattern, .length_ns = 10000};
  if (pattern_size != 1)
    return ZE_RESULT_ERROR_INVALID_SIZE;
  return append(list, &command, signal, count, waits);
}

API(append_signal, ze_command_list_handle_t list, ze_event_handle_t event)
{
  struct command command = {.kind = SIGNAL};
  return append(list, &command, event, 0, NULL);
}

API(append_wait, ze_command_list_handle_t list, uint32_t count, ze_event_handle_t *waits)
{
  struct command command = {.kind = BARRIER, .is_barrier = true};
  return append(list, &command, NULL, count, waits);
}

API(append_reset, ze_command_list_handle_t list, ze_event_handle_t event)
{
  struct command command = {.kind = RESET, .target = (struct event *)event};
  return append(list, &command, NULL, 0, NULL);
}

API(append_query, ze_command_list_handle_t list, uint32_t events, ze_event_handle_t *queried, void *to,
    const size_t *offsets, EVENTS)
{
  struct command command = {
      .kind = QUERY, .query_count = events, .queried = (struct event **)queried, .to = to, .length_ns = 500000};
  if (((struct list *)list)->ordinal != 0)
    sim_violation("a list for copies cannot query times");
  return append(list, &command, signal, count, waits);
}

API(append_kernel, ze_command_list_handle_t list, ze_kernel_handle_t handle, const ze_group_count_t *groups, EVENTS)
{
  const struct kernel *kernel = (struct kernel *)handle;
  const char *length = strrchr(kernel->name, '_');
  struct command command = {.kind = KERNEL,
                            .grid = {groups->groupCountX, groups->groupCountY, groups->groupCountZ},
                            .block = {kernel->block[0], kernel->block[1], kernel->block[2]},
                            .length_ns = length == NULL ? 1000 : strtoull(length + 1, NULL, 10) * 1000};
  if (groups->groupCountX == 0)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (((struct list *)list)->ordinal != 0)
    return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
  memcpy(command.name, kernel->name, sizeof command.name);
  return append(list, &command, signal, count, waits);
}

// ---- tables
TABLE(CommandQueue, ze_command_queue_dditable_t)
{
  *table = (ze_command_queue_dditable_t){.pfnCreate = queue_create,
                                         .pfnDestroy = queue_destroy,
                                         .pfnExecuteCommandLists = queue_execute,
                                         .pfnSynchronize = queue_wait};
  return OK;
}

TABLE(Fence, ze_fence_dditable_t)
{
  *table = (ze_fence_dditable_t){.pfnCreate = fence_create,
                                 .pfnDestroy = fence_destroy,
                                 .pfnHostSynchronize = fence_wait,
                                 .pfnReset = fence_reset};
  return OK;
}

TABLE(CommandList, ze_command_list_dditable_t)
{
  *table = (ze_command_list_dditable_t){.pfnCreate = list_create,
                                        .pfnCreateImmediate = list_create_immediate,
                                        .pfnDestroy = list_destroy,
                                        .pfnClose = list_close,
                                        .pfnReset = list_reset,
                                        .pfnAppendBarrier = append_barrier,
                                        .pfnAppendMemoryCopy = append_copy,
                                        .pfnAppendMemoryFill = append_fill,
                                        .pfnAppendSignalEvent = append_signal,
                                        .pfnAppendWaitOnEvents = append_wait,
                                        .pfnAppendEventReset = append_reset,
                                        .pfnAppendQueryKernelTimestamps = append_query,
                                        .pfnAppendLaunchKernel = append_kernel,
                                        .pfnAppendLaunchCooperativeKernel = append_kernel,
                                        .pfnAppendLaunchKernelIndirect = append_kernel};
  return OK;
}
