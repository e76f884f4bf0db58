// SPDX-License-Identifier: Apache-2.0
// OpenVINO's C interface as the predictor uses it, declared here because it is opened at run time. Checked with 2024.6.0,
// 2025.2.0, 2025.4.1 and 2026.4.1; the numbers of element types moved by one in 2025.
#ifndef XSP_FRAMEWORKS_OPENVINO_ABI_H
#define XSP_FRAMEWORKS_OPENVINO_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ov_version {
  const char *build, *description;
};
struct ov_shape {
  int64_t rank;
  int64_t *dimensions;
};
struct ov_dimension { // both inclusive; max -1: without a limit
  int64_t min, max;
};
struct ov_partial_shape {
  struct ov_dimension rank;
  struct ov_dimension *dimensions;
};
enum ov_node_status { OV_NODE_NOT_RUN, OV_NODE_OPTIMIZED_OUT, OV_NODE_EXECUTED };
struct ov_profiling_info {
  int status;                   // enum ov_node_status
  int64_t real_time_us, cpu_us; // means over all inferences since the model was compiled, cut to microseconds
  const char *name, *primitive, *type;
};
struct ov_profiling_list {
  struct ov_profiling_info *infos;
  size_t count;
};

struct ov_devices {
  char **names;
  size_t count;
};

struct ov_core;
struct ov_model;
struct ov_compiled_model;
struct ov_infer_request;
struct ov_port;
struct ov_tensor;

// Every function returns 0, or a negative number; ov_get_last_err_msg then says why (it is of the calling thread).
#define OPENVINO_FUNCTIONS(X)                                                                                          \
  X(int, get_openvino_version, (struct ov_version *))                                                                  \
  X(void, version_free, (struct ov_version *))                                                                         \
  X(const char *, get_last_err_msg, (void))                                                                            \
  X(void, free, (const char *))                                                                                        \
  X(int, core_create, (struct ov_core **))                                                                             \
  X(void, core_free, (struct ov_core *))                                                                               \
  X(int, core_set_property, (const struct ov_core *, const char *device, ...))                                         \
  X(int, core_get_property, (const struct ov_core *, const char *device, const char *key, char **))                    \
  X(int, core_get_available_devices, (const struct ov_core *, struct ov_devices *))                                    \
  X(void, available_devices_free, (struct ov_devices *))                                                               \
  X(int, core_read_model, (const struct ov_core *, const char *path, const char *weights, struct ov_model **))         \
  X(int, core_compile_model,                                                                                           \
    (const struct ov_core *, const struct ov_model *, const char *device, size_t, struct ov_compiled_model **, ...))   \
  X(void, model_free, (struct ov_model *))                                                                             \
  X(int, model_inputs_size, (const struct ov_model *, size_t *))                                                       \
  X(int, model_const_input_by_index, (const struct ov_model *, size_t, struct ov_port **))                             \
  X(int, model_outputs_size, (const struct ov_model *, size_t *))                                                      \
  X(int, model_const_output_by_index, (const struct ov_model *, size_t, struct ov_port **))                            \
  X(bool, model_is_dynamic, (const struct ov_model *))                                                                 \
  X(int, model_reshape_by_port_indexes,                                                                                \
    (const struct ov_model *, const size_t *ports, const struct ov_partial_shape *, size_t))                           \
  X(void, output_const_port_free, (struct ov_port *))                                                                  \
  X(int, port_get_any_name, (const struct ov_port *, char **))                                                         \
  X(int, port_get_element_type, (const struct ov_port *, int *))                                                       \
  X(int, port_get_partial_shape, (const struct ov_port *, struct ov_partial_shape *))                                  \
  X(void, partial_shape_free, (struct ov_partial_shape *))                                                             \
  X(int, compiled_model_export_model, (const struct ov_compiled_model *, const char *path))                            \
  X(void, compiled_model_free, (struct ov_compiled_model *))                                                           \
  X(int, compiled_model_create_infer_request, (const struct ov_compiled_model *, struct ov_infer_request **))          \
  X(int, tensor_create_from_host_ptr, (int type, struct ov_shape, void *, struct ov_tensor **))                        \
  X(void, tensor_free, (struct ov_tensor *))                                                                           \
  X(int, infer_request_set_input_tensor_by_index, (struct ov_infer_request *, size_t, const struct ov_tensor *))       \
  X(int, infer_request_get_output_tensor_by_index, (const struct ov_infer_request *, size_t, struct ov_tensor **))     \
  X(int, tensor_data, (const struct ov_tensor *, void **))                                                             \
  X(int, tensor_get_byte_size, (const struct ov_tensor *, size_t *))                                                   \
  X(int, tensor_get_shape, (const struct ov_tensor *, struct ov_shape *))                                              \
  X(int, tensor_get_element_type, (const struct ov_tensor *, int *))                                                   \
  X(int, shape_free, (struct ov_shape *))                                                                              \
  X(int, infer_request_infer, (struct ov_infer_request *))                                                             \
  X(int, infer_request_get_profiling_info, (const struct ov_infer_request *, struct ov_profiling_list *))              \
  X(void, infer_request_free, (struct ov_infer_request *))                                                             \
  X(void, profiling_info_list_free, (struct ov_profiling_list *))

// NULL before 2025.
#define OPENVINO_NEWER_FUNCTIONS(X)                                                                                    \
  X(int, tensor_create_from_string_array, (const char **, size_t, struct ov_shape, struct ov_tensor **))

struct openvino_api {
#define X(type, name, arguments) type(*name) arguments;
  OPENVINO_FUNCTIONS(X)
  OPENVINO_NEWER_FUNCTIONS(X)
#undef X
};

#endif
