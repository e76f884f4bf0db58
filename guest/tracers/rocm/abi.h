// SPDX-License-Identifier: Apache-2.0
// The binary interface of AMD's rocprofiler-sdk, as far as rocm.so uses it: 0.4 (ROCm 6.2) to 1.x (ROCm 7). Numbers of kinds and
// of calls differ between versions, so they are looked up by name. abi_test.c compares this with the vendor's headers.
#ifndef XSP_TRACERS_ROCM_ABI_H
#define XSP_TRACERS_ROCM_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCM_OK 0
#define ROCM_VERSION(major, minor)                                                                                     \
  (10000u * (major) + 100u * (minor)) // as rocprofiler_configure gets it, without the patch
#define ROCM_VERSION_LEAST ROCM_VERSION(0, 4)
#define ROCM_VERSION_NONE_FROM ROCM_VERSION(0, 7)   // to 1.0: never released, with either layout of ids
#define ROCM_VERSION_LONG_IDS ROCM_VERSION(1, 0)    // struct rocm_call and others follow three numbers, not two
#define ROCM_VERSION_SCRATCH_IDS ROCM_VERSION(0, 6) // struct rocm_scratch follows the ids, before it came first
#define ROCM_VERSION_END ROCM_VERSION(2, 0)

#define ROCM_CATEGORY_TRACING 1u
#define ROCM_CATEGORY_SAMPLES 2u
#define ROCM_POLICY_LOSSLESS 2
#define ROCM_AGENT_VERSION 1
#define ROCM_AGENT_GPU 2u
#define ROCM_CODE_LOADED 1u // operations of CODE_OBJECT: its kernels follow
#define ROCM_CODE_KERNEL 2u // a kernel is known now
#define ROCM_PHASE_ENTER 1u
#define ROCM_PHASE_LOAD ROCM_PHASE_ENTER
#define ROCM_PHASE_EXIT 2u

struct rocm_id {
  uint64_t handle;
};

// ---- records. Times are nanoseconds of rocprofiler_get_timestamp's clock
struct rocm_header {
  uint32_t category, kind;
  void *payload; // struct rocm_record
};
struct rocm_record { // all begin like this, and have the size of their version
  uint64_t size;
  uint32_t kind, operation;
  uint64_t correlation_id, external_id; // then, with long ids, `ancestor`: not in kernels and copies
};
struct rocm_call { // follows the ids
  uint64_t start, end, thread_id;
};
struct rocm_allocation { // follows the ids
  uint64_t thread_id, start, end;
  struct rocm_id agent;
  uint64_t address, bytes;
};
enum rocm_allocation_operation { ROCM_ALLOCATE = 1, ROCM_VMEM_ALLOCATE = 2, ROCM_FREE = 3, ROCM_VMEM_FREE = 4 };
struct rocm_scratch {
  struct rocm_id agent, queue;
  uint64_t thread_id, start, end;
};
enum rocm_scratch_operation { ROCM_SCRATCH_ALLOCATE = 1, ROCM_SCRATCH_FREE = 2, ROCM_SCRATCH_RECLAIM = 3 };
struct rocm_copy {
  struct rocm_record record; // operation: HtoH 1, HtoD 2, DtoH 3, DtoD 4
  uint64_t thread_id, start, end;
  struct rocm_id to_agent, from_agent;
  uint64_t bytes;
};
struct rocm_dispatch_info {
  uint64_t size;
  struct rocm_id agent, queue;
  uint64_t kernel_id, dispatch_id;
  uint32_t private_bytes, group_bytes; // of a work-item, of a work-group
  uint32_t workgroup[3], grid[3];      // in work-items, both
};
struct rocm_kernel {
  struct rocm_record record;
  uint64_t thread_id, start, end;
  struct rocm_dispatch_info info;
};

// ---- callbacks of loaded code and of ROCTx
struct rocm_event {
  struct rocm_id context;
  uint64_t thread_id, correlation_id, external_id;
  // With long ids `ancestor`, then struct rocm_event_end.
};
struct rocm_event_end {
  uint32_t kind, operation, phase;
  void *payload; // of a kernel: struct rocm_symbol; of ROCTx: struct rocm_marker
};
struct rocm_symbol {
  uint64_t size, kernel_id, code_object_id;
  const char *name; // mangled, ends in ".kd"
  uint64_t kernel_object;
  uint32_t argument_bytes, argument_alignment, group_bytes, private_bytes;
  uint32_t scalar_registers, vector_registers, accumulation_registers;
};
struct rocm_symbol_long { // since 1.0
  struct rocm_symbol symbol;
  int64_t entry_offset;
  uint64_t entry; // address of the first instruction
};
struct rocm_code {
  uint64_t size, code_object_id;
  struct rocm_id agent, hsa_agent;
  const char *uri;
  uint64_t base, bytes;
};

enum rocm_marker_operation { ROCM_MARK, ROCM_PUSH, ROCM_POP, ROCM_START, ROCM_STOP };
struct rocm_marker {
  uint64_t size;
  union {
    const char *message; // NULL where the program gave none
    uint64_t range;      // to be stopped
  };
  uint64_t other_argument;
  uint64_t started_range; // at the exit of a start
};

// ---- arguments of HIP's calls, of those that graphs.c looks at
union rocm_hip_arguments {
  struct rocm_capture_begin {
    const void *stream;
  } begin;
  struct rocm_capture_end {
    const void *stream, **ret_graph;
  } end;
  struct rocm_instantiate {
    const void **ret_executable, *graph;
  } instantiate;
  struct rocm_launch_graph {
    const void *executable;
  } launch_graph;
  struct rocm_record_event {
    const void *event, *stream;
  } record;
  struct rocm_launch {
    const void *function;
    uint32_t grid[3], block[3];
    void *parameters;
    size_t shared_bytes;
    const void *stream;
  } launch;
  struct rocm_launch_module {
    const void *function;
    uint32_t grid[3], block[3], shared_bytes;
    const void *stream;
  } launch_module;
  struct rocm_launch_extended {
    const void *function;
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    const void *stream;
  } launch_extended;
};
struct rocm_hip_call {
  uint64_t size;
  union rocm_hip_arguments arguments; // further ones in some versions
};
#define ROCM_HIP_RESULT_BYTES 24u // at the end of `size`; first the call's hipError_t, when it has returned

// ---- counters of kernels: since 1.0
struct rocm_dispatch { // a kernel; by value, only by callbacks of rocprofiler-sdk
  uint64_t size, correlation_id, external_id;
  uint64_t start, end; // 0 before it has ended
  struct rocm_dispatch_info info;
  uint8_t reserved[56];
};
struct rocm_counter_value { // of one instance: an engine, a channel
  uint64_t id;
  double value;
  uint64_t dispatch_id, user_data;
  struct rocm_id agent;
};
struct rocm_counter_info {
  struct rocm_id id;
  const char *name, *description, *block, *expression;
  uint8_t flags;
};
#define ROCM_COUNTER_INFO_VERSION 1

// ---- samples of instructions: since 1.0
enum rocm_sample_method { ROCM_STOCHASTIC = 1, ROCM_HOST_TRAP = 2 };
#define ROCM_SAMPLES_POWER_OF_2 1u // flag of a configuration
struct rocm_sample_config {
  uint64_t size;
  uint32_t method, unit; // of the interval: cycles, or microseconds
  uint64_t least, most;  // intervals
  uint64_t flags;
};
struct rocm_sampled_place {
  uint64_t code_object_id, offset; // from where it is loaded; 0: an address, of no code that is known
};
enum rocm_sample_kind { ROCM_SAMPLE_BY_HOST = 2, ROCM_SAMPLE_STOCHASTIC = 3 };
struct rocm_sample_by_host {
  uint64_t size, hardware;
  struct rocm_sampled_place place;
};
#define ROCM_SAMPLE_ISSUED 1u
struct rocm_sample_stochastic {
  uint64_t size;
  uint8_t flags, wave;
  uint8_t issue; // ROCM_SAMPLE_ISSUED, then the type of the instruction
  uint64_t hardware;
  struct rocm_sampled_place place;
  uint64_t active_lanes;
  uint32_t workgroup[3], waves;
  uint64_t time, dispatch_id, correlation_id, external_id;
  uint32_t snapshot; // its lowest four bits: why nothing was issued
};
#define ROCM_SAMPLE_REASONS 10u // of snapshot, with 0: none

struct rocm_agent {
  uint64_t size;
  struct rocm_id id;
  uint32_t type;
};

// ---- what a tool gives to rocprofiler-sdk
typedef void rocm_finalize_client(struct rocm_id client);
struct rocm_tool {
  size_t size;
  int (*initialize)(rocm_finalize_client *finalize, void *data);
  void (*finalize)(void *data);
  void *data;
};

// ---- functions
typedef void rocm_buffer_callback(struct rocm_id context, struct rocm_id buffer, struct rocm_header **headers,
                                  size_t count, void *data, uint64_t dropped); // all that were ever dropped
typedef int rocm_operation_callback(uint32_t kind, uint32_t operation, void *data);
typedef void rocm_event_callback(const struct rocm_event *event, void *user_data, void *data);
typedef int rocm_agents_callback(int version, const void **agents, size_t count, void *data);

typedef int rocm_counters_callback(struct rocm_id agent, struct rocm_id *counters, size_t count, void *data);
typedef void rocm_dispatch_callback(struct rocm_dispatch dispatch, struct rocm_id *ret_config, uint64_t *ret_user_data,
                                    void *data);
typedef void rocm_values_callback(struct rocm_dispatch dispatch, struct rocm_counter_value *values, size_t count,
                                  uint64_t user_data, void *data);

typedef int rocm_sample_configs_callback(const struct rocm_sample_config *configs, size_t count, void *data);

// X(field, exported name, parameters)
#define ROCM_FUNCTIONS(X)                                                                                              \
  X(get_timestamp, rocprofiler_get_timestamp, (uint64_t *))                                                            \
  X(query_agents, rocprofiler_query_available_agents,                                                                  \
    (int version, rocm_agents_callback *, size_t agent_size, void *data))                                              \
  X(create_context, rocprofiler_create_context, (struct rocm_id *))                                                    \
  X(start_context, rocprofiler_start_context, (struct rocm_id))                                                        \
  X(create_buffer, rocprofiler_create_buffer,                                                                          \
    (struct rocm_id context, size_t bytes, size_t watermark_bytes, int policy, rocm_buffer_callback *, void *data,     \
     struct rocm_id *))                                                                                                \
  X(flush_buffer, rocprofiler_flush_buffer, (struct rocm_id))                                                          \
  X(create_callback_thread, rocprofiler_create_callback_thread, (struct rocm_id *))                                    \
  X(assign_callback_thread, rocprofiler_assign_callback_thread, (struct rocm_id buffer, struct rocm_id thread))        \
  X(trace_buffered, rocprofiler_configure_buffer_tracing_service,                                                      \
    (struct rocm_id context, uint32_t kind, const uint32_t *operations, size_t count, struct rocm_id buffer))          \
  X(trace_by_callback, rocprofiler_configure_callback_tracing_service,                                                 \
    (struct rocm_id context, uint32_t kind, const uint32_t *operations, size_t count, rocm_event_callback *,           \
     void *data))                                                                                                      \
  X(kind_name, rocprofiler_query_buffer_tracing_kind_name, (uint32_t kind, const char **, uint64_t *length))           \
  X(callback_kind_name, rocprofiler_query_callback_tracing_kind_name,                                                  \
    (uint32_t kind, const char **, uint64_t *length))                                                                  \
  X(operation_name, rocprofiler_query_buffer_tracing_kind_operation_name,                                              \
    (uint32_t kind, uint32_t operation, const char **, uint64_t *length))                                              \
  X(each_operation, rocprofiler_iterate_buffer_tracing_kind_operations,                                                \
    (uint32_t kind, rocm_operation_callback *, void *))
// With ROCM_VERSION_LONG_IDS; before, they have other names.
#define ROCM_FUNCTIONS_OF_COUNTERS(X)                                                                                  \
  X(each_counter, rocprofiler_iterate_agent_supported_counters,                                                        \
    (struct rocm_id agent, rocm_counters_callback *, void *))                                                          \
  X(counter_info, rocprofiler_query_counter_info, (struct rocm_id counter, int version, void *ret_info))               \
  X(make_config, rocprofiler_create_counter_config,                                                                    \
    (struct rocm_id agent, struct rocm_id * counters, size_t count, struct rocm_id * config))                          \
  X(drop_config, rocprofiler_destroy_counter_config, (struct rocm_id config))                                          \
  X(counter_of, rocprofiler_query_record_counter_id, (uint64_t id, struct rocm_id * ret_counter))                      \
  X(count_dispatches, rocprofiler_configure_callback_dispatch_counting_service,                                        \
    (struct rocm_id context, rocm_dispatch_callback *, void *data, rocm_values_callback *, void *values_data))
#define ROCM_FUNCTIONS_OF_SAMPLES(X)                                                                                   \
  X(each_sample_config, rocprofiler_query_pc_sampling_agent_configurations,                                            \
    (struct rocm_id agent, rocm_sample_configs_callback *, void *))                                                    \
  X(sample, rocprofiler_configure_pc_sampling_service,                                                                 \
    (struct rocm_id context, struct rocm_id agent, uint32_t method, uint32_t unit, uint64_t interval,                  \
     struct rocm_id buffer, int flags))

struct rocm {
#define ROCM_FIELD(field, name, parameters) int(*field) parameters;
  ROCM_FUNCTIONS(ROCM_FIELD)
  ROCM_FUNCTIONS_OF_COUNTERS(ROCM_FIELD) // or NULL
  ROCM_FUNCTIONS_OF_SAMPLES(ROCM_FIELD)  // or NULL
#undef ROCM_FIELD
  uint32_t version; // ROCM_VERSION and the patch
};

// Where what follows the ids begins.
static inline const void *rocm_after_ids(const struct rocm *rocm, const struct rocm_record *record)
{
  return (const uint8_t *)(record + 1) + (rocm->version >= ROCM_VERSION_LONG_IDS ? sizeof(uint64_t) : 0);
}

static inline const struct rocm_event_end *rocm_event_end(const struct rocm *rocm, const struct rocm_event *event)
{
  return (const void *)((const uint8_t *)(event + 1) + (rocm->version >= ROCM_VERSION_LONG_IDS ? sizeof(uint64_t) : 0));
}

#endif
