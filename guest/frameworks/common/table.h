// SPDX-License-Identifier: Apache-2.0
// The table of frameworks. A line is a folder of frameworks/: PREDICTOR, its `const struct predictor predictor_NAME`, for
// `xsp profile`; DOOR, its `const struct framework framework_NAME`, for `xsp run`; TRACER, its tracers/NAME.so, loaded by
// its door (FRAMEWORK) or by its predictor (PART), with the levels that it publishes (lab/launch/tracer_table.c). `xsp check`
// lists predictors in this order.
#ifndef XSP_FRAMEWORKS_COMMON_TABLE_H
#define XSP_FRAMEWORKS_COMMON_TABLE_H

// clang-format off
#define FRAMEWORKS(PREDICTOR, DOOR, TRACER) \
  PREDICTOR(onnxruntime) DOOR(onnxruntime) TRACER(onnxruntime, FRAMEWORK, A | M | L) \
  DOOR(levelzero) \
  PREDICTOR(jax) DOOR(jax) DOOR(jax_extension) TRACER(jax, FRAMEWORK, A | M | L) \
  PREDICTOR(litert) \
  DOOR(mpi) TRACER(mpi, FRAMEWORK, LIB) \
  PREDICTOR(mxnet) DOOR(mxnet) TRACER(mxnet, FRAMEWORK, M | L) \
  PREDICTOR(openvino) TRACER(openvino, PART, M | L) \
  PREDICTOR(program) \
  PREDICTOR(pytorch) DOOR(pytorch) TRACER(pytorch, FRAMEWORK, A | M | L | LIB) \
  PREDICTOR(script) \
  PREDICTOR(tensorflow) DOOR(tensorflow) DOOR(tensorflow_recorder) DOOR(tensorflow_tracing) \
    TRACER(tensorflow, FRAMEWORK, A | M | L)
// clang-format on

#define FRAMEWORKS_SKIP(...)
#define EACH_PREDICTOR(X) FRAMEWORKS(X, FRAMEWORKS_SKIP, FRAMEWORKS_SKIP)
#define EACH_DOOR(X) FRAMEWORKS(FRAMEWORKS_SKIP, X, FRAMEWORKS_SKIP)
#define EACH_TRACER(X) FRAMEWORKS(FRAMEWORKS_SKIP, FRAMEWORKS_SKIP, X)

#endif
