// SPDX-License-Identifier: Apache-2.0
// Further modes of the workload: threads, errors, memory, ends.
#include "workload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP

static void *launch_in_thread(void *number)
{
  char name[32];
  snprintf(name, sizeof name, "thread%ld_50", (long)number);
  ze_command_list_handle_t list = immediate(0, 0, (long)number % 2 == 0);
  ze_event_pool_handle_t pool = make_pool(1, (long)number % 4 == 3 ? TIMES : 0);
  ze_event_handle_t done = make_event(pool, 0);
  ze_kernel_handle_t kernel = make_kernel(name, 1, 1, 1);
  for (int i = 0; i < 100; i++) {
    launch(list, kernel, 1, NULL, NULL);
    launch(list, kernel, 2, done, NULL);
    wait_for(done);
    DO(zeEventHostReset(done));
  }
  DO(zeCommandListAppendBarrier(list, done, 0, NULL));
  wait_for(done);
  DO(zeEventDestroy(done));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  DO(zeKernelDestroy(kernel));
  return NULL;
}

void mode_threads(void)
{
  pthread_t threads[8];
  set_up();
  for (long i = 0; i < 8; i++)
    pthread_create(&threads[i], NULL, launch_in_thread, (void *)i);
  for (int i = 0; i < 8; i++)
    pthread_join(threads[i], NULL);
  tear_down();
}

// Calls that fail, with the driver's codes; what follows them goes on.
void mode_errors(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true), copies = immediate(0, 1, true), plain = recorded(0);
  ze_event_pool_handle_t pool = make_pool(1, 0);
  ze_event_handle_t event = make_event(pool, 0);
  ze_kernel_handle_t kernel = make_kernel("kernel_100", 1, 1, 1);
  ze_command_queue_handle_t queue = make_queue(0);
  const ze_group_count_t none = {0, 1, 1}, one = {1, 1, 1};
  const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void *memory;
  expect(zeCommandListAppendLaunchKernel(list, kernel, &none, NULL, 0, NULL), ZE_RESULT_ERROR_INVALID_ARGUMENT, "none");
  expect(zeCommandListAppendLaunchKernel(list, kernel, &none, event, 0, NULL), ZE_RESULT_ERROR_INVALID_ARGUMENT,
         "none");
  expect(zeCommandListAppendLaunchKernel(copies, kernel, &one, NULL, 0, NULL),
         ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "a kernel in a list for copies");
  expect(zeMemAllocDevice(context, &desc, SIZE_MAX / 2, 64, devices[0], &memory), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
         "all");
  expect(zeEventHostSynchronize(event, 1000), ZE_RESULT_NOT_READY, "nothing signals it");
  launch(plain, kernel, 5, NULL, NULL);
  DO(zeCommandListClose(plain));
  setenv("XSP_SIM_REFUSE_EXECUTE", "1", 1);
  expect(zeCommandQueueExecuteCommandLists(queue, 1, &plain, NULL), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "refused");
  unsetenv("XSP_SIM_REFUSE_EXECUTE");
  DO(zeCommandQueueExecuteCommandLists(queue, 1, &plain, NULL));
  DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
  launch(list, kernel, 3, event, NULL);
  wait_for(event);
  DO(zeEventDestroy(event));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  DO(zeCommandListDestroy(copies));
  DO(zeCommandListDestroy(plain));
  DO(zeCommandQueueDestroy(queue));
  tear_down();
}

void mode_memory(void)
{
  const ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  const ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *first, *second, *third, *fourth;
  set_up();
  DO(zeMemAllocDevice(context, &device, 1000, 64, devices[1], &first));
  DO(zeMemAllocDevice(context, &device, 500, 64, devices[1], &second));
  DO(zeMemAllocHost(context, &host, 300, 64, &third));
  DO(zeMemAllocShared(context, &device, &host, 200, 64, devices[0], &fourth));
  DO(zeMemFree(context, first));
  DO(zeMemFree(context, second));
  DO(zeMemFree(context, third));
  DO(zeMemFree(context, fourth));
  tear_down();
}

void mode_many(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true);
  ze_event_pool_handle_t pool = make_pool(1, 0);
  ze_event_handle_t event = make_event(pool, 0);
  ze_kernel_handle_t kernel = make_kernel("kernel_1", 1, 1, 1);
  for (int i = 0; i < 5000; i++)
    launch(list, kernel, (uint32_t)i % 7 + 1, NULL, NULL);
  DO(zeCommandListAppendBarrier(list, event, 0, NULL));
  wait_for(event);
  DO(zeEventDestroy(event));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}

// Contexts, lists, queues and kernels that come and go: the driver gives addresses out again.
void mode_contexts(void)
{
  for (int round = 0; round < 30; round++) {
    char name[32];
    set_up();
    snprintf(name, sizeof name, "of%d_20", round);
    ze_kernel_handle_t kernel = make_kernel(name, 1, 1, 1);
    ze_command_queue_handle_t queue = make_queue(0);
    ze_command_list_handle_t list = recorded(0), other = immediate(0, 0, round % 2 == 0);
    launch(list, kernel, 1, NULL, NULL);
    DO(zeCommandListClose(list));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
    ze_event_pool_handle_t pool = make_pool(1, round % 3 == 0 ? TIMES : 0);
    ze_event_handle_t event = make_event(pool, 0);
    launch(other, kernel, 2, event, NULL);
    wait_for(event);
    DO(zeEventDestroy(event));
    DO(zeEventPoolDestroy(pool));
    DO(zeCommandListDestroy(list));
    DO(zeCommandListDestroy(other));
    DO(zeCommandQueueDestroy(queue));
    DO(zeKernelDestroy(kernel));
    tear_down();
  }
}

// An event of a pool of another process: what xsp does not know may have times.
void mode_foreign(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true);
  ze_event_pool_handle_t own = make_pool(1, ZE_EVENT_POOL_FLAG_IPC), pool;
  ze_ipc_event_pool_handle_t handle;
  DO(zeEventPoolGetIpcHandle(own, &handle));
  DO(zeEventPoolOpenIpcHandle(context, handle, &pool));
  ze_event_handle_t event = make_event(pool, 0);
  launch(list, make_kernel("kernel_100", 1, 1, 1), 1, event, NULL);
  wait_for(event);
  DO(zeEventDestroy(event));
  DO(zeEventPoolCloseIpcHandle(pool));
  DO(zeEventPoolDestroy(own));
  DO(zeCommandListDestroy(list));
  tear_down();
}

// Events with counters, by Intel's extension: they are used again without a reset.
void mode_counters(void)
{
  struct desc {
    uint32_t type;
    const void *next;
    uint32_t flags, signal, wait;
  };
  ze_result_t (*create)(ze_context_handle_t, ze_device_handle_t, const struct desc *, ze_event_handle_t *) = NULL;
  ze_event_handle_t plain, timed;
  set_up();
  DO(zeDriverGetExtensionFunctionAddress(driver, "zexCounterBasedEventCreate2", (void **)&create));
  DO(create(context, devices[0], &(struct desc){.flags = 1 | 4}, &plain));
  DO(create(context, devices[0], &(struct desc){.flags = 1 | 4 | 16}, &timed));
  ze_command_list_handle_t list = immediate(0, 0, true);
  ze_kernel_handle_t first = make_kernel("first_300", 1, 1, 1), second = make_kernel("second_200", 1, 1, 1);
  for (int round = 0; round < 5; round++) {
    launch(list, first, 1, timed, NULL);
    launch(list, second, 2, plain, timed);
    wait_for(plain);
    print_times(timed, 300);
  }
  DO(zeEventDestroy(plain));
  DO(zeEventDestroy(timed));
  DO(zeCommandListDestroy(list));
  tear_down();
}

// The first kernel runs when the tracer is switched off, the second is launched then, the third when it is on again.
void mode_switched(void)
{
  uint32_t (*set_levels)(const char *, uint32_t) = NULL;
  *(void **)&set_levels = dlsym(RTLD_DEFAULT, "xsp_tracer_set_levels");
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true);
  ze_event_pool_handle_t pool = make_pool(2, 0);
  ze_event_handle_t gate = make_event(pool, 0), done = make_event(pool, 1);
  launch(list, make_kernel("first_100", 1, 1, 1), 1, NULL, gate);
  if (set_levels != NULL)
    set_levels("levelzero", 0);
  launch(list, make_kernel("second_100", 1, 1, 1), 1, done, NULL);
  DO(zeEventHostSignal(gate));
  wait_for(done);
  DO(zeEventHostReset(done));
  if (set_levels != NULL)
    set_levels("levelzero", UINT32_MAX);
  launch(list, make_kernel("third_100", 1, 1, 1), 1, done, NULL);
  wait_for(done);
  DO(zeEventDestroy(gate));
  DO(zeEventDestroy(done));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}

// What was waited for is recorded, however the program ends.
void mode_waited(void)
{
  set_up();
  ze_event_handle_t event = make_event(make_pool(1, 0), 0);
  launch(immediate(0, 0, true), make_kernel("kernel_100", 1, 1, 1), 1, event, NULL);
  wait_for(event);
  _exit(9);
}

static void leave_in_flight(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true);
  launch(list, make_kernel("long_30000", 1, 1, 1), 1, NULL, NULL);
  launch(list, make_kernel("brief_100", 1, 1, 1), 1, NULL, NULL);
  printf("left\n");
  fflush(stdout);
}

void mode_leave(void)
{
  leave_in_flight();
  exit(7);
}

void mode_abrupt(void)
{
  leave_in_flight();
  _exit(8);
}

// The child of a fork uses nothing of Level Zero, and ends by exit.
void mode_fork(void)
{
  int status = 0;
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true);
  ze_event_pool_handle_t pool = make_pool(1, 0);
  ze_event_handle_t event = make_event(pool, 0);
  ze_kernel_handle_t kernel = make_kernel("kernel_2000", 1, 1, 1);
  launch(list, kernel, 1, event, NULL);
  pid_t child = fork();
  if (child == 0)
    exit(5);
  waitpid(child, &status, 0);
  printf("child: %d\n", WEXITSTATUS(status));
  wait_for(event);
  DO(zeEventDestroy(event));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}

// A kernel that is read long after it ran, and one across the wrap of the kernels' clock (100 ms after the start).
void mode_late(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true);
  launch(list, make_kernel("across_200000", 1, 1, 1), 1, NULL, NULL);
  launch(list, make_kernel("after_1000", 1, 1, 1), 1, NULL, NULL);
  ze_event_pool_handle_t pool = make_pool(1, 0);
  ze_event_handle_t event = make_event(pool, 0);
  DO(zeCommandListAppendSignalEvent(list, event));
  wait_for(event);
  DO(zeEventDestroy(event));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}

// A list of 3,000 kernels.
void mode_large(void)
{
  set_up();
  ze_command_queue_handle_t queue = make_queue(0);
  ze_command_list_handle_t list = recorded(0);
  ze_kernel_handle_t kernel = make_kernel("kernel_1", 1, 1, 1);
  for (uint32_t i = 0; i < 3000; i++)
    launch(list, kernel, i % 5 + 1, NULL, NULL);
  DO(zeCommandListClose(list));
  for (int round = 0; round < 2; round++)
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
  DO(zeCommandListDestroy(list));
  DO(zeCommandQueueDestroy(queue));
  tear_down();
}

// The program asks for an event's state and never waits.
void mode_polls(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, false);
  ze_event_pool_handle_t pool = make_pool(1, 0);
  ze_event_handle_t event = make_event(pool, 0);
  ze_kernel_handle_t kernel = make_kernel("kernel_1000", 1, 1, 1);
  for (int round = 0; round < 5; round++) {
    launch(list, kernel, 1, event, NULL);
    while (zeEventQueryStatus(event) == ZE_RESULT_NOT_READY)
      usleep(100);
    DO(zeEventHostReset(event));
  }
  DO(zeEventDestroy(event));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}
