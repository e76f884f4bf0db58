// SPDX-License-Identifier: Apache-2.0
// A simulated librocprofiler-sdk: as much of AMD's as a tracer calls, of several versions, with faults. Like AMD's it is loaded by HIP
// where ROCP_TOOL_LIBRARIES is set, loads the tools of this list, and ends them when the process exits.
#include "sdk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TOOLS_MOST 8
#define DEPTH_MOST 8
#define HIP_KIND 5 // of callbacks
#define MARKER_KIND 7
#define CODE_KIND 10
#define LOCKED 24 // ROCPROFILER_STATUS_ERROR_CONFIGURATION_LOCKED, of 1.0

struct open_call {
  uint64_t correlation_id, start;
};
uint32_t sdk_version;
static struct rocm_tool *tools[TOOLS_MOST];
static unsigned tool_count;
static bool is_configuring, is_recording;
static rocm_event_callback *code_callback, *marker_callback, *hip_callback;
static void *code_data, *marker_data, *hip_data;
static bool hip_is_called_back[SIMULATED_CALL_COUNT];
static void (*wait_for_device)(void);
static pid_t owner;
static uint64_t last_id; // atomic
static __thread struct open_call calls[DEPTH_MOST];
static __thread unsigned depth;
static uint64_t *counts;

void count(enum simulator_count which)
{
  if (counts)
    __atomic_add_fetch(&counts[which], 1, __ATOMIC_RELAXED);
}

bool fault(const char *name)
{
  const char *all = getenv("XSP_SIM_FAULTS"), *found = all ? strstr(all, name) : NULL;
  return found && (found == all || found[-1] == ',') && strchr(",", found[strlen(name)]);
}

bool fault_now(const char *name)
{
  static uint64_t calls_so_far;
  if (!fault(name))
    return false;
  uint64_t number = __atomic_add_fetch(&calls_so_far, 1, __ATOMIC_RELAXED) + strtoul(getenv("XSP_SIM_SEED"), NULL, 10);
  return (number * UINT64_C(0x9e3779b97f4a7c15) >> 32) % 3 == 0;
}

uint64_t sdk_now(void)
{
  struct timespec now;
  const char *shift = getenv("XSP_SIM_CLOCK_NS");
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + (shift ? strtoull(shift, NULL, 10) : 0);
}

// ---- what HIP calls
static void end(void)
{
  if (owner == getpid()) // tools of a fork's child are ended, too
    wait_for_device();
  for (unsigned i = 0; i < tool_count; i++)
    if (tools[i]->finalize)
      tools[i]->finalize(tools[i]->data);
}

static void open_counts(void)
{
  const char *path = getenv("XSP_SIM_COUNTS");
  int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
  if (file < 0 || ftruncate(file, COUNTS * sizeof *counts))
    return;
  void *map = mmap(NULL, COUNTS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  counts = map == MAP_FAILED ? NULL : map;
  close(file);
}

static void configure(const char *path)
{
  void *library = dlopen(path, RTLD_LOCAL | RTLD_LAZY);
  if (!library)
    abort(); // AMD's does, too
  struct rocm_tool *(*function)(uint32_t, const char *, uint32_t, void *);
  void *symbol = dlsym(library, "rocprofiler_configure");
  memcpy(&function, &symbol, sizeof symbol);
  uint64_t client[3] = {sizeof client};
  struct rocm_tool *tool =
      symbol && tool_count < TOOLS_MOST ? function(sdk_version, "simulated", tool_count, client) : NULL;
  if (!tool)
    return;
  tools[tool_count++] = tool;
  count(COUNT_CLIENTS);
}

static void start(void (*wait)(void))
{
  unsigned major = 1, minor = 0, patch = 0;
  sscanf(getenv("XSP_SIM_VERSION") ? getenv("XSP_SIM_VERSION") : "", "%u.%u.%u", &major, &minor, &patch);
  sdk_version = 10000 * major + 100 * minor + patch;
  wait_for_device = wait;
  owner = getpid();
  open_counts();
  atexit(end);
  char *list = strdup(getenv("ROCP_TOOL_LIBRARIES"));
  // What follows the last ':' is left out, as in AMD's.
  if (!strchr(list, ':'))
    configure(list);
  else
    for (char *path = list, *colon; (colon = strchr(path, ':')); path = colon + 1) {
      *colon = '\0';
      if (*path)
        configure(path);
    }
  is_configuring = true;
  for (unsigned i = 0; i < tool_count; i++)
    tools[i]->initialize(NULL, tools[i]->data);
  is_configuring = false;
  free(list);
}

// What a callback gets: ids in front, whose number depends on the version.
static void call_back(rocm_event_callback *callback, void *data, uint32_t kind, uint32_t operation, uint32_t phase,
                      void *payload)
{
  struct {
    uint64_t context, thread, correlation, external, numbers[4];
  } event = {.context = 1,
             .thread = (uint64_t)syscall(SYS_gettid),
             .correlation = depth > 0 ? calls[depth - 1].correlation_id : 0};
  struct rocm_event_end end = {kind, operation, phase, payload};
  memcpy(&event.numbers[sdk_version >= 10000 ? 1 : 0], &end, sizeof end);
  if (is_recording && callback)
    callback((const void *)&event, NULL, data);
}

static __thread struct {
  uint64_t size;
  uint8_t bytes[64];
  struct {
    int error;
    uint8_t more[ROCM_HIP_RESULT_BYTES - sizeof(int)];
  } result;
} call_arguments; // as AMD's: the size, then the arguments, then what the call returned

static void arguments(const void *values, size_t size)
{
  memcpy(call_arguments.bytes, values, size);
  call_arguments.size = sizeof call_arguments;
}

static void *payload(void)
{
  return call_arguments.size > 0 ? &call_arguments : NULL;
}

static void enter(enum simulated_call call)
{
  if (is_recording && sdk_is_traced(SDK_HIP, call) && depth < DEPTH_MOST)
    calls[depth++] = (struct open_call){__atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED), sdk_now()};
  if (hip_is_called_back[call])
    call_back(hip_callback, hip_data, HIP_KIND, call, ROCM_PHASE_ENTER, payload());
}

static void leave(enum simulated_call call, int result)
{
  call_arguments.result.error = result;
  if (hip_is_called_back[call])
    call_back(hip_callback, hip_data, HIP_KIND, call, ROCM_PHASE_EXIT, payload());
  call_arguments.size = 0;
  if (!is_recording || !sdk_is_traced(SDK_HIP, call))
    return;
  struct open_call *ended = &calls[--depth];
  sdk_record_call(call, ended->correlation_id, ended->start, sdk_now());
}

static uint64_t current_id(void)
{
  return depth > 0 ? calls[depth - 1].correlation_id : __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

static void enqueue(struct simulated_work *work)
{
  work->correlation_id = current_id();
  work->thread_id = (uint64_t)syscall(SYS_gettid);
  if (is_recording && !work->is_copy)
    sdk_begin_dispatch(work);
}

static void complete(const struct simulated_work *work)
{
  if (is_recording && owner == getpid() && sdk_is_traced(work->is_copy ? SDK_COPY : SDK_KERNEL, 0))
    sdk_record_work(work);
  if (is_recording && owner == getpid() && !work->is_copy) {
    sdk_end_dispatch(work);
    sdk_sample(work);
  }
}

static void mark(uint32_t operation, uint32_t phase, const char *message, uint64_t range, uint64_t started_range)
{
  struct rocm_marker marker = {.size = sizeof marker, .started_range = started_range};
  if (operation == ROCM_STOP)
    marker.range = range;
  else
    marker.message = message;
  call_back(marker_callback, marker_data, MARKER_KIND, operation, phase, &marker);
}

static void load(uint64_t kernel_id, const char *name)
{
  struct {
    struct rocm_code code;
    uint64_t more[2];
  } loaded = {.code = {.size = sizeof loaded,
                       .code_object_id = SDK_CODE,
                       .agent = {CPU_AGENT + 1},
                       .base = SDK_CODE_BASE,
                       .bytes = 0x10000}};
  struct rocm_symbol_long symbol = {.symbol = {.size = sizeof symbol,
                                               .kernel_id = kernel_id,
                                               .code_object_id = SDK_CODE,
                                               .name = fault("null-names") ? NULL : name,
                                               .scalar_registers = 32,
                                               .vector_registers = 48,
                                               .accumulation_registers = 16},
                                    .entry = SDK_CODE_BASE + sdk_kernel_offset(kernel_id)};
  if (sdk_loads_now())
    call_back(code_callback, code_data, CODE_KIND, ROCM_CODE_LOADED, ROCM_PHASE_LOAD, &loaded);
  call_back(code_callback, code_data, CODE_KIND, ROCM_CODE_KERNEL, ROCM_PHASE_LOAD, &symbol);
}

static void allocate(uint32_t agent, const void *address, size_t bytes, bool is_release)
{
  if (is_recording && sdk_is_traced(SDK_ALLOCATION, 0))
    sdk_record_allocation(agent, address, bytes, is_release, current_id(), sdk_now());
}

static void scratch(uint32_t gpu, uint64_t start_ns)
{
  if (is_recording && sdk_is_traced(SDK_SCRATCH, 0))
    sdk_record_scratch(gpu, start_ns);
}

const struct simulator_profiler simulator_profiler = {.start = start,
                                                      .now = sdk_now,
                                                      .enter = enter,
                                                      .arguments = arguments,
                                                      .leave = leave,
                                                      .synchronize = sdk_wait_for_hang,
                                                      .enqueue = enqueue,
                                                      .complete = complete,
                                                      .mark = mark,
                                                      .load = load,
                                                      .scratch = scratch,
                                                      .allocate = allocate};

// ---- what tools call
int rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch)
{
  *major = 1, *minor = *patch = 0;
  sscanf(getenv("XSP_SIM_VERSION") ? getenv("XSP_SIM_VERSION") : "", "%u.%u.%u", major, minor, patch);
  return ROCM_OK;
}

int rocprofiler_get_timestamp(uint64_t *ret_ns)
{
  *ret_ns = sdk_now();
  return ROCM_OK;
}

int rocprofiler_query_available_agents(int version, rocm_agents_callback *callback, size_t agent_size, void *data)
{
  static struct {
    struct rocm_agent agent;
    uint8_t more[256];
  } agents[1 + GPUS];
  const void *list[1 + GPUS];
  if (version != ROCM_AGENT_VERSION || agent_size > sizeof agents[0])
    return 1;
  for (uint32_t i = 0; i < 1 + GPUS; i++) {
    agents[i].agent = (struct rocm_agent){sizeof agents[0], {CPU_AGENT + i}, i == 0 ? 1 : ROCM_AGENT_GPU};
    list[i] = &agents[i];
  }
  return callback(version, list, fault("no-device") ? 1 : 1 + GPUS, data);
}

int rocprofiler_create_context(struct rocm_id *ret_context)
{
  ret_context->handle = 1;
  return !is_configuring ? LOCKED : fault("no-context") ? 1 : ROCM_OK;
}

int rocprofiler_start_context(struct rocm_id context)
{
  is_recording = context.handle == 1 && !fault("no-start");
  return is_recording ? ROCM_OK : 1;
}

int rocprofiler_create_buffer(struct rocm_id context, size_t bytes, size_t watermark, int policy,
                              rocm_buffer_callback *callback, void *data, struct rocm_id *ret_buffer)
{
  ret_buffer->handle = 2;
  return !is_configuring || context.handle != 1 ? LOCKED : sdk_make_buffer(bytes, watermark, policy, callback, data);
}

int rocprofiler_flush_buffer(struct rocm_id buffer)
{
  return buffer.handle == 2 ? sdk_flush() : 1;
}

int rocprofiler_create_callback_thread(struct rocm_id *ret_thread)
{
  ret_thread->handle = 3;
  return ROCM_OK;
}

int rocprofiler_assign_callback_thread(struct rocm_id buffer, struct rocm_id thread)
{
  return buffer.handle == 2 && thread.handle == 3 ? ROCM_OK : 1;
}

int rocprofiler_configure_buffer_tracing_service(struct rocm_id context, uint32_t kind, const uint32_t *operations,
                                                 size_t operation_count, struct rocm_id buffer)
{
  if (!is_configuring || context.handle != 1 || buffer.handle != 2)
    return LOCKED;
  if (!sdk_kind_name(kind) || (fault("copies-refused") && kind == sdk_kind_number(SDK_COPY)))
    return 5;
  sdk_trace(kind, operations, operation_count);
  return ROCM_OK;
}

int rocprofiler_configure_callback_tracing_service(struct rocm_id context, uint32_t kind, const uint32_t *operations,
                                                   size_t operation_count, rocm_event_callback *callback, void *data)
{
  rocm_event_callback **callbacks[] = {
      [HIP_KIND] = &hip_callback, [MARKER_KIND] = &marker_callback, [CODE_KIND] = &code_callback};
  void **all_data[] = {[HIP_KIND] = &hip_data, [MARKER_KIND] = &marker_data, [CODE_KIND] = &code_data};
  if (!is_configuring || context.handle != 1 || kind > CODE_KIND || !callbacks[kind] || fault("no-callbacks"))
    return 5;
  if (kind == CODE_KIND && (operation_count == 0 || operations[0] != ROCM_CODE_KERNEL))
    return 6;
  sdk_wants_code |= kind == CODE_KIND && operation_count == 2 && operations[1] == ROCM_CODE_LOADED;
  *callbacks[kind] = callback;
  *all_data[kind] = data;
  for (uint32_t i = 0; kind == HIP_KIND && i < SIMULATED_CALL_COUNT; i++)
    hip_is_called_back[i] = operation_count == 0;
  for (size_t i = 0; kind == HIP_KIND && i < operation_count; i++)
    hip_is_called_back[operations[i]] = true;
  return ROCM_OK;
}

int rocprofiler_query_callback_tracing_kind_name(uint32_t kind, const char **ret_name, uint64_t *ret_length)
{
  (void)ret_length;
  *ret_name = kind == HIP_KIND                          ? "HIP_RUNTIME_API"
              : kind == MARKER_KIND                     ? "MARKER_CORE_API"
              : kind == CODE_KIND && !fault("nameless") ? "CODE_OBJECT"
                                                        : "OTHER";
  return kind < 14 ? ROCM_OK : 5;
}

int rocprofiler_query_buffer_tracing_kind_name(uint32_t kind, const char **ret_name, uint64_t *ret_length)
{
  (void)ret_length;
  *ret_name = sdk_kind_name(kind);
  return *ret_name ? ROCM_OK : 5;
}

int rocprofiler_query_buffer_tracing_kind_operation_name(uint32_t kind, uint32_t operation, const char **ret_name,
                                                         uint64_t *ret_length)
{
#define SIMULATED_NAME(name) #name,
  static const char *const names[] = {SIMULATED_CALLS(SIMULATED_NAME)};
  (void)ret_length;
  *ret_name = kind == sdk_kind_number(SDK_HIP) && operation < SIMULATED_CALL_COUNT ? names[operation] : NULL;
  return *ret_name ? ROCM_OK : 6;
}

int rocprofiler_iterate_buffer_tracing_kind_operations(uint32_t kind, rocm_operation_callback *callback, void *data)
{
  for (uint32_t i = 0; kind == sdk_kind_number(SDK_HIP) && i < SIMULATED_CALL_COUNT; i++)
    if (callback(kind, i, data) != 0)
      break;
  return ROCM_OK;
}
