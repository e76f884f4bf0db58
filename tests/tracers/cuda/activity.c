// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: the activity API, and what libcuda tells it. Without libcuda it answers as the real one does.
#include "profiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KINDS 64
#define CBIDS 1024
#define EXTERNAL_MAXIMUM 16
#define ATTRIBUTES 16

static uint8_t enabled[KINDS], chosen[2][CBIDS]; // atomic. Calls by simulator_api
static bool has_system_ids;
static size_t attributes[ATTRIBUTES] = {3200000, 8000000, 250, 65536, 250, 0, 3, 3, 0, 1, 0};
static _Thread_local struct {
  CUpti_ExternalCorrelationKind kind;
  uint64_t id;
} external[EXTERNAL_MAXIMUM];
static _Thread_local unsigned externals;

bool activity_is_enabled(CUpti_ActivityKind kind)
{
  return __atomic_load_n(&enabled[kind], __ATOMIC_RELAXED);
}

static void call_begins(struct simulator_call *call)
{
  callbacks_call(CUPTI_API_ENTER, call);
}

static void call_ended(struct simulator_call *call)
{
  callbacks_call(CUPTI_API_EXIT, call);
  CUpti_ActivityKind kind = call->api == SIMULATOR_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  if (!activity_is_enabled(kind) && !__atomic_load_n(&chosen[call->api][call->cbid], __ATOMIC_RELAXED))
    return;
  if (externals > 0 && activity_is_enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
    CUpti_ActivityExternalCorrelation before = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                .externalKind = external[externals - 1].kind,
                                                .externalId = external[externals - 1].id,
                                                .correlationId = call->correlation_id};
    buffers_put(&before, sizeof before);
  }
  uint64_t record[RECORD_MAXIMUM / 8];
  uint32_t thread_id = has_system_ids ? (uint32_t)syscall(SYS_gettid) : (uint32_t)pthread_self();
  buffers_put(record, layouts_call(call, thread_id, record));
}

static void operation_ended(const struct simulator_operation *operation)
{
  if (operation->kind == SIMULATOR_KERNEL) {
    ranges_kernel_ended(operation);
    sampling_kernel_ended(operation);
  }
  static const CUpti_ActivityKind kinds[] = {[SIMULATOR_KERNEL] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             [SIMULATOR_MEMCPY] = CUPTI_ACTIVITY_KIND_MEMCPY,
                                             [SIMULATOR_PEER_COPY] = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                             [SIMULATOR_MEMSET] = CUPTI_ACTIVITY_KIND_MEMSET};
  if (operation->kind == SIMULATOR_KERNEL)
    pc_sampling_kernel(operation);
  if (!activity_is_enabled(kinds[operation->kind]))
    return;
  uint64_t record[RECORD_MAXIMUM / 8];
  disorder_put(record, layouts_operation(operation, record));
}

static void synchronized(const struct simulator_call *call, int type, uint32_t stream_id, uint32_t event_id,
                         uint64_t end_ns)
{
  if (!activity_is_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
    return;
  uint64_t record[RECORD_MAXIMUM / 8];
  buffers_put(record, layouts_synchronization(call, type, stream_id, event_id, end_ns, record));
}

static void memory_changed(const struct simulator_memory *memory)
{
  bool is_pool = memory->change != SIMULATOR_ALLOCATED && memory->change != SIMULATOR_RELEASED;
  count_most(COUNT_PEAK_BYTES, memory->allocated_bytes);
  if (!activity_is_enabled(is_pool ? CUPTI_ACTIVITY_KIND_MEMORY_POOL : CUPTI_ACTIVITY_KIND_MEMORY2))
    return;
  uint64_t record[RECORD_MAXIMUM / 8];
  buffers_put(record, is_pool ? layouts_pool(memory, record) : layouts_memory(memory, record));
}

static unsigned replays(CUcontext context, const char *kernel)
{
  return pc_sampling_is_serialized(context) ? 1 : ranges_replays(context, kernel);
}

void *activity_connect(void)
{
  static void *driver; // atomic
  void *found = __atomic_load_n(&driver, __ATOMIC_ACQUIRE);
  if (found)
    return found;
  static const struct simulator_profiler profiler = {call_begins,     call_ended,        operation_ended,
                                                     synchronized,    memory_changed,    replays,
                                                     callbacks_graph, callbacks_context, callbacks_module};
  found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  __typeof__(&simulator_set_profiler) set =
      found ? (__typeof__(&simulator_set_profiler))dlsym(found, "simulator_set_profiler") : NULL;
  if (!set)
    return NULL;
  buffers_are_per_thread = layouts_version() >= 130000;
  set(&profiler);
  __atomic_store_n(&driver, found, __ATOMIC_RELEASE);
  return found;
}

#define ENTRY                                                                                                          \
  count(COUNT_ENTRIES);                                                                                                \
  if (!activity_connect())                                                                                             \
  return CUPTI_ERROR_UNKNOWN

#define ENTRY_OF_ONE                                                                                                   \
  ENTRY;                                                                                                               \
  if (several_refuse())                                                                                                \
  return CUPTI_ERROR_NOT_COMPATIBLE

EXPORTED CUptiResult cuptiGetVersion(uint32_t *version)
{
  count(COUNT_ENTRIES);
  *version = layouts_version();
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
  count(COUNT_ENTRIES);
  *timestamp = now_ns();
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
  ENTRY_OF_ONE;
  has_system_ids = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete)
{
  ENTRY_OF_ONE;
  if (!request || !complete)
    return CUPTI_ERROR_INVALID_PARAMETER;
  buffers_use(request, complete);
  return CUPTI_SUCCESS;
}

static CUptiResult set_kind(CUpti_ActivityKind kind, bool is_on)
{
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= KINDS)
    return CUPTI_ERROR_INVALID_KIND;
  bool is_optional = kind == CUPTI_ACTIVITY_KIND_MEMSET || kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ||
                     kind == CUPTI_ACTIVITY_KIND_MEMORY2 || kind == CUPTI_ACTIVITY_KIND_MEMORY_POOL ||
                     kind == CUPTI_ACTIVITY_KIND_OVERHEAD;
  if (simulator_has_fault("kinds-refused") && is_optional)
    return CUPTI_ERROR_NOT_COMPATIBLE;
  if (simulator_has_fault("kernels-refused") && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  __atomic_store_n(&enabled[kind], is_on, __ATOMIC_RELAXED);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
  ENTRY_OF_ONE;
  CUptiResult result = set_kind(kind, true);
  uint64_t record[RECORD_MAXIMUM / 8] = {0};
  for (uint32_t device = 0; result == CUPTI_SUCCESS && kind == CUPTI_ACTIVITY_KIND_DEVICE && device < SIMULATOR_DEVICES;
       device++)
    buffers_put(record, layouts_device(device, record));
  return result;
}

EXPORTED CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
  ENTRY_OF_ONE;
  return set_kind(kind, false);
}

static CUptiResult choose(enum simulator_api api, uint32_t cbid, uint8_t enable)
{
  if (!callbacks_name(api == SIMULATOR_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, cbid))
    return CUPTI_ERROR_INVALID_PARAMETER;
  __atomic_store_n(&chosen[api][cbid], enable, __ATOMIC_RELAXED);
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
  ENTRY_OF_ONE;
  return choose(SIMULATOR_DRIVER, cbid, enable);
}

EXPORTED CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
  ENTRY_OF_ONE;
  return choose(SIMULATOR_RUNTIME, cbid, enable);
}

static size_t attribute_size(CUpti_ActivityAttribute attribute)
{
  bool is_flag = attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER ||
                 attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER ||
                 attribute == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED;
  return is_flag ? sizeof(uint8_t) : sizeof(size_t);
}

EXPORTED CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
  ENTRY_OF_ONE;
  if (!size || !value || (unsigned)attribute >= ATTRIBUTES)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (*size < attribute_size(attribute))
    return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  attributes[attribute] = 0;
  memcpy(&attributes[attribute], value, attribute_size(attribute));
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
    buffers_are_per_thread = attributes[attribute] != 0;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
  ENTRY_OF_ONE;
  if (!size || !value || (unsigned)attribute >= ATTRIBUTES)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (*size < attribute_size(attribute))
    return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  memcpy(value, &attributes[attribute], attribute_size(attribute));
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
  ENTRY;
  count(COUNT_FLUSHES);
  while (simulator_has_fault("flush-hangs") ||
         (simulator_has_fault("last-flush-hangs") && flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED))
    pause();
  disorder_flush();
  buffers_flush();
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds)
{
  ENTRY;
  (void)milliseconds; // only full buffers come back by it, and those do anyway
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream_id, size_t *dropped)
{
  (void)context, (void)stream_id;
  ENTRY_OF_ONE;
  *dropped = buffers_take_dropped();
  return CUPTI_SUCCESS;
}

// A record that is cut has no end, so the real ones do not return it; with the fault cut-shown, this one does.
EXPORTED CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
  ENTRY_OF_ONE;
  size_t at = 0;
  if (*record)
    at = (size_t)((uint8_t *)*record - buffer) + layouts_size((*record)->kind);
  if (at + sizeof(CUpti_ActivityKind) > valid_bytes)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  CUpti_Activity *next = (CUpti_Activity *)(void *)(buffer + at);
  size_t size = layouts_size(next->kind);
  if (size == 0)
    return CUPTI_ERROR_INVALID_KIND;
  if (at + size > valid_bytes && !simulator_has_fault("cut-shown"))
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = next;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
  ENTRY_OF_ONE;
  if (externals == EXTERNAL_MAXIMUM)
    return CUPTI_ERROR_OUT_OF_MEMORY;
  external[externals].kind = kind;
  external[externals++].id = id;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
  ENTRY_OF_ONE;
  if (externals == 0 || external[externals - 1].kind != kind)
    return CUPTI_ERROR_QUEUE_EMPTY;
  externals--;
  if (last)
    *last = external[externals].id;
  return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiFinalize(void)
{
  count(COUNT_ENTRIES);
  return CUPTI_SUCCESS;
}
