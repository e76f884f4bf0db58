// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: records in the layouts of each version. Versions add fields at the end: records are filled as the
// newest version does it, and the sizes say how much of them there is. The sizes are sizeof of each version's own headers.
#include "profiler.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// 13.4 and 13.5, which the headers at hand do not have.
struct kernel_13 {
  CUpti_ActivityKernel11 old;
  uint32_t execution_model, padding;
  uint32_t source_graph_id, padding_2;
  uint64_t source_node_id;
};
struct memcpy_7 {
  CUpti_ActivityMemcpy6 old;
  uint32_t source_graph_id, padding;
  uint64_t source_node_id;
};
struct memset_5 {
  CUpti_ActivityMemset4 old;
  uint32_t source_graph_id, padding;
  uint64_t source_node_id;
};
_Static_assert(sizeof(struct kernel_13) == 248 && offsetof(struct kernel_13, source_graph_id) == 232, "as 13.5 has it");
_Static_assert(sizeof(struct memcpy_7) == 112 && offsetof(struct memcpy_7, source_graph_id) == 96, "as 13.5 has it");
_Static_assert(sizeof(struct memset_5) == 104 && offsetof(struct memset_5, source_graph_id) == 88, "as 13.5 has it");

static const struct version {
  const char *name;
  uint32_t number;
  uint8_t kernel, memcpy, memset, overhead, synchronization, memory, pool, device;
} versions[] = {
    {"11.8", 18, 200, 88, 88, 40, 40, 120, 72, 176},     {"12.4", 22, 208, 88, 88, 56, 40, 120, 72, 184},
    {"12.9", 28, 208, 96, 88, 56, 56, 128, 72, 184},     {"13.0", 130001, 216, 96, 88, 56, 56, 128, 80, 184},
    {"13.1", 130101, 224, 96, 88, 56, 56, 128, 80, 184}, {"13.5", 130500, 248, 112, 104, 56, 56, 128, 80, 192},
};

static const struct version *chosen(void)
{
  const char *name = getenv("XSP_SIM_CUPTI_VERSION");
  for (size_t i = 0; name && i < sizeof versions / sizeof versions[0]; i++)
    if (strcmp(name, versions[i].name) == 0)
      return &versions[i];
  return &versions[4];
}

uint32_t layouts_version(void)
{
  return chosen()->number;
}

size_t layouts_size(CUpti_ActivityKind kind)
{
  switch ((int)kind) {
  case CUPTI_ACTIVITY_KIND_KERNEL:
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    return chosen()->kernel;
  case CUPTI_ACTIVITY_KIND_MEMCPY:
    return chosen()->memcpy;
  case CUPTI_ACTIVITY_KIND_MEMCPY2:
    return sizeof(CUpti_ActivityMemcpyPtoP4);
  case CUPTI_ACTIVITY_KIND_MEMSET:
    return chosen()->memset;
  case CUPTI_ACTIVITY_KIND_OVERHEAD:
    return chosen()->overhead;
  case CUPTI_ACTIVITY_KIND_DEVICE:
    return chosen()->device;
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
    return chosen()->synchronization;
  case CUPTI_ACTIVITY_KIND_MEMORY2:
    return chosen()->memory;
  case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
    return chosen()->pool;
  case CUPTI_ACTIVITY_KIND_RUNTIME:
  case CUPTI_ACTIVITY_KIND_DRIVER:
    return sizeof(CUpti_ActivityAPI);
  case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
    return sizeof(CUpti_ActivityExternalCorrelation);
  case KIND_UNKNOWN:
    return 48;
  default:
    return 0;
  }
}

static const char *kernel_name(const char *name)
{
  static char long_name[10001];
  if (faults_hits("null-names", 3))
    return NULL;
  if (!faults_hits("long-names", 3))
    return name;
  memset(long_name, 'n', sizeof long_name - 1); // always the same
  return long_name;
}

static size_t kernel(const struct simulator_operation *o, void *ret_record)
{
  struct kernel_13 record = {.source_graph_id = o->source_graph_id, .source_node_id = o->source_node_id};
  CUpti_ActivityKernel11 *kernel = &record.old;
  kernel->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel->registersPerThread = 32;
  kernel->start = o->start_ns;
  kernel->end = kernel->completed = o->end_ns;
  kernel->deviceId = o->device;
  kernel->contextId = o->context_id;
  kernel->streamId = o->stream_id;
  kernel->gridX = (int32_t)o->grid[0];
  kernel->gridY = (int32_t)o->grid[1];
  kernel->gridZ = (int32_t)o->grid[2];
  kernel->blockX = (int32_t)o->block[0];
  kernel->blockY = (int32_t)o->block[1];
  kernel->blockZ = (int32_t)o->block[2];
  kernel->staticSharedMemory = 64;
  kernel->dynamicSharedMemory = (int32_t)o->shared_bytes;
  kernel->correlationId = o->correlation_id;
  kernel->gridId = (int64_t)o->sequence;
  kernel->name = kernel_name(o->name);
  kernel->graphNodeId = o->node_id;
  kernel->graphId = o->graph_id;
  memcpy(ret_record, &record, sizeof record);
  return layouts_size(kernel->kind);
}

static size_t copy(const struct simulator_operation *o, void *ret_record)
{
  struct memcpy_7 record = {.source_graph_id = o->source_graph_id, .source_node_id = o->source_node_id};
  CUpti_ActivityMemcpy6 *copied = &record.old;
  bool is_up = o->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
       is_down = o->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copied->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copied->copyKind = o->copy_kind;
  CUpti_ActivityMemoryKind host =
      o->is_pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  copied->srcKind = (uint8_t)(is_up ? host : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  copied->dstKind = (uint8_t)(is_down ? host : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  copied->flags = o->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  copied->bytes = o->bytes;
  copied->start = o->start_ns;
  copied->end = o->end_ns;
  copied->deviceId = o->device;
  copied->contextId = o->context_id;
  copied->streamId = o->stream_id;
  copied->correlationId = o->correlation_id;
  copied->graphNodeId = o->node_id;
  copied->graphId = o->graph_id;
  copied->copyCount = 1;
  memcpy(ret_record, &record, sizeof record);
  return layouts_size(copied->kind);
}

static size_t peer_copy(const struct simulator_operation *o, void *ret_record)
{
  CUpti_ActivityMemcpyPtoP4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                      .copyKind = o->copy_kind,
                                      .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                      .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                      .flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC,
                                      .bytes = o->bytes,
                                      .start = o->start_ns,
                                      .end = o->end_ns,
                                      .deviceId = o->device,
                                      .contextId = o->context_id,
                                      .streamId = o->stream_id,
                                      .srcDeviceId = o->device,
                                      .srcContextId = o->context_id,
                                      .dstDeviceId = o->to_device,
                                      .dstContextId = o->to_context_id,
                                      .correlationId = o->correlation_id,
                                      .graphNodeId = o->node_id,
                                      .graphId = o->graph_id};
  memcpy(ret_record, &record, sizeof record);
  return sizeof record;
}

static size_t set(const struct simulator_operation *o, void *ret_record)
{
  struct memset_5 record = {.source_graph_id = o->source_graph_id, .source_node_id = o->source_node_id};
  CUpti_ActivityMemset4 *written = &record.old;
  written->kind = CUPTI_ACTIVITY_KIND_MEMSET;
  written->value = o->value;
  written->bytes = o->bytes;
  written->start = o->start_ns;
  written->end = o->end_ns;
  written->deviceId = o->device;
  written->contextId = o->context_id;
  written->streamId = o->stream_id;
  written->correlationId = o->correlation_id;
  written->flags = o->is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
  written->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  written->graphNodeId = o->node_id;
  written->graphId = o->graph_id;
  memcpy(ret_record, &record, sizeof record);
  return layouts_size(written->kind);
}

size_t layouts_operation(const struct simulator_operation *operation, void *ret_record)
{
  struct simulator_operation described = *operation;
  if (faults_hits("zero-times", 3)) // as when the device's buffers are exhausted
    described.start_ns = described.end_ns = 0;
  else if (simulator_has_fault("long-times"))
    described.end_ns += (described.end_ns - described.start_ns) / 20;
  switch (operation->kind) {
  case SIMULATOR_KERNEL:
    return kernel(&described, ret_record);
  case SIMULATOR_MEMCPY:
    return copy(&described, ret_record);
  case SIMULATOR_PEER_COPY:
    return peer_copy(&described, ret_record);
  default:
    return set(&described, ret_record);
  }
}

size_t layouts_call(const struct simulator_call *call, uint32_t thread_id, void *ret_record)
{
  bool is_driver = call->api == SIMULATOR_DRIVER;
  CUpti_ActivityAPI record = {.kind = is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME,
                              .cbid = call->cbid,
                              .start = call->start_ns,
                              .end = call->end_ns,
                              .processId = (uint32_t)getpid(),
                              .threadId = thread_id,
                              .correlationId = call->correlation_id,
                              .returnValue = (uint32_t)call->result};
  memcpy(ret_record, &record, sizeof record);
  return sizeof record;
}

size_t layouts_memory(const struct simulator_memory *memory, void *ret_record)
{
  CUpti_ActivityMemory4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                                  .memoryOperationType = memory->change == SIMULATOR_ALLOCATED
                                                             ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                                             : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
                                  .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .correlationId = memory->correlation_id,
                                  .address = memory->address,
                                  .bytes = memory->bytes,
                                  .timestamp = memory->at_ns,
                                  .processId = (uint32_t)getpid(),
                                  .deviceId = memory->device,
                                  .contextId = memory->context_id,
                                  .streamId = memory->stream_id,
                                  .isAsync = memory->pool != 0};
  if (memory->pool != 0) {
    record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    record.memoryPoolConfig.address = memory->pool;
    record.memoryPoolConfig.pool.size = memory->pool_bytes;
    record.memoryPoolConfig.utilizedSize = memory->pool_used_bytes;
  }
  memcpy(ret_record, &record, sizeof record);
  return layouts_size(record.kind);
}

size_t layouts_pool(const struct simulator_memory *memory, void *ret_record)
{
  static const CUpti_ActivityMemoryPoolOperationType operations[] = {
      [SIMULATOR_POOL_CREATED] = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED,
      [SIMULATOR_POOL_TRIMMED] = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED,
      [SIMULATOR_POOL_DESTROYED] = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED};
  CUpti_ActivityMemoryPool3 record = {.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                      .memoryPoolOperationType = operations[memory->change],
                                      .memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL,
                                      .correlationId = memory->correlation_id,
                                      .processId = (uint32_t)getpid(),
                                      .deviceId = memory->device,
                                      .minBytesToKeep = memory->bytes,
                                      .address = memory->pool,
                                      .size = memory->pool_bytes,
                                      .timestamp = memory->at_ns,
                                      .utilizedSize = memory->pool_used_bytes};
  memcpy(ret_record, &record, sizeof record);
  return layouts_size(record.kind);
}

size_t layouts_synchronization(const struct simulator_call *call, int type, uint32_t stream_id, uint32_t event_id,
                               uint64_t end_ns, void *ret_record)
{
  CUpti_ActivitySynchronization2 record = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                           .type = (CUpti_ActivitySynchronizationType)type,
                                           .start = call->start_ns,
                                           .end = end_ns,
                                           .correlationId = call->correlation_id,
                                           .contextId = call->context_id,
                                           .streamId = stream_id,
                                           .cudaEventId = event_id};
  memcpy(ret_record, &record, sizeof record);
  return layouts_size(record.kind);
}

size_t layouts_overhead(uint64_t start_ns, uint64_t end_ns, void *ret_record)
{
  CUpti_ActivityOverhead3 record = {
      .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
      .overheadKind = CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST,
      .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
      .objectId = {.pt = {.processId = (uint32_t)getpid(), .threadId = (uint32_t)gettid()}},
      .start = start_ns,
      .end = end_ns};
  memcpy(ret_record, &record, sizeof record);
  return layouts_size(record.kind);
}

size_t layouts_device(uint32_t device, void *ret_record)
{
  CUpti_ActivityDevice5 record = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
                                  .numThreadsPerWarp = 32,
                                  .numMultiprocessors = 4 + 4 * device,
                                  .maxWarpsPerMultiprocessor = 64,
                                  .id = device};
  memcpy(ret_record, &record, sizeof record);
  return layouts_size(record.kind);
}
