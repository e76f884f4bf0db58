// SPDX-License-Identifier: Apache-2.0
// The modes of the workload, one thing of Level Zero each.
#include "workload.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TIMES ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP

static void signal_of(const char *what, ze_event_handle_t event)
{
  printf("%s: 0x%x\n", what, zeEventQueryStatus(event));
}

// Kernels with and without events in an ordered list, on two devices; one handle with several shapes.
void mode_ordered(void)
{
  set_up();
  ze_event_pool_handle_t pool = make_pool(2, 0);
  ze_event_handle_t done = make_event(pool, 0), other = make_event(pool, 1);
  ze_kernel_handle_t matmul = make_kernel("matmul_200", 8, 4, 1), add = make_kernel("add_100", 64, 1, 1);
  for (uint32_t device = 0; device < 2; device++) {
    ze_command_list_handle_t list = immediate(device, 0, true);
    launch(list, matmul, 10, NULL, NULL);
    launch(list, add, 20, NULL, NULL);
    DO(zeKernelSetGroupSize(matmul, 16, 16, 1));
    launch(list, matmul, 10, done, NULL);
    launch(list, add, 20, other, done);
    wait_for(other);
    signal_of("done", done);
    DO(zeEventHostReset(done));
    DO(zeEventHostReset(other));
    signal_of("reset", done);
    DO(zeCommandListDestroy(list));
    DO(zeKernelSetGroupSize(matmul, 8, 4, 1));
  }
  DO(zeEventDestroy(done));
  DO(zeEventDestroy(other));
  DO(zeEventPoolDestroy(pool));
  DO(zeKernelDestroy(matmul));
  DO(zeKernelDestroy(add));
  tear_down();
}

// Kernels that overlap in one list; each signals an event that another waits for. No order is added: the last one is done
// while the first still runs.
void mode_unordered(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, false);
  ze_event_pool_handle_t pool = make_pool(4, 0);
  ze_event_handle_t events[4];
  for (uint32_t i = 0; i < 4; i++)
    events[i] = make_event(pool, i);
  ze_kernel_handle_t length = make_kernel("long_400000", 1, 1, 1), brief = make_kernel("brief_1000", 2, 2, 2);
  launch(list, length, 1, events[0], NULL);
  launch(list, brief, 2, events[1], NULL);
  launch(list, brief, 3, events[2], events[1]);
  launch(list, brief, 4, events[3], NULL);
  for (uint32_t i = 1; i < 4; i++)
    wait_for(events[i]);
  signal_of("the long one", events[0]);
  wait_for(events[0]);
  for (int round = 0; round < 20; round++) {
    for (uint32_t i = 0; i < 4; i++)
      DO(zeEventHostReset(events[i]));
    for (uint32_t i = 0; i < 4; i++)
      launch(list, brief, 10 + i, events[i], i == 0 ? NULL : events[i - 1]);
    wait_for(events[3]);
  }
  for (uint32_t i = 0; i < 4; i++)
    DO(zeEventDestroy(events[i]));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}

// The program waits for one event before it signals the one that an earlier command waits for: a barrier of ours would wait
// for ever.
void mode_interlocked(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, false);
  ze_event_pool_handle_t pool = make_pool(3, 0);
  ze_event_handle_t gate = make_event(pool, 0), first = make_event(pool, 1), second = make_event(pool, 2);
  ze_kernel_handle_t kernel = make_kernel("gated_100", 1, 1, 1);
  launch(list, kernel, 1, first, gate);
  launch(list, kernel, 2, second, NULL);
  wait_for(second);
  signal_of("behind the gate", first);
  DO(zeEventHostSignal(gate));
  wait_for(first);
  DO(zeEventDestroy(gate));
  DO(zeEventDestroy(first));
  DO(zeEventDestroy(second));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}

void print_times(ze_event_handle_t event, uint64_t length_us)
{
  ze_kernel_timestamp_result_t times;
  ze_result_t result = zeEventQueryKernelTimestamp(event, &times);
  uint64_t cycles = (times.global.kernelEnd - times.global.kernelStart) & UINT32_MAX; // 19.2 MHz
  printf("times: 0x%x, of the kernel: %d\n", result,
         result == ZE_RESULT_SUCCESS && cycles + 1 >= length_us * 192 / 10 && cycles <= length_us * 192 / 10 + 1);
}

// The program's events have times, and it uses them again and again; an event without them has none.
void mode_times(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true);
  ze_event_pool_handle_t pool = make_pool(2, TIMES), plain_pool = make_pool(1, 0);
  ze_event_handle_t event = make_event(pool, 0), other = make_event(pool, 1), plain = make_event(plain_pool, 0);
  ze_kernel_handle_t first = make_kernel("first_300", 1, 1, 1), second = make_kernel("second_500", 1, 1, 1);
  for (int round = 0; round < 10; round++) {
    launch(list, first, 1, event, NULL);
    launch(list, second, 1, other, NULL);
    wait_for(other);
    print_times(event, 300);
    print_times(other, 500);
    DO(zeEventHostReset(event));
    DO(zeEventHostReset(other));
  }
  ze_command_list_handle_t unordered = immediate(0, 0, false);
  launch(unordered, make_kernel("long_300000", 1, 1, 1), 1, NULL, NULL);
  for (int round = 0; round < 3; round++) { // each is reset while the long one runs
    launch(unordered, first, 2, event, NULL);
    wait_for(event);
    DO(zeEventHostReset(event));
  }
  launch(unordered, first, 3, other, NULL);
  wait_for(other);
  launch(list, first, 1, plain, NULL);
  wait_for(plain);
  DO(zeCommandListAppendBarrier(unordered, event, 0, NULL));
  wait_for(event);
  DO(zeCommandListDestroy(unordered));
  ze_kernel_timestamp_result_t times;
  printf("without times: 0x%x\n", zeEventQueryKernelTimestamp(plain, &times));
  DO(zeEventDestroy(event));
  DO(zeEventDestroy(other));
  DO(zeEventDestroy(plain));
  DO(zeEventPoolDestroy(pool));
  DO(zeEventPoolDestroy(plain_pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}

// Copies of each direction, on the queues for copies too, which cannot do all.
void mode_copies(void)
{
  set_up();
  const ze_device_mem_alloc_desc_t device_desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void *memory = NULL;
  char from[4096], to[4096] = "";
  DO(zeMemAllocDevice(context, &device_desc, sizeof from, 64, devices[0], &memory));
  ze_event_pool_handle_t pool = make_pool(1, 0);
  ze_event_handle_t done = make_event(pool, 0);
  for (uint32_t ordinal = 0; ordinal < 2; ordinal++) {
    ze_command_list_handle_t list = immediate(0, ordinal, false);
    memset(from, 'a' + (int)ordinal, sizeof from);
    DO(zeCommandListAppendMemoryCopy(list, memory, from, sizeof from, done, 0, NULL));
    wait_for(done);
    DO(zeEventHostReset(done));
    DO(zeCommandListAppendMemoryCopy(list, to, memory, 1000, done, 0, NULL));
    wait_for(done);
    DO(zeEventHostReset(done));
    printf("copied: %c%c %d\n", to[0], to[999], to[1000]);
    DO(zeCommandListAppendMemoryFill(list, memory, "z", 1, 512, done, 0, NULL));
    wait_for(done);
    DO(zeEventHostReset(done));
    DO(zeCommandListAppendBarrier(list, done, 0, NULL));
    wait_for(done);
    DO(zeEventHostReset(done));
    DO(zeCommandListDestroy(list));
  }
  DO(zeEventDestroy(done));
  DO(zeEventPoolDestroy(pool));
  DO(zeMemFree(context, memory));
  tear_down();
}

static ze_fence_handle_t make_fence(ze_command_queue_handle_t queue)
{
  const ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence;
  DO(zeFenceCreate(queue, &desc, &fence));
  return fence;
}

// Two lists, executed together five times; then one is recorded anew. Ends are awaited by fences and on the queue.
void mode_lists(void)
{
  set_up();
  ze_command_queue_handle_t queue = make_queue(0);
  ze_command_list_handle_t lists[2] = {recorded(0), recorded(0)};
  ze_event_pool_handle_t pool = make_pool(2, 0), timed_pool = make_pool(1, TIMES);
  ze_event_handle_t between = make_event(pool, 0), last = make_event(pool, 1), timed = make_event(timed_pool, 0);
  ze_kernel_handle_t first = make_kernel("first_100", 1, 1, 1), second = make_kernel("second_200", 4, 1, 1);
  launch(lists[0], first, 1, between, NULL);
  launch(lists[0], second, 2, NULL, between);
  launch(lists[1], second, 3, last, NULL);
  launch(lists[1], first, 3, timed, NULL);
  for (int i = 0; i < 2; i++)
    DO(zeCommandListClose(lists[i]));
  ze_fence_handle_t fence = make_fence(queue);
  for (int round = 0; round < 5; round++) {
    DO(zeCommandQueueExecuteCommandLists(queue, 2, lists, fence));
    DO(zeFenceHostSynchronize(fence, UINT64_MAX));
    signal_of("last", last);
    print_times(timed, 100);
    DO(zeFenceReset(fence));
    DO(zeEventHostReset(between));
    DO(zeEventHostReset(last));
    DO(zeEventHostReset(timed));
  }
  DO(zeCommandListReset(lists[0]));
  launch(lists[0], second, 7, NULL, NULL);
  DO(zeCommandListClose(lists[0]));
  DO(zeCommandQueueExecuteCommandLists(queue, 1, lists, NULL));
  DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
  DO(zeFenceDestroy(fence));
  DO(zeCommandListDestroy(lists[0]));
  DO(zeCommandListDestroy(lists[1]));
  DO(zeEventDestroy(between));
  DO(zeEventDestroy(last));
  DO(zeEventDestroy(timed));
  DO(zeEventPoolDestroy(pool));
  DO(zeEventPoolDestroy(timed_pool));
  DO(zeCommandQueueDestroy(queue));
  tear_down();
}

// One list, executed eighty times while a gate holds the queue: more than are followed together (64).
void mode_pipelined(void)
{
  set_up();
  ze_command_queue_handle_t queue = make_queue(0);
  ze_command_list_handle_t list = recorded(0);
  ze_kernel_handle_t first = make_kernel("first_10000", 1, 1, 1), second = make_kernel("second_1000", 4, 1, 1);
  ze_event_pool_handle_t pool = make_pool(2, 0);
  ze_event_handle_t between = make_event(pool, 0), gate = make_event(pool, 1);
  ze_command_list_handle_t gated = recorded(0);
  launch(gated, make_kernel("gated_100", 1, 1, 1), 1, NULL, gate);
  DO(zeCommandListClose(gated));
  DO(zeCommandQueueExecuteCommandLists(queue, 1, &gated, NULL));
  DO(zeCommandListAppendEventReset(list, between));
  DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
  launch(list, first, 1, between, NULL);
  launch(list, second, 2, NULL, between);
  DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
  DO(zeCommandListClose(list));
  for (int round = 0; round < 80; round++)
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  DO(zeEventHostSignal(gate)); // all are in flight now
  DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
  DO(zeCommandListDestroy(list));
  DO(zeCommandListDestroy(gated));
  DO(zeEventDestroy(between));
  DO(zeEventDestroy(gate));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandQueueDestroy(queue));
  tear_down();
}

// A list is destroyed, and another reset, as soon as its own last event is signalled.
void mode_hasty(void)
{
  set_up();
  ze_command_queue_handle_t queue = make_queue(0);
  ze_command_list_handle_t kept = recorded(0);
  ze_event_pool_handle_t pool = make_pool(1, 0);
  ze_event_handle_t done = make_event(pool, 0);
  ze_kernel_handle_t kernel = make_kernel("kernel_100", 1, 1, 1);
  for (int round = 0; round < 20; round++) {
    ze_command_list_handle_t list = round % 2 == 0 ? kept : recorded(0);
    launch(list, kernel, 1, done, NULL);
    DO(zeCommandListClose(list));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    wait_for(done);
    DO(list == kept ? zeCommandListReset(list) : zeCommandListDestroy(list));
    DO(zeEventHostReset(done));
  }
  DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
  DO(zeCommandListDestroy(kept));
  DO(zeEventDestroy(done));
  DO(zeEventPoolDestroy(pool));
  DO(zeCommandQueueDestroy(queue));
  tear_down();
}

// Events with times that the device resets, and that the program uses again before they are signalled.
void mode_resets(void)
{
  set_up();
  ze_command_list_handle_t list = immediate(0, 0, true);
  ze_event_pool_handle_t pool = make_pool(1, TIMES), plain_pool = make_pool(1, 0);
  ze_event_handle_t event = make_event(pool, 0), gate = make_event(plain_pool, 0);
  ze_kernel_handle_t kernel = make_kernel("kernel_100", 1, 1, 1);
  for (int round = 0; round < 3; round++) {
    launch(list, kernel, 1, event, gate);
    DO(zeCommandListAppendEventReset(list, event));
  }
  launch(list, kernel, 2, event, NULL);
  DO(zeEventHostSignal(gate));
  wait_for(event);
  DO(zeEventDestroy(event));
  DO(zeEventDestroy(gate));
  DO(zeEventPoolDestroy(pool));
  DO(zeEventPoolDestroy(plain_pool));
  DO(zeCommandListDestroy(list));
  tear_down();
}
