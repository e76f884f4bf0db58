// SPDX-License-Identifier: Apache-2.0
// One pair of callbacks per call, on the program's threads. The tracing layer gives pointers to the call's arguments, by number,
// and takes what is written there.
#include "tracers/levelzero/callbacks.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "tracers/device/function.h"
#include "tracers/levelzero/allocations.h"
#include "tracers/levelzero/commands.h"
#include "tracers/levelzero/kernels.h"
#include "tracers/levelzero/lists.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ARGUMENT(type, number) (*(type *)argument[number])
#define POLLS_NS UINT64_C(1000000) // between two looks when the program polls
#define API "api"

static _Thread_local struct levelzero_call call;
static _Thread_local bool is_paused;
static uint32_t is_stopped; // atomic

void levelzero_callbacks_pause(bool pause)
{
  is_paused = pause;
}

void levelzero_callbacks_stop(void)
{
  __atomic_store_n(&is_stopped, 1, __ATOMIC_RELAXED);
}

static bool is_off(void)
{
  return is_paused || __atomic_load_n(&is_stopped, __ATOMIC_RELAXED) != 0;
}

// ---- what commands are published as
#define WORK(name_, category_, bytes_)                                                                                 \
  ({                                                                                                                   \
    XSP_SITE_FULL(execution, XSP_LEVEL_KERNEL, name_, category_, LEVELZERO_TRACER);                                    \
    (struct work){&execution, bytes_};                                                                                 \
  })
#define KERNEL(grid, block)                                                                                            \
  (struct work)                                                                                                        \
  {                                                                                                                    \
    levelzero_launched_site(ARGUMENT(void *, 1), grid, block), -1                                                      \
  }
#define COPY(bytes)                                                                                                    \
  levelzero_copy_work(ARGUMENT(const void *, 1), ARGUMENT(const void *, 2), call_context(argument), bytes)

static struct levelzero_context *call_context(void *const *argument)
{
  struct list *list = levelzero_list_of(ARGUMENT(void *, 0));
  return list == NULL ? NULL : list->context;
}

static int64_t region_bytes(const struct ze_region *region)
{
  return region == NULL
             ? -1
             : (int64_t)region->extent[0] * region->extent[1] * (region->extent[2] == 0 ? 1 : region->extent[2]);
}

// X(name, number of the argument that is the event to signal, the work)
#define COMMANDS(X)                                                                                                    \
  X(AppendLaunchKernel, 3, KERNEL(ARGUMENT(const uint32_t *, 2), NULL))                                                \
  X(AppendLaunchKernelWithParameters, 4, KERNEL(ARGUMENT(const uint32_t *, 2), NULL))                                  \
  X(AppendLaunchKernelWithArguments, 6, KERNEL(argument[2], argument[3]))                                              \
  X(AppendLaunchCooperativeKernel, 3, KERNEL(ARGUMENT(const uint32_t *, 2), NULL))                                     \
  X(AppendLaunchKernelIndirect, 3, KERNEL(NULL, NULL))                                                                 \
  X(AppendLaunchMultipleKernelsIndirect, 5, WORK("(kernels that the device chose)", "kernel", -1))                     \
  X(AppendMemoryCopy, 4, COPY((int64_t)ARGUMENT(size_t, 3)))                                                           \
  X(AppendMemoryCopyWithParameters, 5, COPY((int64_t)ARGUMENT(size_t, 3)))                                             \
  X(AppendMemoryCopyFromContext, 5, WORK("Memcpy", "memcpy", (int64_t)ARGUMENT(size_t, 4)))                            \
  X(AppendMemoryCopyRegion, 9, WORK("Memcpy", "memcpy", region_bytes(ARGUMENT(const struct ze_region *, 2))))          \
  X(AppendMemoryFill, 5, WORK("Memset", "memset", (int64_t)ARGUMENT(size_t, 4)))                                       \
  X(AppendMemoryFillWithParameters, 6, WORK("Memset", "memset", (int64_t)ARGUMENT(size_t, 4)))                         \
  X(AppendImageCopy, 3, WORK("Image copy", "memcpy", -1))                                                              \
  X(AppendImageCopyRegion, 5, WORK("Image copy", "memcpy", -1))                                                        \
  X(AppendImageCopyToMemory, 4, WORK("Image copy", "memcpy", -1))                                                      \
  X(AppendImageCopyFromMemory, 4, WORK("Image copy", "memcpy", -1))                                                    \
  X(AppendBarrier, 1, WORK("Barrier", "sync", -1))                                                                     \
  X(AppendMemoryRangesBarrier, 4, WORK("Barrier", "sync", -1))

// clang-format off
// Calls of which only their own times are of interest; in the first ones the program may have waited.
#define WAITS(X) \
  X(CommandQueueSynchronize) X(CommandListHostSynchronize) X(FenceHostSynchronize) X(EventHostSynchronize)
#define OTHERS(X) X(ModuleCreate) X(ModuleDynamicLink)
// What is about to go, and what was made: on_NAME below.
#define BEFORE(X) \
  X(CommandQueueDestroy) X(CommandListReset) X(CommandListDestroy) X(CommandListAppendEventReset) X(EventHostReset) \
  X(EventDestroy) X(ContextDestroy) X(MemFree) X(MemFreeExt)
#define AFTER(X) \
  X(CommandQueueCreate) X(CommandListCreate) X(CommandListCreateImmediate) X(EventPoolCreate) X(EventCreate) \
  X(EventCounterBasedCreate) X(DriverGetExtensionFunctionAddress) X(EventQueryStatus) X(KernelCreate) X(KernelSetGroupSize) X(MemAllocDevice) X(MemAllocHost) X(MemAllocShared)
// Lists are executed; the first three arguments are alike. X(name, the queue)
#define EXECUTIONS(X) \
  X(CommandQueueExecuteCommandLists, levelzero_queue_of(ARGUMENT(void *, 0))) \
  X(CommandListImmediateAppendCommandListsExp, immediate_queue(ARGUMENT(void *, 0))) \
  X(CommandListImmediateAppendCommandListsWithParameters, immediate_queue(ARGUMENT(void *, 0)))
// clang-format on

static struct levelzero_queue *immediate_queue(void *handle)
{
  const struct list *list = levelzero_list_of(handle);
  return list == NULL ? NULL : list->queue;
}

static void look(void)
{
  SCOPED_LOCK(&levelzero_lock);
  flights_look();
}

// ---- objects
#define HANDLER(name) static void on_##name(void **argument)

HANDLER(CommandQueueCreate)
{
  levelzero_queue_made(*ARGUMENT(void **, 3), ARGUMENT(void *, 1));
}

HANDLER(CommandQueueDestroy)
{
  struct levelzero_queue *queue = levelzero_queue_of(ARGUMENT(void *, 0));
  look();
  if (queue != NULL)
    levelzero_queue_gone(queue);
}

HANDLER(CommandListCreate)
{
  levelzero_list_made(*ARGUMENT(void **, 3), ARGUMENT(void *, 0), ARGUMENT(void *, 1),
                      ARGUMENT(const struct ze_list_desc *, 2));
}

HANDLER(CommandListCreateImmediate)
{
  levelzero_immediate_list_made(*ARGUMENT(void **, 3), ARGUMENT(void *, 0), ARGUMENT(void *, 1),
                                ARGUMENT(const struct ze_queue_desc *, 2));
}

HANDLER(CommandListReset)
{
  struct list *list = levelzero_list_of(ARGUMENT(void *, 0));
  SCOPED_LOCK(&levelzero_lock);
  flights_look();
  if (list != NULL)
    levelzero_list_forget(list);
}

HANDLER(CommandListDestroy)
{
  struct list *list = levelzero_list_of(ARGUMENT(void *, 0));
  on_CommandListReset(argument);
  if (list != NULL && list->queue != NULL)
    levelzero_queue_gone(list->queue);
}

HANDLER(EventPoolCreate)
{
  levelzero_event_pool_made(*ARGUMENT(void **, 4), ARGUMENT(const struct ze_event_pool_desc *, 1)->flags);
}

HANDLER(EventCreate)
{
  levelzero_event_made(*ARGUMENT(void **, 2), ARGUMENT(void *, 0));
}

HANDLER(EventCounterBasedCreate)
{
  const struct ze_counter_event_desc *desc = ARGUMENT(const struct ze_counter_event_desc *, 2);
  levelzero_counter_event_made(*ARGUMENT(void **, 3), desc == NULL ? 0 : desc->flags);
}

// Intel's own function for such events, which SYCL and OpenVINO use, is no call of the loader: they get ours. It calls the
// driver's.
typedef uint32_t create_fn(void *context, void *device, const struct ze_counter_event_desc *desc, void **ret_event);
static create_fn *real_create; // atomic

static uint32_t create_counter_event(void *context, void *device, const struct ze_counter_event_desc *desc,
                                     void **ret_event)
{
  uint32_t result = __atomic_load_n(&real_create, __ATOMIC_ACQUIRE)(context, device, desc, ret_event);
  if (result == ZE_OK && !is_off() && desc != NULL && ret_event != NULL)
    levelzero_counter_event_made(*ret_event, desc->flags);
  return result;
}

HANDLER(DriverGetExtensionFunctionAddress)
{
  void **place = ARGUMENT(void **, 2);
  create_fn *found, *first = NULL, *ours = create_counter_event;
  if (strcmp(ARGUMENT(const char *, 1), "zexCounterBasedEventCreate2") != 0 || *place == NULL)
    return;
  memcpy(&found, place, sizeof found);
  if (__atomic_compare_exchange_n(&real_create, &first, found, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
      first == found) // of another driver: its events stay unknown
    memcpy(place, &ours, sizeof ours);
}

static void settle(struct event *event)
{
  if (event == NULL || !event->has_times)
    return;
  SCOPED_LOCK(&levelzero_lock);
  flight_settle(event);
}

HANDLER(EventHostReset)
{
  settle(levelzero_event_of(ARGUMENT(void *, 0)));
}

HANDLER(EventDestroy)
{
  struct event *event = levelzero_event_of(ARGUMENT(void *, 0));
  settle(event);
  if (event != NULL)
    event->is_alive = false;
}

HANDLER(CommandListAppendEventReset)
{
  struct event *event = levelzero_event_of(ARGUMENT(void *, 1));
  settle(event);
  if (event != NULL)
    event->is_reset_by_device = true;
}

HANDLER(EventQueryStatus)
{
  static uint64_t last; // atomic
  uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
  if (now - __atomic_load_n(&last, __ATOMIC_RELAXED) < POLLS_NS)
    return;
  __atomic_store_n(&last, now, __ATOMIC_RELAXED);
  look();
}

HANDLER(ContextDestroy)
{
  struct levelzero_context *context = levelzero_context_of(ARGUMENT(void *, 0));
  SCOPED_LOCK(&levelzero_lock);
  if (context != NULL)
    flights_leave(context);
}

HANDLER(KernelCreate)
{
  levelzero_kernel_made(*ARGUMENT(void **, 2), ARGUMENT(const struct ze_kernel_desc *, 1)->name);
}

HANDLER(KernelSetGroupSize)
{
  levelzero_kernel_sized(ARGUMENT(void *, 0),
                         (const uint32_t[]){ARGUMENT(uint32_t, 1), ARGUMENT(uint32_t, 2), ARGUMENT(uint32_t, 3)});
}

HANDLER(MemAllocDevice)
{
  levelzero_allocation_made(ARGUMENT(void *, 0), *ARGUMENT(void **, 5), ARGUMENT(size_t, 2));
}

HANDLER(MemAllocHost)
{
  levelzero_allocation_made(ARGUMENT(void *, 0), *ARGUMENT(void **, 4), ARGUMENT(size_t, 2));
}

HANDLER(MemAllocShared)
{
  levelzero_allocation_made(ARGUMENT(void *, 0), *ARGUMENT(void **, 6), ARGUMENT(size_t, 3));
}

HANDLER(MemFree)
{
  levelzero_allocation_gone(ARGUMENT(void *, 0), ARGUMENT(void *, 1));
}

HANDLER(MemFreeExt)
{
  levelzero_allocation_gone(ARGUMENT(void *, 0), ARGUMENT(void *, 2));
}

// ---- the callbacks
#define CALLBACK(name, is_of_interest, body)                                                                           \
  static void name(void *arguments, uint32_t result, void *data, void **call_data)                                     \
  {                                                                                                                    \
    void **argument = arguments;                                                                                       \
    int saved_errno = errno;                                                                                           \
    (void)argument, (void)result, (void)data, (void)call_data;                                                         \
    if (!is_off() && (is_of_interest)) {                                                                               \
      is_paused = true;                                                                                                \
      body;                                                                                                            \
      is_paused = false;                                                                                               \
    }                                                                                                                  \
    errno = saved_errno;                                                                                               \
  }
#define SITE(name) XSP_SITE_FULL(site, XSP_LEVEL_KERNEL, "ze" name, API, LEVELZERO_TRACER)
#define BOTH(name, begin, end)                                                                                         \
  CALLBACK(before_##name, true, SITE(#name); begin)                                                                    \
  CALLBACK(after_##name, call.is_open, call.is_open = false; end)

#define X(name, event, work)                                                                                           \
  BOTH(CommandList##name, levelzero_command_begin(&call, &site, ARGUMENT(void *, 0), &ARGUMENT(void *, event), work),  \
       levelzero_command_end(&call, result))
COMMANDS(X)
#undef X
#define X(name) BOTH(name, levelzero_call_begin(&call, &site), levelzero_call_end(&call, result); look())
WAITS(X)
#undef X
#define X(name) BOTH(name, levelzero_call_begin(&call, &site), levelzero_call_end(&call, result))
OTHERS(X)
#undef X
#define X(name, queue)                                                                                                 \
  BOTH(name, levelzero_execute_begin(&call, &site, queue, &ARGUMENT(uint32_t, 1), &ARGUMENT(void **, 2)),              \
       levelzero_execute_end(&call, result))
EXECUTIONS(X)
#undef X
#define X(name) CALLBACK(before_##name, true, on_##name(argument))
BEFORE(X)
#undef X
#define X(name) CALLBACK(after_##name, result == ZE_OK, on_##name(argument))
AFTER(X)
#undef X

// clang-format off
static const struct {
  const char *name;
  zel_callback *before, *after;
} callbacks[] = {
#define X(name, ...) {"CommandList" #name, before_CommandList##name, after_CommandList##name},
  COMMANDS(X)
#undef X
#define X(name, ...) {#name, before_##name, after_##name},
  WAITS(X) OTHERS(X) EXECUTIONS(X)
#undef X
#define X(name) {#name, before_##name, NULL},
  BEFORE(X)
#undef X
#define X(name) {#name, NULL, after_##name},
  AFTER(X)
#undef X
};
// clang-format on

uint32_t levelzero_callbacks_register(void *library, void *tracer)
{
  uint32_t known = 0;
  for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0]; i++) {
    char name[160];
    zel_register *to_register;
    snprintf(name, sizeof name, "zelTracer%sRegisterCallback", callbacks[i].name);
    if (!device_function(library, name, &to_register))
      continue;
    bool is_before = callbacks[i].before == NULL || to_register(tracer, ZEL_BEFORE, callbacks[i].before) == ZE_OK;
    known += is_before && (callbacks[i].after == NULL || to_register(tracer, ZEL_AFTER, callbacks[i].after) == ZE_OK);
  }
  return known;
}
