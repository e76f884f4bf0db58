// SPDX-License-Identifier: Apache-2.0
// What frameworks.so (guest/frameworks/common/doors.c) asks of tensorflow.so in the same process, and what tensorflow.so calls of
// TensorFlow. Found by dlsym, so that a program without TensorFlow never loads this tracer.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_HOOKS_H
#define XSP_FRAMEWORKS_TENSORFLOW_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>

// X(member, TensorFlow's name, return type, parameters). Of its C interface, and of its recorder of activities, which has
// none in C.
#define TENSORFLOW_TRACER_FUNCTIONS(X)                                                                                 \
  X(version, TF_Version, const char *, (void))                                                                         \
  X(new_status, TF_NewStatus, void *, (void))                                                                          \
  X(delete_status, TF_DeleteStatus, void, (void *))                                                                    \
  X(code, TF_GetCode, int, (const void *status))                                                                       \
  X(operation_name, TF_OperationName, const char *, (void *operation))                                                 \
  X(rank, TF_NumDims, int, (const void *tensor))                                                                       \
  X(dimension, TF_Dim, int64_t, (const void *tensor, int number))                                                      \
  X(op_name, TFE_OpGetName, const char *, (const void *op, void *status))                                              \
  X(op_context, TFE_OpGetContext, void *, (const void *op, void *status))                                              \
  X(executor_of, TFE_ContextGetExecutorForThread, void *, (void *context))                                             \
  X(is_async, TFE_ExecutorIsAsync, bool, (void *executor))                                                             \
  X(delete_executor, TFE_DeleteExecutor, void, (void *executor))                                                       \
  X(handle_rank, TFE_TensorHandleNumDims, int, (void *handle, void *status))                                           \
  X(handle_dimension, TFE_TensorHandleDim, int64_t, (void *handle, int number, void *status))
#define TENSORFLOW_RECORDER_FUNCTIONS(X)                                                                               \
  X(record, _ZN3tsl8profiler15TraceMeRecorder5StartEi, bool, (int level))                                              \
  X(take, _ZN3tsl8profiler15TraceMeRecorder4StopEv, void *, (void *ret_events))                                        \
  X(drop, _ZNSt6vectorIN3tsl8profiler15TraceMeRecorder12ThreadEventsESaIS3_EED2Ev, void, (void *events))

// With them its allocator of CPUs' memory announces what it allocates to the recorder, as those of GPUs' do.
#define TENSORFLOW_ALLOCATOR_FUNCTIONS(X)                                                                              \
  X(announce_allocations, _ZN3tsl23EnableCPUAllocatorStatsEv, void, (void))                                            \
  X(keep_allocations, _ZN3tsl24DisableCPUAllocatorStatsEv, void, (void))                                               \
  X(announces_allocations, _ZN3tsl24CPUAllocatorStatsEnabledEv, bool, (void))

// How many tensors and variables are passed to a function.
#define TENSORFLOW_INPUT_FUNCTIONS(X) X(input_count, TFE_OpGetFlatInputCount, int, (const void *op, void *status))

#define TENSORFLOW_RECORDER_LEVEL "_ZN3tsl8profiler8internal13g_trace_levelE"
#define TENSORFLOW_RECORDER_OFF (-1)

struct tensorflow_functions {
  const int
      *recorder_level; // atomic: TENSORFLOW_RECORDER_OFF, or the level of whoever uses the recorder; NULL: unknown
#define X(member, name, result, parameters) result(*member) parameters;
  TENSORFLOW_TRACER_FUNCTIONS(X)
  TENSORFLOW_RECORDER_FUNCTIONS(X)  // NULL where a version has them not: models without layers
  TENSORFLOW_ALLOCATOR_FUNCTIONS(X) // NULL where a version has them not: layers without memory
  TENSORFLOW_INPUT_FUNCTIONS(X)     // NULL where a version has it not: functions without a signature
#undef X
};

struct tensorflow_call { // of the program, on its thread; on its stack
  struct xsp_span span;
  bool is_open, is_recorded, is_async;
  int64_t start_ns;  // CLOCK_REALTIME
  uint64_t function; // of whom the layers are
};

struct tensorflow_hooks { // static; appended to only
  uint32_t size;
  void (*start)(const struct tensorflow_functions *functions, const char *model_range); // once, first
  // A function or an operation of eager execution. `is_done`: without an error; else there are no results.
  void (*execute_begins)(struct tensorflow_call *call, const void *op);
  void (*execute_ended)(struct tensorflow_call *call, void *const *results, int count, bool is_done);
  void (*session_made)(const void *session, const char *folder); // of a SavedModel
  void (*session_freed)(const void *session);
  void (*run_begins)(struct tensorflow_call *call, const void *session, void *first_output);
  void (*run_ended)(struct tensorflow_call *call, void *const *results, int count, bool is_done);
  void (*report)(const char *message); // to xsp, for its notes on the run
  void (*program_begins)(void);        // it is about to start the recorder itself
  void (*program_began)(void);         // it tried to
  void (*allocated)(size_t bytes);     // by the allocator that oneDNN's operations have, on the calling thread
};
#define TENSORFLOW_HOOKS_SYMBOL "xsp_tensorflow"
XSP_API const struct tensorflow_hooks *xsp_tensorflow(void);

#endif
