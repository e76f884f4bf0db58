// SPDX-License-Identifier: Apache-2.0
// The part of ONNX Runtime's C ABI that xsp uses, in our own words: no header with these slots ships with the library.
// Shared by the tracer (this folder) and the predictor. OrtApi and OrtEpApi are append-only tables of function
// pointers, addressed by slot; a slot exists from the API version given next to it on. The structs that a plug-in hands
// to the runtime are typed below, slot for slot; what xsp leaves out is NULL, which the runtime takes as "not offered".
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_ABI_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Opaque to us.
struct ort_status;
struct ort_env;
struct ort_session;
struct ort_session_options;
struct ort_run_options;
struct ort_value;
struct ort_type_info;
struct ort_tensor_info;
struct ort_memory_info;
struct ort_allocator;
struct ort_hardware_device;
struct ort_ep_device;
struct ort_key_value_pairs;
struct ort_logger;
struct ort_graph;
struct ort_graph_support_info;
struct ort_profiling_event;
struct ort_profiling_container;
struct ort_ep_api;
struct ort_binding;
struct ort_prepacked;
struct ort_model_metadata;
// Called on a thread of the runtime when run_async has ended; owns `status`.
typedef void (*ort_async_callback)(void *data, struct ort_value **outputs, size_t output_count,
                                   struct ort_status *status);

#define ORT_API_LEAST 12u    // oldest API version the predictor asks for (ONNX Runtime 1.12)
#define ORT_API_PLUGIN 22u   // plug-in execution providers exist
#define ORT_API_LISTENER 25u // … and are called for every node

enum ort_error_code {
  ORT_ERROR_FAIL = 1,
  ORT_ERROR_INVALID_ARGUMENT = 2,
  ORT_ERROR_NO_SUCH_FILE = 3,
  ORT_ERROR_NO_MODEL = 4,
  ORT_ERROR_ENGINE = 5,
  ORT_ERROR_RUNTIME_EXCEPTION = 6,
  ORT_ERROR_INVALID_PROTOBUF = 7,
  ORT_ERROR_NOT_IMPLEMENTED = 9,
  ORT_ERROR_INVALID_GRAPH = 10,
};
enum ort_log_level { ORT_LOG_ERROR = 3, ORT_LOG_FATAL = 4 };
enum ort_allocator_kind { ORT_ALLOCATOR_ARENA = 1 };
enum ort_memory_kind { ORT_MEMORY_DEFAULT = 0 };
enum ort_value_kind { ORT_VALUE_TENSOR = 1 };
enum ort_device_kind { ORT_DEVICE_CPU = 0 };
enum ort_event_category { ORT_EVENT_SESSION = 0, ORT_EVENT_NODE = 1, ORT_EVENT_KERNEL = 2, ORT_EVENT_API = 3 };

// X(member, slot in OrtApi, first API version, return type, parameters)
#define ORT_API_LIST(X)                                                                                                \
  X(create_status, 0, 1, struct ort_status *, (int code, const char *message))                                         \
  X(error_code, 1, 1, int, (const struct ort_status *))                                                                \
  X(error_message, 2, 1, const char *, (const struct ort_status *))                                                    \
  X(create_env, 3, 1, struct ort_status *, (int log_level, const char *log_id, struct ort_env **))                     \
  X(create_session, 7, 1, struct ort_status *,                                                                         \
    (const struct ort_env *, const char *path, const struct ort_session_options *, struct ort_session **))             \
  X(create_session_from_array, 8, 1, struct ort_status *,                                                              \
    (const struct ort_env *, const void *model, size_t size_bytes, const struct ort_session_options *,                 \
     struct ort_session **))                                                                                           \
  X(run, 9, 1, struct ort_status *,                                                                                    \
    (struct ort_session *, const struct ort_run_options *, const char *const *input_names,                             \
     const struct ort_value *const *inputs, size_t input_count, const char *const *output_names, size_t output_count,  \
     struct ort_value **outputs))                                                                                      \
  X(create_session_options, 10, 1, struct ort_status *, (struct ort_session_options **))                               \
  X(clone_session_options, 12, 1, struct ort_status *,                                                                 \
    (const struct ort_session_options *, struct ort_session_options **))                                               \
  X(enable_profiling, 14, 1, struct ort_status *, (struct ort_session_options *, const char *path_prefix))             \
  X(set_intra_op_threads, 24, 1, struct ort_status *, (struct ort_session_options *, int threads))                     \
  X(input_count, 30, 1, struct ort_status *, (const struct ort_session *, size_t *))                                   \
  X(output_count, 31, 1, struct ort_status *, (const struct ort_session *, size_t *))                                  \
  X(input_type, 33, 1, struct ort_status *, (const struct ort_session *, size_t, struct ort_type_info **))             \
  X(output_type, 34, 1, struct ort_status *, (const struct ort_session *, size_t, struct ort_type_info **))            \
  X(input_name, 36, 1, struct ort_status *, (const struct ort_session *, size_t, struct ort_allocator *, char **))     \
  X(output_name, 37, 1, struct ort_status *, (const struct ort_session *, size_t, struct ort_allocator *, char **))    \
  X(create_run_options, 39, 1, struct ort_status *, (struct ort_run_options **))                                       \
  X(create_tensor, 48, 1, struct ort_status *,                                                                         \
    (struct ort_allocator *, const int64_t *shape, size_t rank, int element_type, struct ort_value **))                \
  X(create_tensor_over, 49, 1, struct ort_status *,                                                                    \
    (const struct ort_memory_info *, void *data, size_t size_bytes, const int64_t *shape, size_t rank,                 \
     int element_type, struct ort_value **))                                                                           \
  X(is_tensor, 50, 1, struct ort_status *, (const struct ort_value *, int *))                                          \
  X(tensor_data, 51, 1, struct ort_status *, (struct ort_value *, void **))                                            \
  X(fill_strings, 52, 1, struct ort_status *, (struct ort_value *, const char *const *texts, size_t count))            \
  X(tensor_info_of, 55, 1, struct ort_status *, (const struct ort_type_info *, const struct ort_tensor_info **))       \
  X(value_kind, 56, 1, struct ort_status *, (const struct ort_type_info *, int *))                                     \
  X(element_type, 60, 1, struct ort_status *, (const struct ort_tensor_info *, int *))                                 \
  X(dimension_count, 61, 1, struct ort_status *, (const struct ort_tensor_info *, size_t *))                           \
  X(dimensions, 62, 1, struct ort_status *, (const struct ort_tensor_info *, int64_t *, size_t))                       \
  X(dimension_names, 63, 1, struct ort_status *, (const struct ort_tensor_info *, const char **, size_t))              \
  X(tensor_info_of_value, 65, 1, struct ort_status *, (const struct ort_value *, struct ort_tensor_info **))           \
  X(create_cpu_memory_info, 69, 1, struct ort_status *,                                                                \
    (int allocator_kind, int memory_kind, struct ort_memory_info **))                                                  \
  X(allocator_free, 76, 1, struct ort_status *, (struct ort_allocator *, void *))                                      \
  X(default_allocator, 78, 1, struct ort_status *, (struct ort_allocator **))                                          \
  X(release_env, 92, 1, void, (struct ort_env *))                                                                      \
  X(release_status, 93, 1, void, (struct ort_status *))                                                                \
  X(release_memory_info, 94, 1, void, (struct ort_memory_info *))                                                      \
  X(release_session, 95, 1, void, (struct ort_session *))                                                              \
  X(release_value, 96, 1, void, (struct ort_value *))                                                                  \
  X(release_run_options, 97, 1, void, (struct ort_run_options *))                                                      \
  X(release_type_info, 98, 1, void, (struct ort_type_info *))                                                          \
  X(release_tensor_info, 99, 1, void, (struct ort_tensor_info *))                                                      \
  X(release_session_options, 100, 1, void, (struct ort_session_options *))                                             \
  X(end_profiling, 110, 2, struct ort_status *, (struct ort_session *, struct ort_allocator *, char **path))           \
  X(model_metadata, 111, 2, struct ort_status *, (const struct ort_session *, struct ort_model_metadata **))           \
  X(graph_name, 113, 2, struct ort_status *, (const struct ort_model_metadata *, struct ort_allocator *, char **))     \
  X(release_model_metadata, 118, 2, void, (struct ort_model_metadata *))                                               \
  X(available_providers, 125, 3, struct ort_status *, (char ***names, int *count))                                     \
  X(release_available_providers, 126, 3, struct ort_status *, (char **names, int count))                               \
  X(add_session_config, 130, 6, struct ort_status *,                                                                   \
    (struct ort_session_options *, const char *key, const char *value))                                                \
  X(run_with_binding, 133, 5, struct ort_status *,                                                                     \
    (struct ort_session *, const struct ort_run_options *, const struct ort_binding *))                                \
  X(release_binding, 135, 5, void, (struct ort_binding *))                                                             \
  X(bind_input, 136, 5, struct ort_status *, (struct ort_binding *, const char *name, const struct ort_value *))       \
  X(profiling_start_ns, 146, 8, struct ort_status *, (const struct ort_session *, uint64_t *))                         \
  X(create_session_prepacked, 168, 8, struct ort_status *,                                                             \
    (const struct ort_env *, const char *path, const struct ort_session_options *, struct ort_prepacked *,             \
     struct ort_session **))                                                                                           \
  X(create_session_from_array_prepacked, 169, 8, struct ort_status *,                                                  \
    (const struct ort_env *, const void *model, size_t size_bytes, const struct ort_session_options *,                 \
     struct ort_prepacked *, struct ort_session **))                                                                   \
  X(append_tensorrt, 170, 9, struct ort_status *, (struct ort_session_options *, const void *options))                 \
  X(create_tensorrt_options, 171, 9, struct ort_status *, (void **options))                                            \
  X(update_tensorrt_options, 172, 9, struct ort_status *,                                                              \
    (void *options, const char *const *keys, const char *const *values, size_t count))                                 \
  X(release_tensorrt_options, 174, 9, void, (void *options))                                                           \
  X(append_cuda, 204, 11, struct ort_status *, (struct ort_session_options *, const void *options))                    \
  X(create_cuda_options, 205, 11, struct ort_status *, (void **options))                                               \
  X(update_cuda_options, 206, 11, struct ort_status *,                                                                 \
    (void *options, const char *const *keys, const char *const *values, size_t count))                                 \
  X(release_cuda_options, 208, 11, void, (void *options))                                                              \
  X(append_provider, 216, 12, struct ort_status *,                                                                     \
    (struct ort_session_options *, const char *name, const char *const *keys, const char *const *values,               \
     size_t count))                                                                                                    \
  X(run_async, 260, 16, struct ort_status *,                                                                           \
    (struct ort_session *, const struct ort_run_options *, const char *const *input_names,                             \
     const struct ort_value *const *inputs, size_t input_count, const char *const *output_names, size_t output_count,  \
     struct ort_value **outputs, ort_async_callback callback, void *callback_data))                                    \
  X(set_deterministic_compute, 273, 18, struct ort_status *, (struct ort_session_options *, bool value))               \
  X(register_ep_library, 301, ORT_API_PLUGIN, struct ort_status *,                                                     \
    (struct ort_env *, const char *registration_name, const char *path))                                               \
  X(ep_devices, 303, ORT_API_PLUGIN, struct ort_status *,                                                              \
    (const struct ort_env *, const struct ort_ep_device *const **, size_t *))                                          \
  X(append_ep, 304, ORT_API_PLUGIN, struct ort_status *,                                                               \
    (struct ort_session_options *, struct ort_env *, const struct ort_ep_device *const *, size_t device_count,         \
     const char *const *keys, const char *const *values, size_t option_count))                                         \
  X(hardware_device_kind, 307, ORT_API_PLUGIN, int, (const struct ort_hardware_device *))                              \
  X(ep_device_name, 312, ORT_API_PLUGIN, const char *, (const struct ort_ep_device *))                                 \
  X(ep_api, 317, ORT_API_PLUGIN, const struct ort_ep_api *, (void))                                                    \
  X(enable_run_profiling, 415, ORT_API_LISTENER, struct ort_status *,                                                  \
    (struct ort_run_options *, const char *path_prefix))                                                               \
  X(disable_run_profiling, 416, ORT_API_LISTENER, struct ort_status *, (struct ort_run_options *))

struct ort_api { // NULL where the library is older than the slot
#define X(member, slot, version, result, parameters) result(*member) parameters;
  ORT_API_LIST(X)
#undef X
};

struct ort_provider_calls { // of a provider whose options are objects of the library
  struct ort_status *(*create)(void **options);
  struct ort_status *(*update)(void *options, const char *const *keys, const char *const *values, size_t count);
  struct ort_status *(*append)(struct ort_session_options *, const void *options);
  void (*release)(void *options);
};

// X(member, slot in OrtEpApi, first API version, return type, parameters)
#define ORT_EP_API_LIST(X)                                                                                             \
  X(create_ep_device, 0, ORT_API_PLUGIN, struct ort_status *,                                                          \
    (struct ort_ep_factory *, const struct ort_hardware_device *, const struct ort_key_value_pairs *metadata,          \
     const struct ort_key_value_pairs *options, struct ort_ep_device **))                                              \
  X(event_category, 67, ORT_API_LISTENER, struct ort_status *, (const struct ort_profiling_event *, int *))            \
  X(event_name, 68, ORT_API_LISTENER, struct ort_status *, (const struct ort_profiling_event *, const char **))        \
  X(event_duration_us, 70, ORT_API_LISTENER, struct ort_status *, (const struct ort_profiling_event *, int64_t *))     \
  X(event_argument, 71, ORT_API_LISTENER, struct ort_status *,                                                         \
    (const struct ort_profiling_event *, const char *key, const char **value))

struct ort_ep_factory;
struct ort_ep_functions {
#define X(member, slot, version, result, parameters) result(*member) parameters;
  ORT_EP_API_LIST(X)
#undef X
};

// What the exported OrtGetApiBase returns.
struct ort_api_base {
  const void *(*get_api)(uint32_t version); // NULL above the library's own version, with a line on stderr
  const char *(*version_string)(void);      // "1.31.1"
};
typedef const struct ort_api_base *(*ort_get_api_base_fn)(void);
#define ORT_GET_API_BASE "OrtGetApiBase"

// The highest API version of a library, from its version string: its minor number. 0: not a version of the 1.x series.
static inline uint32_t ort_api_version(const char *version_string)
{
  if (version_string == NULL || version_string[0] != '1' || version_string[1] != '.')
    return 0;
  uint32_t minor = 0;
  for (const char *at = version_string + 2; *at >= '0' && *at <= '9' && minor < 10000; at++)
    minor = minor * 10 + (uint32_t)(*at - '0');
  return minor;
}

static inline void ort_api_load(const void *table, uint32_t version, struct ort_api *ret_api)
{
  const char *slots = table;
#define X(member, slot, first, result, parameters)                                                                     \
  ret_api->member = NULL;                                                                                              \
  if (version >= (first))                                                                                              \
    __builtin_memcpy(&ret_api->member, slots + (slot) * sizeof(void *), sizeof(void *));
  ORT_API_LIST(X)
#undef X
}

static inline void ort_ep_functions_load(const struct ort_ep_api *table, uint32_t version,
                                         struct ort_ep_functions *ret_functions)
{
  const char *slots = (const char *)table;
#define X(member, slot, first, result, parameters)                                                                     \
  ret_functions->member = NULL;                                                                                        \
  if (version >= (first))                                                                                              \
    __builtin_memcpy(&ret_functions->member, slots + (slot) * sizeof(void *), sizeof(void *));
  ORT_EP_API_LIST(X)
#undef X
}

// ---- what a plug-in execution provider hands to the runtime ---------------------------------------------------------
// Each begins with the API version it was written for; the
// runtime reads no slot that is younger than that.

struct ort_profiler { // one per session
  uint32_t version;
  void (*release)(struct ort_profiler *);
  struct ort_status *(*start_profiling)(struct ort_profiler *, int64_t start_offset_ns);
  struct ort_status *(*start_event)(struct ort_profiler *, uint64_t event_id);
  struct ort_status *(*stop_event)(struct ort_profiler *, uint64_t event_id, const struct ort_profiling_event *);
  struct ort_status *(*end_profiling)(struct ort_profiler *, struct ort_profiling_container *);
};

struct ort_ep { // one per session
  uint32_t version;
  const char *(*name)(const struct ort_ep *);
  struct ort_status *(*capability)(struct ort_ep *, const struct ort_graph *, struct ort_graph_support_info *);
  struct ort_status *(*compile)(struct ort_ep *, const struct ort_graph **, const void *, size_t, void *, void *);
  void (*release_compute_infos)(struct ort_ep *, void *, size_t);
  void *unused_5_13[9]; // layout, dynamic options, run start and end, allocators, streams, compatibility, registry
  struct ort_status *(*is_concurrent_run_supported)(struct ort_ep *, bool *);
  void *unused_15;
  struct ort_status *(*create_profiler)(struct ort_ep *, struct ort_profiler **);
  void *unused_17_31[15];
};

struct ort_ep_factory { // one per library
  uint32_t version;
  const char *(*name)(const struct ort_ep_factory *);
  const char *(*vendor)(const struct ort_ep_factory *);
  struct ort_status *(*supported_devices)(struct ort_ep_factory *, const struct ort_hardware_device *const *devices,
                                          size_t device_count, struct ort_ep_device **ret_ep_devices,
                                          size_t ep_devices_maximum, size_t *ret_count);
  struct ort_status *(*create_ep)(struct ort_ep_factory *, const struct ort_hardware_device *const *,
                                  const struct ort_key_value_pairs *const *, size_t device_count,
                                  const struct ort_session_options *, const struct ort_logger *, struct ort_ep **);
  void (*release_ep)(struct ort_ep_factory *, struct ort_ep *);
  uint32_t (*vendor_id)(const struct ort_ep_factory *);
  const char *(*provider_version)(const struct ort_ep_factory *);
  void *unused_8; // compiled model compatibility
  struct ort_status *(*create_allocator)(struct ort_ep_factory *, const struct ort_memory_info *,
                                         const struct ort_key_value_pairs *, struct ort_allocator **);
  void (*release_allocator)(struct ort_ep_factory *, struct ort_allocator *);
  struct ort_status *(*create_data_transfer)(struct ort_ep_factory *, void **);
  bool (*is_stream_aware)(const struct ort_ep_factory *);
  void *unused_13_31[19];
};

#define ORT_SLOT_IS(type, member, slot) _Static_assert(offsetof(type, member) == (slot) * sizeof(void *), #member)
ORT_SLOT_IS(struct ort_profiler, end_profiling, 5);
ORT_SLOT_IS(struct ort_ep, release_compute_infos, 4);
ORT_SLOT_IS(struct ort_ep, is_concurrent_run_supported, 14);
ORT_SLOT_IS(struct ort_ep, create_profiler, 16);
ORT_SLOT_IS(struct ort_ep_factory, provider_version, 7);
ORT_SLOT_IS(struct ort_ep_factory, create_allocator, 9);
ORT_SLOT_IS(struct ort_ep_factory, is_stream_aware, 12);
_Static_assert(sizeof(struct ort_ep) == 32 * sizeof(void *), "spare slots are NULL, not missing");
_Static_assert(sizeof(struct ort_ep_factory) == 32 * sizeof(void *), "spare slots are NULL, not missing");

// What the runtime looks up in a plug-in library.
#define ORT_LISTENER_NAME "XspListenerExecutionProvider"
#define ORT_REGISTRATION_NAME "xsp"

// Arguments of node events, in the listener and in the profile file alike.
#define ORT_NODE_NAME_SUFFIX "_kernel_time"
#define ORT_ARGUMENT_OPERATOR "op_name"
#define ORT_ARGUMENT_INDEX "node_index"
#define ORT_ARGUMENT_PROVIDER "provider"
#define ORT_ARGUMENT_INPUTS "input_type_shape"
#define ORT_ARGUMENT_OUTPUTS "output_type_shape"
#define ORT_ARGUMENT_PARAMETER_BYTES "parameter_size"
#define ORT_ARGUMENT_ACTIVATION_BYTES "activation_size"
#define ORT_ARGUMENT_OUTPUT_BYTES "output_size"
// From 1.30 on, and meaningful in the first run of a shape only: what the node asked for.
#define ORT_ARGUMENT_ALLOC_BYTES "mem_requested_in_use_delta"

#endif
