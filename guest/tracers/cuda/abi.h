// SPDX-License-Identifier: Apache-2.0
// CUPTI's binary interface, as far as cuda.so uses it: 11.8 to 13.5. Records are declared up to the last field that all of
// these versions have: later versions append. abi_test.c compares it with the vendor's headers.
#ifndef XSP_TRACERS_CUDA_ABI_H
#define XSP_TRACERS_CUDA_ABI_H

#include "tracers/cuda/pc_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cupti_result {
  CUPTI_OK = 0,
  CUPTI_NO_MEMORY = 8,
  CUPTI_NO_MORE = 12, // cuptiActivityGetNextRecord at the end
  CUPTI_NOT_COMPATIBLE = 14,
  CUPTI_OTHER_SUBSCRIBER = 39, // 11 to 13.2, and drivers before r610: one tool per process
};

enum cupti_kind {
  CUPTI_MEMCPY = 1,
  CUPTI_MEMSET = 2,
  CUPTI_DRIVER = 4,
  CUPTI_RUNTIME = 5,
  CUPTI_DEVICE = 8,
  CUPTI_KERNEL = 10, // kernels run side by side as without the tool
  CUPTI_OVERHEAD = 17,
  CUPTI_MEMCPY_PEER = 22,
  CUPTI_SYNCHRONIZATION = 38,
  CUPTI_MEMORY = 49,
  CUPTI_MEMORY_POOL = 50,
};

enum cupti_domain { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2, CUPTI_DOMAINS, CUPTI_DOMAIN_RESOURCE = 3 };
enum cupti_resource_callback {
  CUPTI_CONTEXT_BEGINS = 1,
  CUPTI_CONTEXT_ENDS = 2,
  CUPTI_MODULE_LOADED = 6,
  CUPTI_MODULE_UNLOADS = 7,
  CUPTI_NODE_CREATED = 13,
  CUPTI_NODE_CLONED = 20,
};

// ---- records. Times are nanoseconds of CLOCK_REALTIME; both 0: the device's buffers were full
struct cupti_api {
  uint32_t kind, cbid;
  uint64_t start, end;
  uint32_t process_id, thread_id, correlation_id, return_value;
};

struct cupti_kernel {
  uint32_t kind;
  uint8_t cache_config, shared_config;
  uint16_t registers;
  uint32_t cache_requested, cache_executed;
  uint64_t start, end, completed;
  uint32_t device_id, context_id, stream_id;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total, correlation_id;
  int64_t grid_id;
  const char *name; // mangled; CUPTI's own, shared by all records of the kernel
  void *reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, is_carveout_requested, carveout_requested, padding; // launch type 1, 2: cooperative
  uint32_t shared_executed;
  uint64_t graph_node_id;
  uint32_t shared_limit, graph_id;
  void *access_policy;
  uint32_t channel_id, channel_type;
  uint32_t cluster[3];
};

struct cupti_memcpy {
  uint32_t kind;
  uint8_t direction, source_kind, destination_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device_id, context_id, stream_id, correlation_id, runtime_correlation_id, padding;
  void *reserved;
  uint64_t graph_node_id;
  uint32_t graph_id;
};

struct cupti_memcpy_peer {
  uint32_t kind;
  uint8_t direction, source_kind, destination_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t source_device, source_context, destination_device, destination_context, correlation_id;
  void *reserved;
  uint64_t graph_node_id;
  uint32_t graph_id;
};

struct cupti_memset {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device_id, context_id, stream_id, correlation_id;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void *reserved;
  uint64_t graph_node_id;
  uint32_t graph_id;
};

struct cupti_synchronization {
  uint32_t kind, type;
  uint64_t start, end;
  uint32_t correlation_id, context_id, stream_id, event_id;
};

struct cupti_memory {
  uint32_t kind, operation, memory_kind, correlation_id; // operation 1: allocation, 2: release
  uint64_t address, bytes, timestamp, pc;
  uint32_t process_id, device_id, context_id, stream_id;
  const char *name;
  uint32_t is_async, padding;
  uint32_t pool_kind, padding_2; // 0: of no pool; 1: of a pool of this process
  uint64_t pool, pool_threshold, pool_bytes, pool_used_bytes;
};

struct cupti_memory_pool {
  uint32_t kind, operation, pool_kind, correlation_id, process_id,
      device_id;       // operation 1: created, 2: destroyed, 3: trimmed
  uint64_t kept_bytes; // at least, of one that is trimmed
  uint64_t pool, bytes, threshold, timestamp, used_bytes;
};

struct cupti_device { // of each, before its first kernel's
  uint32_t kind, flags;
  uint64_t memory_bandwidth, memory_bytes;
  uint32_t constant_bytes, l2_bytes, warp_threads, clock_khz, copy_engines, multiprocessors, instructions_per_cycle;
  uint32_t warps; // of a multiprocessor at once
  uint32_t blocks, shared_bytes, registers, block_registers, block_shared_bytes, block_threads;
  uint32_t block_most[3], grid_most[3];
  uint32_t capability_major, capability_minor, id;
};

struct cupti_overhead {
  uint32_t kind, overhead;
  uint32_t object_kind;
  uint32_t object_id[3];
  uint64_t start, end;
};

// ---- what callbacks get
struct cupti_resource {
  void *context, *handle;
  const void *descriptor; // of a graph's callbacks: struct cupti_graph; of a module's: struct cupti_module
};
struct cupti_module {
  uint32_t id;
  size_t cubin_bytes;
  const char *cubin;
};
struct cupti_graph {
  void *graph, *original_graph, *node, *original_node;
  uint32_t node_type; // 0: a kernel
};
struct cupti_call { // of calls of CUDA's interfaces
  uint32_t is_exit;
  const char *function;
  const void *parameters; // of a launch: below
  const uint32_t *result; // at exit
  const char *symbol;     // of launches: the kernel's mangled name; NULL: none
  void *context;          // current on the thread
  uint32_t context_id;
  uint64_t *data; // a subscriber's own, from begin to exit
  uint32_t correlation_id;
};
struct cuda_launch { // cuLaunchKernel, cuLaunchCooperativeKernel
  void *function;
  uint32_t grid[3], block[3], shared_bytes;
  void *stream;
};
struct cuda_launch_config {
  uint32_t grid[3], block[3], shared_bytes;
  void *stream;
};
struct cuda_launch_ex { // cuLaunchKernelEx
  const struct cuda_launch_config *config;
};
struct cuda_graph_launch { // cuGraphLaunch
  void *executable, *stream;
};
struct cuda_instantiate { // cuGraphInstantiate and its kin
  void **ret_executable;
};

// ---- functions
struct cupti_subscriber_params { // of cuptiSubscribe_v2
  size_t size;
  const char *name;
  char *old_name; // who holds the process, if it is another
  size_t old_name_size;
  uint8_t may_share; // since 13.2: other tools may subscribe, too; then only functions with a subscriber may be used
  uint8_t padding[7];
};

typedef void cupti_callback(void *data, uint32_t domain, uint32_t cbid, const void *details);
typedef void cupti_request_buffer(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records);
typedef void cupti_complete_buffer(void *context, uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid);

// Of one of several subscribers.
typedef void cupti_request_buffer_of_one(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records, void *info);
typedef void cupti_complete_buffer_of_one(uint8_t *buffer, size_t size, size_t valid, void *info);

#define CUPTI_THREAD_ID_TYPE 21u // an attribute
#define CUPTI_THREAD_ID_SYSTEM 1u
#define CUPTI_FLUSH_FORCED 1u
#define CUDA_MPS_ENABLED 133 // an attribute of a device

// X(field, exported name, parameters)
#define CUPTI_FUNCTIONS_NEEDED(X)                                                                                      \
  X(get_version, cuptiGetVersion, (uint32_t *))                                                                        \
  X(get_callback_name, cuptiGetCallbackName, (uint32_t domain, uint32_t cbid, const char **))                          \
  X(subscribe, cuptiSubscribe, (void **, cupti_callback *, void *data))                                                \
  X(register_callbacks, cuptiActivityRegisterCallbacks, (cupti_request_buffer *, cupti_complete_buffer *))             \
  X(enable, cuptiActivityEnable, (uint32_t kind))                                                                      \
  X(flush, cuptiActivityFlushAll, (uint32_t flags))                                                                    \
  X(next_record, cuptiActivityGetNextRecord, (uint8_t *, size_t valid, void **record))                                 \
  X(dropped, cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream_id, size_t *))
// Since 13.3. All or none.
#define CUPTI_FUNCTIONS_OF_ONE(X)                                                                                      \
  X(enable_of_one, cuptiActivityEnable_v2, (void *subscriber, uint32_t kind, void *configuration))                     \
  X(enable_runtime_of_one, cuptiActivityEnableRuntimeApi_v2, (void *subscriber, uint32_t cbid, uint8_t is_on))         \
  X(enable_driver_of_one, cuptiActivityEnableDriverApi_v2, (void *subscriber, uint32_t cbid, uint8_t is_on))           \
  X(set_attribute_of_one, cuptiActivitySetAttribute_v2, (void *subscriber, uint32_t attribute, size_t *, void *))      \
  X(register_callbacks_of_one, cuptiActivityRegisterCallbacks_v2,                                                      \
    (void *subscriber, cupti_request_buffer_of_one *, cupti_complete_buffer_of_one *))                                 \
  X(next_record_of_one, cuptiActivityGetNextRecord_v2, (void *subscriber, uint8_t *, size_t valid, void **record))     \
  X(dropped_of_one, cuptiActivityGetNumDroppedRecords_v2,                                                              \
    (void *subscriber, void *context, uint32_t stream_id, size_t *))
#define CUPTI_FUNCTIONS_OPTIONAL(X)                                                                                    \
  X(subscribe_v2, cuptiSubscribe_v2, (void **, cupti_callback *, void *data, struct cupti_subscriber_params *))        \
  CUPTI_FUNCTIONS_OF_ONE(X)                                                                                            \
  X(set_thread_id_type, cuptiSetThreadIdType, (uint32_t type))                                                         \
  X(enable_runtime, cuptiActivityEnableRuntimeApi, (uint32_t cbid, uint8_t is_on))                                     \
  X(enable_driver, cuptiActivityEnableDriverApi, (uint32_t cbid, uint8_t is_on))                                       \
  X(enable_callback, cuptiEnableCallback, (uint32_t is_on, void *subscriber, uint32_t domain, uint32_t cbid))          \
  X(get_device_id, cuptiGetDeviceId, (void *context, uint32_t *))                                                      \
  X(get_stream_id, cuptiGetStreamIdEx, (void *context, void *stream, uint8_t is_per_thread, uint32_t *))               \
  X(get_graph_node_id, cuptiGetGraphNodeId, (void *node, uint64_t *))                                                  \
  X(pc_enable, cuptiPCSamplingEnable, (struct pc_context *))                                                           \
  X(pc_disable, cuptiPCSamplingDisable, (struct pc_context *))                                                         \
  X(pc_set, cuptiPCSamplingSetConfigurationAttribute, (struct pc_settings *))                                          \
  X(pc_count_reasons, cuptiPCSamplingGetNumStallReasons, (struct pc_reason_count *))                                   \
  X(pc_get_reasons, cuptiPCSamplingGetStallReasons, (struct pc_reasons *))                                             \
  X(pc_get_data, cuptiPCSamplingGetData, (struct pc_get *))                                                            \
  X(pc_get_cubin_crc, cuptiGetCubinCrc, (struct pc_cubin_crc *))                                                       \
  X(pc_get_line, cuptiGetSassToSourceCorrelation, (struct pc_line *))

struct cupti {
#define CUPTI_FIELD(field, name, parameters) uint32_t(*field) parameters;
  CUPTI_FUNCTIONS_NEEDED(CUPTI_FIELD)
  CUPTI_FUNCTIONS_OPTIONAL(CUPTI_FIELD)
#undef CUPTI_FIELD
  void *subscriber;
  bool is_one_of_several; // subscriber.h
  uint32_t version;       // 18 (11.8) … 28 (12.9), 130001 (13.0), …
};

#endif
