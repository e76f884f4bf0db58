// SPDX-License-Identifier: Apache-2.0
// Level Zero as far as it is used here, after the specification 1.0 to 1.17: no header of Intel's is needed to build.
// abi_test.c compares all of it with the vendor's. Handles are pointers to structures that nobody but the driver knows.
#ifndef XSP_TRACERS_LEVELZERO_ABI_H
#define XSP_TRACERS_LEVELZERO_ABI_H

#include <stddef.h>
#include <stdint.h>

enum ze_result { ZE_OK = 0, ZE_NOT_READY = 1 };
enum ze_structure { // first member of structures, then a pointer to an extension
  ZE_QUEUE_GROUP_PROPERTIES = 0x6,
  ZE_EVENT_POOL_DESC = 0x10,
  ZE_EVENT_DESC = 0x11,
  ZE_COMMAND_LIST_DESC = 0xf,
  ZE_HOST_MEMORY_DESC = 0x16,
  ZE_MEMORY_PROPERTIES = 0x17,
  ZE_DEVICE_PROPERTIES_1_2 = 0x20006, // timerResolution in cycles a second
};
enum ze_flag {
  ZE_POOL_IS_HOST_VISIBLE = 1,
  ZE_POOL_HAS_TIMESTAMPS = 4,
  ZE_POOL_HAS_MAPPED_TIMESTAMPS = 8,
  ZE_COUNTER_EVENT_WITHOUT_TIMES = 0xf, // flags that have nothing to do with times
  ZE_SCOPE_IS_HOST = 4,
  ZE_QUEUE_IS_IN_ORDER = 2, // of immediate lists
  ZE_LIST_IS_IN_ORDER = 8,
  ZE_GROUP_HAS_COMPUTE = 1,
  ZE_DEVICE_IS_SUBDEVICE = 2,
};
enum ze_memory_type { ZE_MEMORY_UNKNOWN, ZE_MEMORY_HOST, ZE_MEMORY_DEVICE, ZE_MEMORY_SHARED };

struct ze_head {
  uint32_t type; // enum ze_structure
  const void *next;
};
struct ze_device_properties {
  struct ze_head head;
  uint32_t type, vendor, device, flags, subdevice, core_clock;
  uint64_t allocation_most;
  uint32_t contexts_most, priority_most, threads, simd_width, units, subslices, slices;
  uint64_t timer_resolution;
  uint32_t timestamp_bits, kernel_timestamp_bits;
  uint8_t uuid[16];
  char name[256];
};
struct ze_queue_group_properties {
  struct ze_head head;
  uint32_t flags;
  size_t pattern_most;
  uint32_t queues;
};
struct ze_event_pool_desc {
  struct ze_head head;
  uint32_t flags, count;
};
struct ze_event_desc {
  struct ze_head head;
  uint32_t index, signal, wait;
};
struct ze_counter_event_desc { // of zeEventCounterBasedCreate, and of Intel's zexCounterBasedEventCreate2
  struct ze_head head;
  uint32_t flags, signal, wait;
};
struct ze_list_desc {
  struct ze_head head;
  uint32_t ordinal, flags;
};
struct ze_queue_desc {
  struct ze_head head;
  uint32_t ordinal, index, flags, mode, priority;
};
struct ze_host_memory_desc {
  struct ze_head head;
  uint32_t flags;
};
struct ze_memory_properties {
  struct ze_head head;
  uint32_t type; // enum ze_memory_type
  uint64_t id, page_size;
};
struct ze_kernel_desc {
  struct ze_head head;
  uint32_t flags;
  const char *name;
};
struct ze_timestamps { // cycles of the device
  uint64_t start, end, context_start, context_end;
};
struct ze_region {
  uint32_t origin[3], extent[3];
};

// ---- calls: X(name, parameters), `ze` and the name is the function's; all return enum ze_result
#define ZE_FUNCTIONS(X)                                                                                                \
  X(DriverGet, (uint32_t * count, void **ret_drivers))                                                                 \
  X(DeviceGet, (void *driver, uint32_t *count, void **ret_devices))                                                    \
  X(DeviceGetProperties, (void *device, struct ze_device_properties *ret_properties))                                  \
  X(DeviceGetCommandQueueGroupProperties,                                                                              \
    (void *device, uint32_t *count, struct ze_queue_group_properties *ret_properties))                                 \
  X(DeviceGetGlobalTimestamps, (void *device, uint64_t *ret_host, uint64_t *ret_device))                               \
  X(EventPoolCreate,                                                                                                   \
    (void *context, const struct ze_event_pool_desc *desc, uint32_t devices, void **device, void **ret_pool))          \
  X(EventPoolDestroy, (void *pool))                                                                                    \
  X(EventCreate, (void *pool, const struct ze_event_desc *desc, void **ret_event))                                     \
  X(EventDestroy, (void *event))                                                                                       \
  X(EventQueryStatus, (void *event))                                                                                   \
  X(EventHostReset, (void *event))                                                                                     \
  X(EventHostSynchronize, (void *event, uint64_t timeout_ns))                                                          \
  X(EventQueryKernelTimestamp, (void *event, struct ze_timestamps *ret_times))                                         \
  X(CommandListCreate, (void *context, void *device, const struct ze_list_desc *desc, void **ret_list))                \
  X(CommandListClose, (void *list))                                                                                    \
  X(CommandListDestroy, (void *list))                                                                                  \
  X(CommandListAppendBarrier, (void *list, void *signal, uint32_t waits, void **wait))                                 \
  X(CommandListAppendEventReset, (void *list, void *event))                                                            \
  X(CommandListAppendQueryKernelTimestamps, (void *list, uint32_t events, void **event, void *times,                   \
                                             const size_t *offsets, void *signal, uint32_t waits, void **wait))        \
  X(MemAllocHost,                                                                                                      \
    (void *context, const struct ze_host_memory_desc *desc, size_t size, size_t alignment, void **ret_memory))         \
  X(MemFree, (void *context, void *memory))                                                                            \
  X(MemGetAllocProperties,                                                                                             \
    (void *context, const void *memory, struct ze_memory_properties *ret_properties, void **ret_device))               \
  X(MemGetAddressRange, (void *context, const void *memory, void **ret_base, size_t *ret_size))                        \
  X(KernelGetName, (void *kernel, size_t *size, char *ret_name))

#define X(name, parameters) typedef uint32_t ze_##name parameters;
ZE_FUNCTIONS(X)
#undef X
struct ze { // of the process's loader
#define X(name, parameters) ze_##name *name;
  ZE_FUNCTIONS(X)
#undef X
};

// ---- the loader's tracing layer: callbacks before and after a call get pointers to its arguments
struct zel_tracer_desc {
  struct ze_head head; // type 1
  void *data;          // must not be NULL
};
enum { ZEL_TRACER_DESC = 1, ZEL_BEFORE = 0, ZEL_AFTER = 1 };
typedef void zel_callback(void *arguments, uint32_t result, void *data, void **call_data);
typedef uint32_t zel_create(const struct zel_tracer_desc *desc, void **ret_tracer);
typedef uint32_t zel_register(void *tracer, uint32_t when, zel_callback *callback);
typedef uint32_t zel_enable(void *tracer, uint8_t is_enabled);

#endif
