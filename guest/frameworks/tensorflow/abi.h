// SPDX-License-Identifier: Apache-2.0
// What is used of TensorFlow's C API, declared here as its documentation has it (c_api.h, tf_tensor.h, tf_tstring.h; checked
// with 2.14.1, 2.18.1 and 2.21.0). Opened at run time, never linked.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_ABI_H
#define XSP_FRAMEWORKS_TENSORFLOW_ABI_H

#include <stddef.h>
#include <stdint.h>

struct tf_buffer {
  const void *data;
  size_t length;
  void (*deallocate)(void *data, size_t length);
};
struct tf_output {
  void *operation;
  int index;
};
struct tf_string { // opaque, 24 bytes
  uint64_t words[3];
};

// X(result, name, parameters)
#define TENSORFLOW_FUNCTIONS(X)                                                                                        \
  X(const char *, Version, (void))                                                                                     \
  X(void *, NewStatus, (void))                                                                                         \
  X(void, DeleteStatus, (void *))                                                                                      \
  X(int, GetCode, (const void *))                                                                                      \
  X(const char *, Message, (const void *))                                                                             \
  X(void *, NewGraph, (void))                                                                                          \
  X(void, DeleteGraph, (void *))                                                                                       \
  X(struct tf_buffer *, NewBuffer, (void))                                                                             \
  X(void, DeleteBuffer, (struct tf_buffer *))                                                                          \
  X(void *, NewImportGraphDefOptions, (void))                                                                          \
  X(void, DeleteImportGraphDefOptions, (void *))                                                                       \
  X(void, GraphImportGraphDef, (void *graph, const struct tf_buffer *, const void *options, void *status))             \
  X(void *, NewSessionOptions, (void))                                                                                 \
  X(void, DeleteSessionOptions, (void *))                                                                              \
  X(void, SetConfig, (void *options, const void *proto, size_t length, void *status))                                  \
  X(void *, NewSession, (void *graph, const void *options, void *status))                                              \
  X(void *, LoadSessionFromSavedModel,                                                                                 \
    (const void *options, const struct tf_buffer *run_options, const char *folder, const char *const *tags, int count, \
     void *graph, struct tf_buffer *meta_graph, void *status))                                                         \
  X(void *, SessionListDevices, (void *session, void *status))                                                         \
  X(int, DeviceListCount, (const void *list))                                                                          \
  X(const char *, DeviceListType, (const void *list, int index, void *status))                                         \
  X(void, DeleteDeviceList, (void *list))                                                                              \
  X(void, CloseSession, (void *, void *status))                                                                        \
  X(void, DeleteSession, (void *, void *status))                                                                       \
  X(void *, GraphOperationByName, (void *graph, const char *name))                                                     \
  X(int, OperationNumOutputs, (void *operation))                                                                       \
  X(void *, NewTensor,                                                                                                 \
    (int type, const int64_t *shape, int rank, void *data, size_t length, void (*)(void *, size_t, void *), void *))   \
  X(void *, AllocateTensor, (int type, const int64_t *shape, int rank, size_t length))                                 \
  X(void *, TensorData, (const void *))                                                                                \
  X(void, DeleteTensor, (void *))                                                                                      \
  X(void, StringInit, (struct tf_string *))                                                                            \
  X(size_t, TensorByteSize, (const void *))                                                                            \
  X(int, TensorType, (const void *))                                                                                   \
  X(int, NumDims, (const void *))                                                                                      \
  X(int64_t, Dim, (const void *, int))                                                                                 \
  X(void, StringDealloc, (struct tf_string *))                                                                         \
  X(void, StringCopy, (struct tf_string *, const char *, size_t))                                                      \
  X(void, SessionRun,                                                                                                  \
    (void *session, const struct tf_buffer *run_options, const struct tf_output *inputs, void *const *input_values,    \
     int input_count, const struct tf_output *outputs, void **output_values, int output_count,                         \
     const void *const *targets, int target_count, struct tf_buffer *run_metadata, void *status))

struct tf_api {
#define X(result, name, parameters) result(*name) parameters;
  TENSORFLOW_FUNCTIONS(X)
#undef X
};

#endif
