// SPDX-License-Identifier: Apache-2.0
// What frameworks.so (guest/frameworks/common/doors.c) asks of mxnet.so in the same process, and what mxnet.so calls of MXNet. Found by
// dlsym, so that a program without MXNet never loads this tracer.
#ifndef XSP_FRAMEWORKS_MXNET_HOOKS_H
#define XSP_FRAMEWORKS_MXNET_HOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include <xsp/span.h>

// MXNet's own functions that the tracer calls. Each returns 0 or -1.
#define MXNET_TRACER_FUNCTIONS(X)                                                                                      \
  X(GetVersion, (int *))                                                                                               \
  X(SymbolCreateFromJSON, (const char *json, void **symbol))                                                           \
  X(GenBackendSubgraph, (void *symbol, const char *backend, void **fused))                                             \
  X(SymbolSaveToJSON, (void *symbol, const char **json))                                                               \
  X(SymbolListArguments, (void *symbol, uint32_t *count, const char ***names))                                         \
  X(SymbolListOutputs, (void *symbol, uint32_t *count, const char ***names))                                           \
  X(SymbolFree, (void *symbol))                                                                                        \
  X(CreateCachedOpEx, (void *symbol, int count, const char **keys, const char **values, void **made))                  \
  X(ExecutorGetOptimizedSymbol, (void *executor, void **symbol))                                                       \
  X(ExecutorOutputs, (void *executor, uint32_t *count, void ***arrays))                                                \
  X(NDArrayGetShapeEx, (void *array, int *rank, const int **shape))                                                    \
  X(NDArrayFree, (void *array))                                                                                        \
  X(PredGetOutputShape, (void *predictor, uint32_t number, uint32_t **shape, uint32_t *rank))                          \
  X(SetProcessProfilerConfig, (int count, const char *const *keys, const char *const *values, void *store))            \
  X(SetProcessProfilerState, (int is_on, int of_server, void *store))                                                  \
  X(DumpProcessProfile, (int is_last, int of_server, void *store))

struct mxnet_functions {
#define X(name, arguments) int(*name) arguments;
  MXNET_TRACER_FUNCTIONS(X)
#undef X
};

enum mxnet_model_kind { MXNET_CACHED_OP, MXNET_EXECUTOR, MXNET_PREDICTOR };

// All are called on the program's thread, from within its call of MXNet, and never nested.
struct mxnet_hooks { // static; appended to only
  uint32_t size;
  // Once, first. `session`: the session's folder; `model_range`: a glob, NULL: none. Both live as long as the process.
  void (*start)(const struct mxnet_functions *functions, const char *session, const char *model_range);
  void (*symbol_read)(void *symbol, const char *path); // it came from this file
  void (*made)(enum mxnet_model_kind kind, const void *handle, void *symbol, const char *json); // one of the two
  void (*freed)(const void *handle);
  void (*forward_begins)(enum mxnet_model_kind kind, void *handle);
  // `output`: the first one's array; NULL: not at hand.
  void (*forward_ended)(enum mxnet_model_kind kind, void *handle, void *output, bool is_done);
  void (*results_read)(void);     // a call that waits for results has ended
  void (*program_profiles)(void); // it is about to use MXNet's profiler itself

  // It has done so.
  void (*program_configured)(int count, const char *const *keys, const char *const *values);
  void (*program_dumped)(void);
  void (*ending)(void);                // MXNet, or the process
  void (*report)(const char *message); // to xsp, for its notes on the run
};
#define MXNET_HOOKS_SYMBOL "xsp_mxnet"
XSP_API const struct mxnet_hooks *xsp_mxnet(void);

#endif
