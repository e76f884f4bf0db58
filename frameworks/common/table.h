// SPDX-License-Identifier: Apache-2.0
// The table of frameworks. A line is a folder of frameworks/: PREDICTOR, its `const struct predictor predictor_NAME`, for
// `xsp profile`; DOOR, its `const struct framework framework_NAME`, for `xsp run`. `xsp check` lists predictors in this order.
#ifndef XSP_FRAMEWORKS_COMMON_TABLE_H
#define XSP_FRAMEWORKS_COMMON_TABLE_H

// clang-format off
#define FRAMEWORKS(PREDICTOR, DOOR) \
  PREDICTOR(onnxruntime) DOOR(onnxruntime) \
  PREDICTOR(litert) \
  PREDICTOR(mxnet) DOOR(mxnet) \
  PREDICTOR(openvino) \
  PREDICTOR(program) \
  PREDICTOR(script) \
  PREDICTOR(tensorflow) DOOR(tensorflow) DOOR(tensorflow_recorder)
// clang-format on

#define FRAMEWORKS_SKIP(name)
#define EACH_PREDICTOR(X) FRAMEWORKS(X, FRAMEWORKS_SKIP)
#define EACH_DOOR(X) FRAMEWORKS(FRAMEWORKS_SKIP, X)

#endif
