// SPDX-License-Identifier: Apache-2.0
// MXNet's C interface as the predictor uses it, declared here because it is opened at run time. Checked with 1.9.1, the last
// version that was released.
#ifndef XSP_FRAMEWORKS_MXNET_ABI_H
#define XSP_FRAMEWORKS_MXNET_ABI_H

#include <stdint.h>

#define MXNET_CPU 1 // device types
#define MXNET_GPU 2
#define MXNET_FUSING_BACKEND "MKLDNN" // active on CPUs unless MXNET_SUBGRAPH_BACKEND is set

typedef struct mxnet_opaque *mxnet_handle;

// Each returns 0 or -1; MXGetLastError then has the reason (per thread).
#define MXNET_FUNCTIONS(X)                                                                                             \
  X(GetVersion, (int *))                                                                                               \
  X(GetGPUCount, (int *))                                                                                              \
  X(PredCreate, (const char *symbol, const void *params, int params_size, int device, int device_id, uint32_t inputs,  \
                 const char **names, const uint32_t *shape_starts, const uint32_t *shapes, mxnet_handle *))            \
  X(PredCreatePartialOut, (const char *symbol, const void *params, int params_size, int device, int device_id,         \
                           uint32_t inputs, const char **names, const uint32_t *shape_starts, const uint32_t *shapes,  \
                           uint32_t outputs, const char **output_names, mxnet_handle *))                               \
  X(PredSetInput, (mxnet_handle predictor, const char *name, const float *data, uint32_t count))                       \
  X(PredForward, (mxnet_handle predictor))                                                                             \
  X(PredGetOutputShape, (mxnet_handle predictor, uint32_t number, uint32_t * *shape, uint32_t * rank))                 \
  X(PredGetOutput, (mxnet_handle predictor, uint32_t number, float *data, uint32_t count))                             \
  X(PredFree, (mxnet_handle predictor))                                                                                \
  X(NDListCreate, (const char *bytes, int size, mxnet_handle *list, uint32_t *length))                                 \
  X(NDListGet,                                                                                                         \
    (mxnet_handle list, uint32_t, const char **key, const float **data, const uint32_t **shape, uint32_t *rank))       \
  X(NDListFree, (mxnet_handle list))                                                                                   \
  X(SymbolCreateFromJSON, (const char *json, mxnet_handle *symbol))                                                    \
  X(GenBackendSubgraph, (mxnet_handle symbol, const char *backend, mxnet_handle *fused))                               \
  X(SymbolSaveToJSON, (mxnet_handle symbol, const char **json))                                                        \
  X(SymbolGetInternals, (mxnet_handle symbol, mxnet_handle * internals))                                               \
  X(SymbolListOutputs, (mxnet_handle symbol, uint32_t * count, const char ***names))                                   \
  X(SymbolInferShapeEx,                                                                                                \
    (mxnet_handle symbol, uint32_t count, const char **names, const uint32_t *starts, const int *shapes,               \
     uint32_t *in_count, const int **in_ranks, const int ***in_shapes, uint32_t *out_count, const int **out_ranks,     \
     const int ***out_shapes, uint32_t *aux_count, const int **aux_ranks, const int ***aux_shapes, int *is_complete))  \
  X(SymbolFree, (mxnet_handle symbol))                                                                                 \
  X(SetProcessProfilerConfig, (int count, const char *const *keys, const char *const *values, void *store))            \
  X(SetProcessProfilerState, (int is_on, int of_server, void *store))                                                  \
  X(DumpProcessProfile, (int is_last, int of_server, void *store))

struct mxnet_api {
#define X(name, arguments) int(*name) arguments;
  MXNET_FUNCTIONS(X)
#undef X
  const char *(*GetLastError)(void);
};

#endif
