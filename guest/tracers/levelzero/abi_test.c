// SPDX-License-Identifier: Apache-2.0
// abi.h, and the numbers of arguments in callbacks.c, against the vendor's headers: compiled, never run.
#include "tracers/levelzero/abi.h"

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/ze_api.h>

#define SAME(ours, our_field, theirs, their_field)                                                                     \
  _Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field) &&                                  \
                     sizeof(((struct ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),                      \
                 #theirs "." #their_field)
#define SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs)
#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
// Argument `number` of a call is its parameter `name`.
#define ARGUMENT(call, number, name)                                                                                   \
  _Static_assert(offsetof(ze_##call##_params_t, name) == (number) * sizeof(void *), #call "." #name)

EQUAL(ZE_OK, ZE_RESULT_SUCCESS);
EQUAL(ZE_NOT_READY, ZE_RESULT_NOT_READY);
EQUAL(ZE_QUEUE_GROUP_PROPERTIES, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
EQUAL(ZE_EVENT_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
EQUAL(ZE_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
EQUAL(ZE_COMMAND_LIST_DESC, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
EQUAL(ZE_HOST_MEMORY_DESC, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
EQUAL(ZE_MEMORY_PROPERTIES, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
EQUAL(ZE_DEVICE_PROPERTIES_1_2, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
EQUAL(ZE_POOL_IS_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
EQUAL(ZE_POOL_HAS_TIMESTAMPS, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
EQUAL(ZE_SCOPE_IS_HOST, ZE_EVENT_SCOPE_FLAG_HOST);
EQUAL(ZE_GROUP_HAS_COMPUTE, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
EQUAL(ZE_DEVICE_IS_SUBDEVICE, ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE);
EQUAL(ZE_MEMORY_HOST, ZE_MEMORY_TYPE_HOST);
EQUAL(ZE_MEMORY_DEVICE, ZE_MEMORY_TYPE_DEVICE);
EQUAL(ZE_MEMORY_SHARED, ZE_MEMORY_TYPE_SHARED);
EQUAL(ZEL_TRACER_DESC, ZEL_STRUCTURE_TYPE_TRACER_DESC);
EQUAL(ZEL_BEFORE, ZEL_REGISTER_PROLOGUE);
EQUAL(ZEL_AFTER, ZEL_REGISTER_EPILOGUE);

SIZE(ze_device_properties, ze_device_properties_t);
SAME(ze_device_properties, flags, ze_device_properties_t, flags);
SAME(ze_device_properties, subdevice, ze_device_properties_t, subdeviceId);
SAME(ze_device_properties, timer_resolution, ze_device_properties_t, timerResolution);
SAME(ze_device_properties, timestamp_bits, ze_device_properties_t, timestampValidBits);
SAME(ze_device_properties, kernel_timestamp_bits, ze_device_properties_t, kernelTimestampValidBits);
SAME(ze_device_properties, name, ze_device_properties_t, name);
SIZE(ze_queue_group_properties, ze_command_queue_group_properties_t);
SAME(ze_queue_group_properties, flags, ze_command_queue_group_properties_t, flags);
SIZE(ze_event_pool_desc, ze_event_pool_desc_t);
SAME(ze_event_pool_desc, flags, ze_event_pool_desc_t, flags);
SAME(ze_event_pool_desc, count, ze_event_pool_desc_t, count);
SIZE(ze_event_desc, ze_event_desc_t);
SAME(ze_event_desc, index, ze_event_desc_t, index);
SAME(ze_event_desc, wait, ze_event_desc_t, wait);
SIZE(ze_list_desc, ze_command_list_desc_t);
SAME(ze_list_desc, ordinal, ze_command_list_desc_t, commandQueueGroupOrdinal);
SAME(ze_list_desc, flags, ze_command_list_desc_t, flags);
SIZE(ze_queue_desc, ze_command_queue_desc_t);
SAME(ze_queue_desc, ordinal, ze_command_queue_desc_t, ordinal);
SAME(ze_queue_desc, flags, ze_command_queue_desc_t, flags);
SIZE(ze_host_memory_desc, ze_host_mem_alloc_desc_t);
SIZE(ze_memory_properties, ze_memory_allocation_properties_t);
SAME(ze_memory_properties, type, ze_memory_allocation_properties_t, type);
SAME(ze_kernel_desc, name, ze_kernel_desc_t, pKernelName);
SIZE(ze_timestamps, ze_kernel_timestamp_result_t);
SAME(ze_timestamps, start, ze_kernel_timestamp_result_t, global.kernelStart);
SAME(ze_timestamps, end, ze_kernel_timestamp_result_t, global.kernelEnd);
SAME(ze_timestamps, context_end, ze_kernel_timestamp_result_t, context.kernelEnd);
SIZE(ze_region, ze_copy_region_t);
SAME(ze_region, extent[0], ze_copy_region_t, width);
SIZE(zel_tracer_desc, zel_tracer_desc_t);
SAME(zel_tracer_desc, data, zel_tracer_desc_t, pUserData);
_Static_assert(sizeof(ze_group_count_t) == 3 * sizeof(uint32_t), "a grid");

ARGUMENT(command_list_append_launch_kernel, 0, phCommandList);
ARGUMENT(command_list_append_launch_kernel, 1, phKernel);
ARGUMENT(command_list_append_launch_kernel, 2, ppLaunchFuncArgs);
ARGUMENT(command_list_append_launch_kernel, 3, phSignalEvent);
ARGUMENT(command_list_append_launch_cooperative_kernel, 3, phSignalEvent);
ARGUMENT(command_list_append_launch_kernel_indirect, 3, phSignalEvent);
ARGUMENT(command_list_append_launch_multiple_kernels_indirect, 5, phSignalEvent);
ARGUMENT(command_list_append_memory_copy, 1, pdstptr);
ARGUMENT(command_list_append_memory_copy, 2, psrcptr);
ARGUMENT(command_list_append_memory_copy, 3, psize);
ARGUMENT(command_list_append_memory_copy, 4, phSignalEvent);
ARGUMENT(command_list_append_memory_copy_from_context, 4, psize);
ARGUMENT(command_list_append_memory_copy_from_context, 5, phSignalEvent);
ARGUMENT(command_list_append_memory_copy_region, 2, pdstRegion);
ARGUMENT(command_list_append_memory_copy_region, 9, phSignalEvent);
ARGUMENT(command_list_append_memory_fill, 4, psize);
ARGUMENT(command_list_append_memory_fill, 5, phSignalEvent);
ARGUMENT(command_list_append_image_copy, 3, phSignalEvent);
ARGUMENT(command_list_append_image_copy_region, 5, phSignalEvent);
ARGUMENT(command_list_append_image_copy_to_memory, 4, phSignalEvent);
ARGUMENT(command_list_append_image_copy_from_memory, 4, phSignalEvent);
ARGUMENT(command_list_append_barrier, 1, phSignalEvent);
ARGUMENT(command_list_append_memory_ranges_barrier, 4, phSignalEvent);
ARGUMENT(command_list_append_event_reset, 1, phEvent);
ARGUMENT(command_queue_execute_command_lists, 1, pnumCommandLists);
ARGUMENT(command_queue_execute_command_lists, 2, pphCommandLists);
ARGUMENT(command_queue_create, 1, phDevice);
ARGUMENT(command_queue_create, 3, pphCommandQueue);
ARGUMENT(command_list_create, 2, pdesc);
ARGUMENT(command_list_create, 3, pphCommandList);
ARGUMENT(command_list_create_immediate, 2, paltdesc);
ARGUMENT(command_list_create_immediate, 3, pphCommandList);
ARGUMENT(event_pool_create, 1, pdesc);
ARGUMENT(event_pool_create, 4, pphEventPool);
ARGUMENT(event_create, 0, phEventPool);
ARGUMENT(event_create, 2, pphEvent);
ARGUMENT(kernel_create, 1, pdesc);
ARGUMENT(kernel_create, 2, pphKernel);
ARGUMENT(kernel_set_group_size, 3, pgroupSizeZ);
ARGUMENT(mem_alloc_device, 2, psize);
ARGUMENT(mem_alloc_device, 5, ppptr);
ARGUMENT(mem_alloc_host, 2, psize);
ARGUMENT(mem_alloc_host, 4, ppptr);
ARGUMENT(mem_alloc_shared, 3, psize);
ARGUMENT(mem_alloc_shared, 6, ppptr);
ARGUMENT(mem_free, 1, pptr);
ARGUMENT(mem_free_ext, 2, pptr);
ARGUMENT(driver_get_extension_function_address, 1, pname);
ARGUMENT(driver_get_extension_function_address, 2, pppFunctionAddress);
#ifdef ZE_RECORD_REPLAY_GRAPH_EXT_NAME // headers of 1.17
EQUAL(ZE_POOL_HAS_MAPPED_TIMESTAMPS, ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP);
_Static_assert((ZE_COUNTER_EVENT_WITHOUT_TIMES &
                (ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP | ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP)) == 0,
               "times");
SIZE(ze_counter_event_desc, ze_event_counter_based_desc_t);
SAME(ze_counter_event_desc, flags, ze_event_counter_based_desc_t, flags);
ARGUMENT(event_counter_based_create, 2, pdesc);
ARGUMENT(event_counter_based_create, 3, pphEvent);
EQUAL(ZE_QUEUE_IS_IN_ORDER, ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
EQUAL(ZE_LIST_IS_IN_ORDER, ZE_COMMAND_LIST_FLAG_IN_ORDER);
ARGUMENT(command_list_append_launch_kernel_with_parameters, 2, ppGroupCounts);
ARGUMENT(command_list_append_launch_kernel_with_parameters, 4, phSignalEvent);
ARGUMENT(command_list_append_launch_kernel_with_arguments, 2, pgroupCounts);
ARGUMENT(command_list_append_launch_kernel_with_arguments, 3, pgroupSizes);
ARGUMENT(command_list_append_launch_kernel_with_arguments, 6, phSignalEvent);
ARGUMENT(command_list_append_memory_copy_with_parameters, 3, psize);
ARGUMENT(command_list_append_memory_copy_with_parameters, 5, phSignalEvent);
ARGUMENT(command_list_append_memory_fill_with_parameters, 4, psize);
ARGUMENT(command_list_append_memory_fill_with_parameters, 6, phSignalEvent);
ARGUMENT(command_list_immediate_append_command_lists_exp, 2, pphCommandLists);
ARGUMENT(command_list_immediate_append_command_lists_with_parameters, 2, pphCommandLists);
#endif
