// SPDX-License-Identifier: Apache-2.0
// What frameworks.so (tracers/frameworks) asks of tensorflow.so in the same process, and what tensorflow.so calls of
// TensorFlow. Found by dlsym, so that a program without TensorFlow never loads this tracer.
#ifndef XSP_TRACERS_TENSORFLOW_TENSORFLOW_H
#define XSP_TRACERS_TENSORFLOW_TENSORFLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <xsp/span.h>

// X(member, TensorFlow's name, return type, parameters). Of its C interface, and of its recorder of activities, which has
// none in C.
#define TENSORFLOW_TRACER_FUNCTIONS(X)                                                                                 \
  X(version, TF_Version, const char *, (void))                                                                         \
  X(new_status, TF_NewStatus, void *, (void))                                                                          \
  X(delete_status, TF_DeleteStatus, void, (void *))                                                                    \
  X(operation_name, TF_OperationName, const char *, (void *operation))                                                 \
  X(rank, TF_NumDims, int, (const void *tensor))                                                                       \
  X(dimension, TF_Dim, int64_t, (const void *tensor, int number))                                                      \
  X(op_name, TFE_OpGetName, const char *, (const void *op, void *status))                                              \
  X(handle_rank, TFE_TensorHandleNumDims, int, (void *handle, void *status))                                           \
  X(handle_dimension, TFE_TensorHandleDim, int64_t, (void *handle, int number, void *status))
#define TENSORFLOW_RECORDER_FUNCTIONS(X)                                                                               \
  X(record, _ZN3tsl8profiler15TraceMeRecorder5StartEi, bool, (int level))                                              \
  X(take, _ZN3tsl8profiler15TraceMeRecorder4StopEv, void *, (void *ret_events))                                        \
  X(drop, _ZNSt6vectorIN3tsl8profiler15TraceMeRecorder12ThreadEventsESaIS3_EED2Ev, void, (void *events))

struct tensorflow_functions {
#define X(member, name, result, parameters) result(*member) parameters;
  TENSORFLOW_TRACER_FUNCTIONS(X)
  TENSORFLOW_RECORDER_FUNCTIONS(X) // NULL where a version has them not: models without layers
#undef X
};

struct tensorflow_call { // of the program, on its thread; on its stack
  struct xsp_span span;
  bool is_open, is_recorded;
  int64_t start_ns;  // CLOCK_REALTIME
  uint64_t function; // of whom the layers are
};

struct tensorflow_hooks { // static; appended to only
  uint32_t size;
  void (*start)(const struct tensorflow_functions *functions, const char *model_range); // once, first
  // A function or an operation of eager execution.
  void (*execute_begins)(struct tensorflow_call *call, const void *op);
  void (*execute_ended)(struct tensorflow_call *call, void *const *results, int count);
  void (*session_made)(const void *session, const char *folder); // of a SavedModel
  void (*session_freed)(const void *session);
  void (*run_begins)(struct tensorflow_call *call, const void *session, void *first_output);
  void (*run_ended)(struct tensorflow_call *call, void *const *results, int count);
  void (*say)(const char *message);
};
#define TENSORFLOW_HOOKS_SYMBOL "xsp_tensorflow"
typedef const struct tensorflow_hooks *(*tensorflow_hooks_fn)(void);
XSP_API const struct tensorflow_hooks *xsp_tensorflow(void);

#endif
