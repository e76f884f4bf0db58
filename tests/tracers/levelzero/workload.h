// SPDX-License-Identifier: Apache-2.0
// What the modes of the workload share: a program that uses Level Zero and prints what it sees.
#ifndef XSP_TESTS_LEVELZERO_WORKLOAD_H
#define XSP_TESTS_LEVELZERO_WORKLOAD_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>

extern ze_context_handle_t context;
extern ze_driver_handle_t driver;
extern ze_device_handle_t devices[2];

void expect(ze_result_t result, ze_result_t wanted, const char *what); // prints what is not as wanted
#define DO(call) expect(call, ZE_RESULT_SUCCESS, #call)
void set_up(void);
void tear_down(void); // the context; nothing of it may be left

ze_kernel_handle_t make_kernel(const char *name, uint32_t x, uint32_t y, uint32_t z);
ze_command_list_handle_t immediate(uint32_t device, uint32_t ordinal, bool is_in_order);
ze_command_list_handle_t recorded(uint32_t ordinal);
ze_command_queue_handle_t make_queue(uint32_t device);
ze_event_pool_handle_t make_pool(uint32_t count, ze_event_pool_flags_t flags);
ze_event_handle_t make_event(ze_event_pool_handle_t pool, uint32_t index);
void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups, ze_event_handle_t signal,
            ze_event_handle_t wait);
void wait_for(ze_event_handle_t event);
void print_times(ze_event_handle_t event, uint64_t length_us); // whether they are of a kernel of this length

// clang-format off
#define MODES(X) \
  X(ordered) X(unordered) X(times) X(copies) X(lists) X(pipelined) X(hasty) X(resets) X(threads) X(errors) X(memory) X(many) \
  X(contexts) X(foreign) X(counters) X(switched) X(leave) X(waited) X(abrupt) X(fork) X(late) X(large) X(polls) X(interlocked)
// clang-format on
#define X(name) void mode_##name(void);
MODES(X)
#undef X

#endif
