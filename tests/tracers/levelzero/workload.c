// SPDX-License-Identifier: Apache-2.0
// levelzero_workload MODE: prints what the program sees, which must be the same with xsp. Its helpers.
#include "workload.h"

#include <stdio.h>
#include <string.h>

ze_context_handle_t context;
ze_device_handle_t devices[2];
ze_driver_handle_t driver;

void expect(ze_result_t result, ze_result_t wanted, const char *what)
{
  if (result != wanted)
    printf("0x%x where 0x%x was expected: %s\n", result, wanted, what);
}

void set_up(void)
{
  uint32_t count = 1, device_count = 2;
  const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  DO(zeInit(0));
  DO(zeDriverGet(&count, &driver));
  DO(zeDeviceGet(driver, &device_count, devices));
  DO(zeContextCreate(driver, &desc, &context));
}

void tear_down(void)
{
  DO(zeContextDestroy(context));
}

ze_kernel_handle_t make_kernel(const char *name, uint32_t x, uint32_t y, uint32_t z)
{
  const ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC};
  const ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
  ze_module_handle_t module;
  ze_kernel_handle_t kernel;
  DO(zeModuleCreate(context, devices[0], &module_desc, &module, NULL));
  DO(zeKernelCreate(module, &desc, &kernel));
  DO(zeKernelSetGroupSize(kernel, x, y, z));
  return kernel;
}

ze_command_list_handle_t immediate(uint32_t device, uint32_t ordinal, bool is_in_order)
{
  const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                        .ordinal = ordinal,
                                        .flags = is_in_order ? 2 : 0, // ZE_COMMAND_QUEUE_FLAG_IN_ORDER of newer headers
                                        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  ze_command_list_handle_t list;
  DO(zeCommandListCreateImmediate(context, devices[device], &desc, &list));
  return list;
}

ze_command_list_handle_t recorded(uint32_t ordinal)
{
  const ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                       .commandQueueGroupOrdinal = ordinal};
  ze_command_list_handle_t list;
  DO(zeCommandListCreate(context, devices[0], &desc, &list));
  return list;
}

ze_command_queue_handle_t make_queue(uint32_t device)
{
  const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  ze_command_queue_handle_t queue;
  DO(zeCommandQueueCreate(context, devices[device], &desc, &queue));
  return queue;
}

ze_event_pool_handle_t make_pool(uint32_t count, ze_event_pool_flags_t flags)
{
  const ze_event_pool_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = flags | ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = count};
  ze_event_pool_handle_t pool;
  DO(zeEventPoolCreate(context, &desc, 0, NULL, &pool));
  return pool;
}

ze_event_handle_t make_event(ze_event_pool_handle_t pool, uint32_t index)
{
  const ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = index};
  ze_event_handle_t event;
  DO(zeEventCreate(pool, &desc, &event));
  return event;
}

void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups, ze_event_handle_t signal,
            ze_event_handle_t wait)
{
  const ze_group_count_t count = {groups, 2, 1};
  DO(zeCommandListAppendLaunchKernel(list, kernel, &count, signal, wait != NULL, wait == NULL ? NULL : &wait));
}

void wait_for(ze_event_handle_t event)
{
  DO(zeEventHostSynchronize(event, UINT64_C(20000000000)));
}

int main(int count, char **arguments)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } modes[] = {
#define X(name) {#name, mode_##name},
      MODES(X)
#undef X
  };
  for (size_t i = 0; i < sizeof modes / sizeof modes[0] && count == 2; i++)
    if (strcmp(modes[i].name, arguments[1]) == 0) {
      modes[i].run();
      printf("done\n");
      return 0;
    }
  fprintf(stderr, "levelzero_workload MODE\n");
  return 2;
}
