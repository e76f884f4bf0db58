// SPDX-License-Identifier: Apache-2.0
// LiteRT's C interface as the predictor uses it, declared here because its package brings no headers. Checked with
// ai-edge-litert 2.3.0; what it writes into memory of ours is measured before it is believed (events.h).
#ifndef XSP_FRAMEWORKS_LITERT_ABI_H
#define XSP_FRAMEWORKS_LITERT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITERT_RANK_MOST 8
#define LITERT_CPU 1 // hardware accelerators, a mask
#define LITERT_GPU 2
#define LITERT_NPU 4
#define LITERT_READ 0 // mode of a lock
#define LITERT_WRITE 1
#define LITERT_RANKED 0          // a tensor's type id
#define LITERT_NO_MEMORY 2       // status
#define LITERT_KERNELS_BUILTIN 2 // kernel_mode: each operator by the interpreter's own kernels; 0: XNNPACK

struct litert_layout {
  uint32_t rank : 7, has_strides : 1;
  int32_t dimensions[LITERT_RANK_MOST]; // -1: free
  uint32_t strides[LITERT_RANK_MOST];
};
struct litert_tensor_type {
  int32_t element; // TFLite's numbers
  struct litert_layout layout;
};
_Static_assert(sizeof(struct litert_layout) == 68 && sizeof(struct litert_tensor_type) == 72, "the library's layout");

// All handles are opaque pointers.
typedef struct litert_opaque *litert_handle;

// Every function returns 0, or the number of what went wrong; why is written to stderr.
#define LITERT_FUNCTIONS(X)                                                                                            \
  X(CreateEnvironment, (int, const void *, litert_handle *))                                                           \
  X(GetNumAccelerators, (litert_handle environment, size_t *))                                                         \
  X(GetAccelerator, (litert_handle environment, size_t, litert_handle *))                                              \
  X(GetAcceleratorHardwareSupport, (litert_handle accelerator, int *))                                                 \
  X(CreateModelFromFile, (litert_handle environment, const char *, litert_handle *))                                   \
  X(GetNumModelSignatures, (litert_handle model, size_t *))                                                            \
  X(GetModelSignature, (litert_handle model, size_t, litert_handle *))                                                 \
  X(GetNumSignatureInputs, (litert_handle signature, size_t *))                                                        \
  X(GetNumSignatureOutputs, (litert_handle signature, size_t *))                                                       \
  X(GetSignatureInputName, (litert_handle signature, size_t, const char **))                                           \
  X(GetSignatureInputTensorByIndex, (litert_handle signature, size_t, litert_handle *))                                \
  X(GetSignatureOutputName, (litert_handle signature, size_t, const char **))                                          \
  X(GetSignatureOutputTensorByIndex, (litert_handle signature, size_t, litert_handle *))                               \
  X(GetTensorTypeId, (litert_handle tensor, int *))                                                                    \
  X(GetRankedTensorType, (litert_handle tensor, struct litert_tensor_type *))                                          \
  X(CreateOptions, (litert_handle *))                                                                                  \
  X(SetOptionsHardwareAccelerators, (litert_handle options, int))                                                      \
  X(CreateOpaqueOptions, (const char *, void *, void (*)(void *), litert_handle *))                                    \
  X(AddOpaqueOptions, (litert_handle options, litert_handle))                                                          \
  X(CreateCompiledModel, (litert_handle environment, litert_handle model, litert_handle options, litert_handle *))     \
  X(CompiledModelResizeInputTensor,                                                                                    \
    (litert_handle compiled, size_t signature, size_t input, const int *, size_t rank))                                \
  X(GetCompiledModelOutputTensorLayouts,                                                                               \
    (litert_handle compiled, size_t signature, size_t count, struct litert_layout *, bool allocate))                   \
  X(GetCompiledModelInputBufferRequirements, (litert_handle compiled, size_t signature, size_t, litert_handle *))      \
  X(GetCompiledModelOutputBufferRequirements, (litert_handle compiled, size_t signature, size_t, litert_handle *))     \
  X(CreateManagedTensorBufferFromRequirements,                                                                         \
    (litert_handle environment, const struct litert_tensor_type *, litert_handle, litert_handle *))                    \
  X(GetTensorBufferPackedSize, (litert_handle buffer, size_t *))                                                       \
  X(LockTensorBuffer, (litert_handle buffer, void **, int mode))                                                       \
  X(UnlockTensorBuffer, (litert_handle buffer))                                                                        \
  X(RunCompiledModel, (litert_handle compiled, size_t signature, size_t, litert_handle *, size_t, litert_handle *))    \
  X(CompiledModelGetProfiler, (litert_handle compiled, litert_handle *))                                               \
  X(ResetProfiler, (litert_handle profiler))                                                                           \
  X(StartProfiler, (litert_handle profiler))                                                                           \
  X(StopProfiler, (litert_handle profiler))                                                                            \
  X(GetNumProfilerEvents, (litert_handle profiler, int *))                                                             \
  X(GetProfilerEvents, (litert_handle profiler, int, void *))
#define LITERT_RELEASES(X)                                                                                             \
  X(DestroyEnvironment)                                                                                                \
  X(DestroyModel)                                                                                                      \
  X(DestroyOptions)                                                                                                    \
  X(DestroyCompiledModel)                                                                                              \
  X(DestroyTensorBuffer)

struct litert_api {
#define X(name, arguments) int(*name) arguments;
  LITERT_FUNCTIONS(X)
#undef X
#define X(name) void (*name)(litert_handle);
  LITERT_RELEASES(X)
#undef X
};

#endif
